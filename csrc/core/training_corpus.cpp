#include "core/training_corpus.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/checks.hpp"

namespace pyharness {
namespace {

constexpr std::uint32_t kBoundary = 0x7FFFFFFFu;  // between pieces
constexpr std::uint32_t kLength = 0x80000000u;    // in a cell that no symbol starts in
constexpr std::size_t kAhead = 12;                // occurrences fetched ahead of the one being replaced

void check(const WeightedPieces& pieces, std::size_t id_limit) {
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

}  // namespace

TrainingCorpus::TrainingCorpus(const WeightedPieces& pieces, std::size_t id_limit) {
  check(pieces, id_limit);
  lay_out(pieces);
  find_pairs();
}

void TrainingCorpus::lay_out(const WeightedPieces& pieces) {
  const std::size_t size = pieces.symbols.size() + pieces.weights.size() + 1;
  cells_.reserve(size);
  const auto add = [&](std::uint32_t symbol, std::size_t piece) {
    cells_.push_back({symbol, static_cast<std::uint32_t>(piece)});
  };
  add(kBoundary, 0);
  for (std::size_t i = 0; i < pieces.weights.size(); ++i) {
    const auto begin = static_cast<std::size_t>(pieces.offsets[i]);
    const auto end = static_cast<std::size_t>(pieces.offsets[i + 1]);
    if (pieces.weights[i] == 0 || begin == end) continue;
    for (std::size_t at = begin; at < end; ++at) add(pieces.symbols[at], i);
    add(kBoundary, i);
  }
  weights_.assign(pieces.weights.begin(), pieces.weights.end());
}

void TrainingCorpus::find_pairs() {
  std::vector<TrainingPairs::Number> number_at(cells_.size(), TrainingPairs::kNone);
  std::vector<std::size_t> places;  // by pair: how many, then where the next one goes
  for (std::size_t at = 0; at + 1 < cells_.size(); ++at) {
    if (cells_[at].symbol == kBoundary || cells_[at + 1].symbol == kBoundary) continue;
    const auto number = pairs_.find_or_add(pair_key(cells_[at].symbol, cells_[at + 1].symbol));
    number_at[at] = number;
    pairs_[number].count += weights_[cells_[at].piece];
    if (number == places.size()) places.push_back(0);
    ++places[number];
  }
  for (std::size_t number = 0; number < places.size(); ++number) {
    places[number] = pairs_.add_segment(static_cast<TrainingPairs::Number>(number), places[number]);
  }
  for (std::size_t at = 0; at < number_at.size(); ++at) {
    if (number_at[at] != TrainingPairs::kNone) {
      pairs_.places()[places[number_at[at]]++] = static_cast<std::uint32_t>(at);
    }
  }
}

inline std::uint32_t TrainingCorpus::end_of(std::uint32_t place) const {
  const std::uint32_t next = cells_[place + 1].symbol;
  return place + (next & kLength ? next & ~kLength : 1);
}

inline std::uint32_t TrainingCorpus::before(std::uint32_t place) const {
  const std::uint32_t last = cells_[place - 1].symbol;
  return last & kLength ? place - (last & ~kLength) : place - 1;
}

bool TrainingCorpus::occurs_at(std::uint32_t place, std::uint64_t key) const {
  return cells_[place].symbol == left_of(key) && cells_[end_of(place)].symbol == right_of(key);
}

std::uint32_t TrainingCorpus::first_place(TrainingPairs::Number pair) {
  const std::uint64_t key = pairs_[pair].key;
  return pairs_.first_place(pair, [&](std::uint32_t place) { return occurs_at(place, key); });
}

TrainingCorpus::Balance& TrainingCorpus::Side::at(std::uint32_t neighbour) {
  if (neighbour >= balances.size())
    balances.resize(std::max<std::size_t>(neighbour + 1, 2 * balances.size()));
  Balance& balance = balances[neighbour];
  if ((balance.lost | balance.gained) == 0) touched.push_back(neighbour);
  return balance;
}

void TrainingCorpus::Side::lose(std::uint32_t neighbour, std::uint64_t weight) {
  at(neighbour).lost += weight;
}

void TrainingCorpus::Side::gain(std::uint32_t neighbour, std::uint32_t place, std::uint64_t weight) {
  Balance& balance = at(neighbour);
  balance.gained += weight;
  ++balance.changes;
  changes.push_back({neighbour, place});
}

void TrainingCorpus::settle_left(std::uint32_t place, std::uint64_t weight) {
  const std::uint32_t left = before(place);
  const std::uint32_t neighbour = cells_[left].symbol;
  if (neighbour == kBoundary) return;
  left_.lose(neighbour, weight);
  left_.gain(neighbour, left, weight);
}

void TrainingCorpus::settle_right(const Replacement& done) {
  const std::uint32_t neighbour = cells_[done.end].symbol;
  if (neighbour == kBoundary) return;
  right_.lose(neighbour, done.weight);
  right_.gain(neighbour, done.place, done.weight);
}

std::uint64_t TrainingCorpus::replace(TrainingPairs::Number pair, std::uint32_t result) {
  const std::uint64_t key = pairs_[pair].key;
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
    const std::uint64_t weight = weights_[cells_[place].piece];
    if (last.weight != 0 && last.end == place) {  // `left right left right`: results become neighbours
      right_.lose(left_of(key), weight);
      right_.gain(result, last.place, weight);
    } else {
      if (last.weight != 0) settle_right(last);
      settle_left(place, weight);
    }
    cells_[middle].symbol = kLength;  // stays so when it is neither the second cell nor the last
    cells_[place].symbol = result;
    cells_[place + 1].symbol = cells_[end - 1].symbol = kLength | (end - place);
    replaced += weight;
    last = {place, end, weight};
  }
  if (last.weight != 0) settle_right(last);
  return replaced;
}

template <class KeyOf>
void TrainingCorpus::take_losses(const Side& side, KeyOf&& key_of) {
  for (const std::uint32_t neighbour : side.touched) {
    if (const std::uint64_t lost = side.balances[neighbour].lost; lost != 0) {
      pairs_[pairs_.find(key_of(neighbour))].count -= lost;
    }
  }
}

template <class KeyOf>
void TrainingCorpus::give_gains(Side& side, KeyOf&& key_of) {
  const std::size_t first = pairs_.places().size();
  for (const std::uint32_t neighbour : side.touched) {
    Balance& balance = side.balances[neighbour];
    if (balance.changes == 0) continue;
    const auto number = pairs_.find_or_add(key_of(neighbour));
    pairs_[number].count += balance.gained;
    balance.changes = static_cast<std::uint32_t>(pairs_.add_segment(number, balance.changes) - first);
    risen_.push_back(number);
  }
  const auto places = pairs_.places().subspan(first);
  for (const Change& change : side.changes) places[side.balances[change.neighbour].changes++] = change.place;
  for (const std::uint32_t neighbour : side.touched) side.balances[neighbour] = {};
  side.touched.clear();
  side.changes.clear();
}

std::uint64_t TrainingCorpus::merge(TrainingPairs::Number pair, std::uint32_t result) {
  const std::uint64_t key = pairs_[pair].key;
  risen_.clear();
  const std::uint64_t replaced = replace(pair, result);
  take_losses(left_, [&](std::uint32_t neighbour) { return pair_key(neighbour, left_of(key)); });
  take_losses(right_, [&](std::uint32_t neighbour) { return pair_key(right_of(key), neighbour); });
  pairs_[pair].count = 0;
  give_gains(left_, [&](std::uint32_t neighbour) { return pair_key(neighbour, result); });
  give_gains(right_, [&](std::uint32_t neighbour) { return pair_key(result, neighbour); });
  return replaced;
}

}  // namespace pyharness
