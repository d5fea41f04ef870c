#include "core/training/corpus.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/machine/checks.hpp"

namespace pyharness {
namespace {

constexpr std::size_t kAhead = 12;  // occurrences fetched ahead of the one being replaced

// Pairs with a neighbour before and after a merge made `result` of its part on that side.
struct LeftKeys {
  std::uint32_t part, result;
  std::uint64_t before(std::uint32_t neighbour) const { return pair_key(neighbour, part); }
  std::uint64_t after(std::uint32_t neighbour) const { return pair_key(neighbour, result); }
};
struct RightKeys {
  std::uint32_t part, result;
  std::uint64_t before(std::uint32_t neighbour) const { return pair_key(part, neighbour); }
  std::uint64_t after(std::uint32_t neighbour) const { return pair_key(result, neighbour); }
};

}  // namespace

void TrainingCorpus::check(const WeightedPieces& pieces, std::size_t id_limit) {
  check_offsets(pieces.offsets, pieces.symbols.size(), "offsets");
  check_length(pieces.weights.size(), pieces.offsets.size() - 1, "weights");
  check_ids(pieces.symbols, id_limit, "symbols");
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < pieces.weights.size(); ++i) {
    const auto length = static_cast<std::uint64_t>(pieces.offsets[i + 1] - pieces.offsets[i]);
    std::uint64_t weighted = 0;
    if (__builtin_mul_overflow(length, pieces.weights[i], &weighted) ||
        __builtin_add_overflow(total, weighted, &total) || total > kMost) {
      throw std::invalid_argument("the weighted number of symbols does not fit 63 bits (piece " +
                                  std::to_string(i) + ")");
    }
  }
  if (pieces.symbols.size() + pieces.weights.size() >= kBoundary) {
    throw std::invalid_argument(
        std::to_string(pieces.weights.size()) + " distinct pieces have " +
        std::to_string(pieces.symbols.size()) +
        " symbols; training holds fewer than 2^31 of both together: train on less text or on fewer distinct "
        "pieces");
  }
}

TrainingCorpus::TrainingCorpus(const WeightedPieces& pieces, std::size_t id_limit) {
  check(pieces, id_limit);
  left_.numbers.resize(id_limit);
  right_.numbers.resize(id_limit);
  lay_out(pieces);
  find_pairs();
}

void TrainingCorpus::lay_out(const WeightedPieces& pieces) {
  const std::size_t size = pieces.symbols.size() + pieces.weights.size() + 1;
  cells_.reserve(size);
  cells_.push_back({kBoundary, 0});
  for (std::size_t i = 0; i < pieces.weights.size(); ++i) {
    const auto begin = static_cast<std::size_t>(pieces.offsets[i]);
    const auto end = static_cast<std::size_t>(pieces.offsets[i + 1]);
    if (pieces.weights[i] == 0 || begin == end) continue;
    auto weight = static_cast<std::uint32_t>(pieces.weights[i]);
    if (pieces.weights[i] >= kLarge) {
      weight = kLarge | static_cast<std::uint32_t>(large_weights_.size());
      large_weights_.push_back(pieces.weights[i]);
    }
    for (std::size_t at = begin; at < end; ++at) cells_.push_back({pieces.symbols[at], weight});
    cells_.push_back({kBoundary, 0});
  }
}

void TrainingCorpus::find_pairs() {
  TrainingArray<TrainingPairs::Number> number_at(cells_.size(), TrainingPairs::kNone);
  std::vector<std::size_t> places;  // by pair: how many, then where the next one goes
  for (std::size_t at = 0; at + 1 < cells_.size(); ++at) {
    if (const std::size_t next = at + kAhead; next + 1 < cells_.size())
      pairs_.prefetch(pair_key(cells_[next].symbol, cells_[next + 1].symbol));
    if (cells_[at].symbol == kBoundary || cells_[at + 1].symbol == kBoundary) continue;
    const auto number = pairs_.find_or_add(pair_key(cells_[at].symbol, cells_[at + 1].symbol));
    number_at[at] = number;
    pairs_[number].count += weight_at(static_cast<std::uint32_t>(at));
    if (number == places.size()) places.push_back(0);
    ++places[number];
  }
  pairs_.reserve_places(2 * cells_.size());  // English takes 1.7 times the cells
  for (std::size_t number = 0; number < places.size(); ++number) {
    places[number] = pairs_.add_segment(static_cast<TrainingPairs::Number>(number), places[number]);
  }
  for (std::size_t at = 0; at < number_at.size(); ++at) {
    if (number_at[at] != TrainingPairs::kNone) {
      pairs_.places()[places[number_at[at]]++] = static_cast<std::uint32_t>(at);
    }
  }
}

bool TrainingCorpus::occurs_at(std::uint32_t place, std::uint64_t key) const {
  return cells_[place].symbol == left_of(key) && cells_[end_of(place)].symbol == right_of(key);
}

std::uint32_t TrainingCorpus::first_place(TrainingPairs::Number pair) {
  const std::uint64_t key = pairs_[pair].key;
  return pairs_.first_place(pair, [&](std::uint32_t place) { return occurs_at(place, key); });
}

