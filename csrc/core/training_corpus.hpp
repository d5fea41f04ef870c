// The text that a trainer merges: distinct pieces with weights, laid flat, and every adjacent pair in it with
// its count and its places. A merge costs what it changes, never a pass over the text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/training_pairs.hpp"

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

  const TrainingPairs& pairs() const { return pairs_; }

 private:
  // One cell per base symbol, and a boundary around every piece. A symbol has its id in its first cell and,
  // if it is longer than that, kLength | cells in its second and its last one, for its two neighbours. The
  // weight is not here: with 8 bytes for 16 a merge meets a tenth fewer lines that are not in 2 MB of cache.
  struct Cell {
    std::uint32_t symbol;
    std::uint32_t piece;
  };
  struct Change {
    std::uint32_t neighbour;
    std::uint32_t place;  // of the new pair
  };
  // What a merge does to the pairs of its parts with one neighbouring symbol.
  struct Balance {
    std::uint64_t lost = 0;
    std::uint64_t gained = 0;
    std::uint32_t changes = 0;  // then where the place of the next one goes, among those of this side
  };
  // One side of a merge: pairs with the left neighbour, or with the right one.
  struct Side {
    std::vector<Balance> balances;  // by neighbouring symbol
    std::vector<std::uint32_t> touched;
    std::vector<Change> changes;

    void lose(std::uint32_t neighbour, std::uint64_t weight);
    void gain(std::uint32_t neighbour, std::uint32_t place, std::uint64_t weight);
    Balance& at(std::uint32_t neighbour);
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
  std::uint64_t replace(TrainingPairs::Number pair, std::uint32_t result);
  void settle_left(std::uint32_t place, std::uint64_t weight);
  void settle_right(const Replacement& done);
  template <class KeyOf>
  void take_losses(const Side& side, KeyOf&& key_of);
  template <class KeyOf>
  void give_gains(Side& side, KeyOf&& key_of);

  std::vector<Cell> cells_;
  std::vector<std::uint64_t> weights_;  // by piece
  TrainingPairs pairs_;
  Side left_, right_;
  std::vector<std::uint32_t> places_;  // scratch
  std::vector<TrainingPairs::Number> risen_;
};

}  // namespace pyharness
