// The text that a trainer merges: distinct pieces with weights, laid flat, and every adjacent pair in it with
// its count and its places. The cost of a merge grows with its places, never with a pass over the text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/training/pairs.hpp"

namespace pyharness {

// Piece i is symbols[offsets[i]:offsets[i + 1]] and stands for weights[i] equal pieces of the corpus.
struct WeightedPieces {
  std::span<const std::uint32_t> symbols;
  std::span<const std::int64_t> offsets;
  std::span<const std::uint64_t> weights;
};

class TrainingCorpus {
 public:
  // Throws std::invalid_argument when the arrays do not fit, an id is not below `id_limit`, there are 2^31
  // symbols or more, or their weighted number leaves 63 bits.
  TrainingCorpus(const WeightedPieces& pieces, std::size_t id_limit);

  // Replaces the pair by `result` wherever it occurs, left to right, and returns how often that was
  // (weighted). Its own count is 0 afterwards. `result` may be a symbol that the text has already.
  std::uint64_t merge(TrainingPairs::Number pair, std::uint32_t result);

  // Pairs whose count the latest merge raised.
  std::span<const TrainingPairs::Number> risen() const { return risen_; }

  // Where the pair occurs first: comparable between pairs, in the order of the pieces. The pair must occur.
  std::uint32_t first_place(TrainingPairs::Number pair);

  // Fetches what a merge of the pair will need, to be called with steps from 0 on: each reads what the one
  // before has fetched.
  static constexpr std::size_t kSteps = 3;
  void prefetch(TrainingPairs::Number pair, std::size_t step) const;

  const TrainingPairs& pairs() const { return pairs_; }

 private:
  // One cell per base symbol, and a boundary around every piece. A symbol has its id in its first cell and,
  // if it is longer than that, kLength | cells in its second and its last one, for its two neighbours.
  struct Cell {
    std::uint32_t symbol;
    std::uint32_t weight;  // of the piece; kLarge | its index when it is one of large_weights_
  };
  struct Change {
    std::uint32_t neighbour;  // its number
    std::uint32_t place;      // of the new pair
  };
  // What a merge does to the pairs of its parts with one neighbouring symbol.
  struct Neighbour {
    std::uint32_t symbol;
    std::uint32_t changes;  // then where the place of the next one goes, among those of this side
    std::uint64_t lost;
    std::uint64_t gained;
  };
  // One side of a merge: pairs with the left neighbour, or with the right one. Neighbours are numbered as
  // they are met, so that of the thousands of symbols only a number each lies far apart.
  struct Side {
    std::vector<std::uint32_t> numbers;  // by symbol: its number among the neighbours + 1; 0: not met
    std::vector<Neighbour> neighbours;
    std::vector<Change> changes;

    void gain(Neighbour& neighbour, std::uint32_t place, std::uint64_t weight);
  };
  struct Replacement {
    std::uint32_t place;
    std::uint32_t end;
    std::uint64_t weight;
  };

  void lay_out(const WeightedPieces& pieces);
  void find_pairs();
  std::uint32_t end_of(std::uint32_t place) const;  // of the symbol at `place`
  std::uint32_t before(std::uint32_t place) const;  // where the symbol that ends at `place` begins
  bool occurs_at(std::uint32_t place, std::uint64_t key) const;
  std::uint64_t weight_at(std::uint32_t place) const;
  std::uint64_t replace(TrainingPairs::Number pair, std::uint32_t result);
  template <class Keys>
  Neighbour& meet(Side& side, std::uint32_t symbol, const Keys& keys);
  template <class Keys>
  void settle(Side& side, std::uint32_t symbol, std::uint32_t place, std::uint64_t weight, const Keys& keys);
  template <class Keys>
  void take_losses(const Side& side, const Keys& keys);
  template <class Keys>
  void give_gains(Side& side, const Keys& keys);

  TrainingArray<Cell> cells_;
  std::vector<std::uint64_t> large_weights_;
  TrainingPairs pairs_;
  Side left_, right_;
  std::vector<std::uint32_t> places_;  // scratch
  std::vector<TrainingPairs::Number> risen_;
};

}  // namespace pyharness