void TrainingCorpus::prefetch(TrainingPairs::Number pair, std::size_t step) const {
  constexpr std::size_t kFirst = 4;
  if (step == 0) {
    pairs_.prefetch_pair(pair);
  } else if (step == 1) {
    pairs_.prefetch_places(pair);
  } else {
    for (const std::uint32_t place : pairs_.first_places(pair, kFirst)) __builtin_prefetch(&cells_[place], 1);
  }
}

void TrainingCorpus::Side::gain(Neighbour& neighbour, std::uint32_t place, std::uint64_t weight) {
  neighbour.gained += weight;
  ++neighbour.changes;
  changes.push_back({static_cast<std::uint32_t>(&neighbour - neighbours.data()), place});
}

template <class Keys>
TrainingCorpus::Neighbour& TrainingCorpus::meet(Side& side, std::uint32_t symbol, const Keys& keys) {
  std::uint32_t& number = side.numbers[symbol];
  if (number == 0) {
    pairs_.prefetch(keys.before(symbol));
    pairs_.prefetch(keys.after(symbol));
    side.neighbours.push_back({symbol, 0, 0, 0});
    number = static_cast<std::uint32_t>(side.neighbours.size());
  }
  return side.neighbours[number - 1];
}

// An occurrence with `symbol` beside it was replaced; `place` is that of the new pair.
template <class Keys>
inline void TrainingCorpus::settle(Side& side, std::uint32_t symbol, std::uint32_t place,
                                   std::uint64_t weight, const Keys& keys) {
  if (symbol == kBoundary) return;
  Neighbour& neighbour = meet(side, symbol, keys);
  neighbour.lost += weight;
  side.gain(neighbour, place, weight);
}

std::uint64_t TrainingCorpus::replace(TrainingPairs::Number pair, std::uint32_t result) {
  const std::uint64_t key = pairs_[pair].key;
  const LeftKeys left_keys{left_of(key), result};
  const RightKeys right_keys{right_of(key), result};
  const auto places = pairs_.places_of(pair, places_);
  std::uint64_t replaced = 0;
  Replacement last{0, 0, 0};  // its right neighbour is settled when the next occurrence is known
  for (std::size_t i = 0; i < std::min(kAhead, places.size()); ++i) __builtin_prefetch(&cells_[places[i]], 1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) __builtin_prefetch(&cells_[places[i + kAhead]], 1);
    const std::uint32_t place = places[i];
    if (cells_[place].symbol != left_of(key)) continue;
    const std::uint32_t middle = end_of(place);
    if (cells_[middle].symbol != right_of(key)) continue;
    const std::uint32_t end = end_of(middle);
    const std::uint64_t weight = weight_at(place);
    if (last.weight != 0 && last.end == place) {  // `left right left right`: results become neighbours
      meet(right_, left_of(key), right_keys).lost += weight;
      right_.gain(meet(right_, result, right_keys), last.place, weight);
    } else {
      if (last.weight != 0) settle(right_, cells_[last.end].symbol, last.place, last.weight, right_keys);
      const std::uint32_t previous = before(place);
      settle(left_, cells_[previous].symbol, previous, weight, left_keys);
    }
    join_cells(place, middle, end, result);
    replaced += weight;
    last = {place, end, weight};
  }
  if (last.weight != 0) settle(right_, cells_[last.end].symbol, last.place, last.weight, right_keys);
  return replaced;
}

template <class Keys>
void TrainingCorpus::take_losses(const Side& side, const Keys& keys) {
  for (const Neighbour& neighbour : side.neighbours) {
    if (neighbour.lost != 0) pairs_[pairs_.find(keys.before(neighbour.symbol))].count -= neighbour.lost;
  }
}

template <class Keys>
void TrainingCorpus::give_gains(Side& side, const Keys& keys) {
  const std::size_t first = pairs_.places().size();
  for (Neighbour& neighbour : side.neighbours) {
    side.numbers[neighbour.symbol] = 0;
    if (neighbour.changes == 0) continue;
    const auto number = pairs_.find_or_add(keys.after(neighbour.symbol));
    pairs_[number].count += neighbour.gained;
    neighbour.changes = static_cast<std::uint32_t>(pairs_.add_segment(number, neighbour.changes) - first);
    risen_.push_back(number);
  }
  const auto places = pairs_.places().subspan(first);
  for (const Change& change : side.changes)
    places[side.neighbours[change.neighbour].changes++] = change.place;
  side.neighbours.clear();
  side.changes.clear();
}

std::uint64_t TrainingCorpus::merge(TrainingPairs::Number pair, std::uint32_t result) {
  const std::uint64_t key = pairs_[pair].key;
  risen_.clear();
  for (Side* const side : {&left_, &right_}) {
    if (result >= side->numbers.size()) side->numbers.resize(2 * std::size_t{result} + 1);
  }
  const std::uint64_t replaced = replace(pair, result);
  const LeftKeys left_keys{left_of(key), result};
  const RightKeys right_keys{right_of(key), result};
  take_losses(left_, left_keys);
  take_losses(right_, right_keys);
  pairs_[pair].count = 0;
  give_gains(left_, left_keys);
  give_gains(right_, right_keys);
  return replaced;
}

}  // namespace pyharness
