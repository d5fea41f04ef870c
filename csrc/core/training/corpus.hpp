// The text that a trainer merges: distinct pieces with weights, laid flat, and every adjacent pair in it with
// its count and its places. The cost of a merge grows with its places, never with a pass over the text.
#pragma once

#include <cstdint>
#include <functional>
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

  // What two neighbours of the text become, and when: the lowest rank first.
  struct NextMerge {
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};
    std::uint32_t result = 0;
    std::uint64_t rank = kNone;
  };
  using Merges = std::function<NextMerge(std::uint32_t left, std::uint32_t right)>;

  // Merges the pair, whose rank must be the highest, and whatever may merge then with what it became, the
  // lowest rank first and the leftmost place first, until nothing may: for a result that the rules know.
  // Before, no neighbours but the pair may have had a merge. (cascade.cpp)
  void merge_in_turn(TrainingPairs::Number pair, const Merges& merges);

  // Pairs whose count the latest merge raised.
  std::span<const TrainingPairs::Number> risen() const { return risen_; }

  // Where the pair occurs first: comparable between pairs, in the order of the pieces. The pair must occur.
  std::uint32_t first_place(TrainingPairs::Number pair);

  // Fetches what a merge of the pair will need, to be called with steps from 0 on: each reads what the one
  // before has fetched.
  static constexpr std::size_t kSteps = 3;
  void prefetch(TrainingPairs::Number pair, std::size_t step) const;

  const TrainingPairs& pairs() const { return pairs_; }

  // The text as it is now, of pieces that have symbols and a weight: those of piece i are
  // symbols[offsets[i]:offsets[i + 1]]. (cascade.cpp)
  struct Text {
    std::vector<std::uint32_t> symbols;
    std::vector<std::int64_t> offsets;
  };
  Text text() const;

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
  class Cascade;

  static constexpr std::uint32_t kBoundary = 0x7FFFFFFFu;  // between pieces
  static constexpr std::uint32_t kLength = 0x80000000u;    // in a cell that no symbol starts in
  static constexpr std::uint32_t kLarge = 0x80000000u;     // in a weight that 31 bits do not hold

  static void check(const WeightedPieces& pieces, std::size_t id_limit);
  void lay_out(const WeightedPieces& pieces);
  void find_pairs();
  // End of the symbol at `place`.
  std::uint32_t end_of(std::uint32_t place) const {
    const std::uint32_t next = cells_[place + 1].symbol;
    return place + (next & kLength ? next & ~kLength : 1);
  }
  // Where the symbol that ends at `place` begins.
  std::uint32_t before(std::uint32_t place) const {
    const std::uint32_t last = cells_[place - 1].symbol;
    return last & kLength ? place - (last & ~kLength) : place - 1;
  }
  bool occurs_at(std::uint32_t place, std::uint64_t key) const;
  std::uint64_t weight_at(std::uint32_t place) const {
    const std::uint32_t weight = cells_[place].weight;
    if (weight & kLarge) [[unlikely]]
      return large_weights_[weight & ~kLarge];
    return weight;
  }
  // Makes one symbol of the two that lie at `place`, up to `end`.
  void join_cells(std::uint32_t place, std::uint32_t middle, std::uint32_t end, std::uint32_t result) {
    cells_[middle].symbol = kLength;  // stays so when it is neither the second cell nor the last
    cells_[place].symbol = result;
    cells_[place + 1].symbol = cells_[end - 1].symbol = kLength | (end - place);
  }
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
