// Merges of a result that the rules know already: what it may become with its neighbours, place by place.
#include <algorithm>
#include <functional>
#include <utility>

#include "core/training/corpus.hpp"

namespace pyharness {

class TrainingCorpus::Cascade {
 public:
  Cascade(TrainingCorpus& corpus, const Merges& merges) : corpus_(corpus), merges_(merges) {}

  void run(TrainingPairs::Number pair) {
    const std::uint64_t key = corpus_.pairs_[pair].key;
    const NextMerge newest = merges_(left_of(key), right_of(key));
    const auto listed = corpus_.pairs_.places_of(pair, corpus_.places_);
    const std::vector<std::uint32_t> places(listed.begin(), listed.end());  // the list may move
    for (const std::uint32_t place : places) {
      drain({newest.rank, place});
      if (corpus_.occurs_at(place, key)) apply(place, newest.result);
    }
    drain({NextMerge::kNone, 0});
    give_places();
  }

 private:
  using Entry = std::pair<std::uint64_t, std::uint32_t>;  // rank, place
  using Gain = std::pair<TrainingPairs::Number, std::uint32_t>;

  // Merges what comes before `limit`. An entry is stale when its place has another merge by now.
  void drain(const Entry& limit) {
    while (!queue_.empty() && queue_.front() < limit) {
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      const Entry first = queue_.back();
      queue_.pop_back();
      const NextMerge now = merge_at(first.second);
      if (now.rank == first.first) apply(first.second, now.result);
    }
  }

  NextMerge merge_at(std::uint32_t place) const {
    const std::uint32_t left = corpus_.cells_[place].symbol;
    if ((left & kLength) || left == kBoundary) return {};  // inside of what was merged since
    const std::uint32_t right = corpus_.cells_[corpus_.end_of(place)].symbol;
    return right == kBoundary ? NextMerge{} : merges_(left, right);
  }

  void apply(std::uint32_t place, std::uint32_t result) {
    const auto& cells = corpus_.cells_;
    const std::uint32_t middle = corpus_.end_of(place), end = corpus_.end_of(middle);
    const std::uint32_t previous = corpus_.before(place);
    const std::uint32_t left = cells[place].symbol, right = cells[middle].symbol;
    const std::uint64_t weight = corpus_.weight_at(place);
    lose(left, right, weight);
    if (cells[previous].symbol != kBoundary) {
      lose(cells[previous].symbol, left, weight);
      gain(cells[previous].symbol, result, previous, weight);
    }
    if (cells[end].symbol != kBoundary) {
      lose(right, cells[end].symbol, weight);
      gain(result, cells[end].symbol, place, weight);
    }
    corpus_.join_cells(place, middle, end, result);
    expect(previous);
    expect(place);
  }

  void expect(std::uint32_t place) {
    const NextMerge next = merge_at(place);
    if (next.rank == NextMerge::kNone) return;
    queue_.push_back({next.rank, place});
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  void lose(std::uint32_t left, std::uint32_t right, std::uint64_t weight) {
    corpus_.pairs_[corpus_.pairs_.find(pair_key(left, right))].count -= weight;
  }

  void gain(std::uint32_t left, std::uint32_t right, std::uint32_t place, std::uint64_t weight) {
    const auto number = corpus_.pairs_.find_or_add(pair_key(left, right));
    corpus_.pairs_[number].count += weight;
    gains_.push_back({number, place});
  }

  void give_places() {
    std::sort(gains_.begin(), gains_.end());
    gains_.erase(std::unique(gains_.begin(), gains_.end()), gains_.end());
    for (auto begin = gains_.begin(); begin != gains_.end();) {
      const auto number = begin->first;
      const auto end =
          std::find_if(begin, gains_.end(), [&](const Gain& one) { return one.first != number; });
      std::size_t at = corpus_.pairs_.add_segment(number, static_cast<std::size_t>(end - begin));
      for (; begin != end; ++begin) corpus_.pairs_.places()[at++] = begin->second;
      corpus_.risen_.push_back(number);
    }
  }

  TrainingCorpus& corpus_;
  const Merges& merges_;
  std::vector<Entry> queue_;
  std::vector<Gain> gains_;  // places of pairs that were made, some of which are gone again
};

void TrainingCorpus::merge_in_turn(TrainingPairs::Number pair, const Merges& merges) {
  risen_.clear();
  Cascade(*this, merges).run(pair);
}

TrainingCorpus::Text TrainingCorpus::text() const {
  Text text{{}, {0}};
  text.symbols.reserve(cells_.size());
  for (std::uint32_t at = 1; at < cells_.size();) {
    if (cells_[at].symbol == kBoundary) {
      text.offsets.push_back(static_cast<std::int64_t>(text.symbols.size()));
      ++at;
    } else {
      text.symbols.push_back(cells_[at].symbol);
      at = end_of(at);
    }
  }
  return text;
}

}  // namespace pyharness
