#include "core/training/extending/extension_trainer.hpp"

#include <stdexcept>
#include <utility>

#include "core/machine/checks.hpp"
#include "core/training/extending/extended_merges.hpp"
#include "core/training/state.hpp"

namespace pyharness {
namespace {

class ExtensionTrainer {
 public:
  ExtensionTrainer(const WeightedPieces& pieces, TokenStrings strings, const ExtendableModel& base,
                   const ExtendingOptions& options)
      : options_(options),
        state_(pieces, std::move(strings), options.training),
        merges_(base.model, state_.tokens(), base.unreachable),
        queue_(*this, options.training.min_frequency) {}

  ExtendedBpe run() {
    while (state_.tokens().size() < options_.training.vocabulary_size) {
      const auto head = queue_.head();
      if (!head) break;
      queue_.pop();
      const auto pair = static_cast<TrainingPairs::Number>(head->item);
      if (may_merge(state_.key_of(pair))) {
        merge(pair, head->count);
      } else {
        deny(pair);
      }
    }
    auto text = state_.corpus().text();
    return {state_.take(), std::move(text)};
  }

  // ------------------------------------------------------------------------- the source of the queue: pairs

  QueueEntry entry(std::uint64_t item) {
    return item < denied_.size() && denied_[item] ? QueueEntry{0, 0, item} : state_.entry(item);
  }
  bool before(const QueueEntry& a, const QueueEntry& b) const { return state_.before(a, b); }
  template <class Visit>
  void for_each_item(Visit&& visit) const {
    state_.for_each_item(visit);
  }
  static constexpr std::size_t kSteps = TrainingState::kSteps;
  void prefetch(std::uint64_t item, std::size_t step) const { state_.prefetch(item, step); }

 private:
  bool may_merge(std::uint64_t key) const {
    const std::uint32_t left = left_of(key), right = right_of(key);
    if (state_.tokens().length(left) == 0 || state_.tokens().length(right) == 0) return false;
    if (merges_.find(left, right).rank != TrainingCorpus::NextMerge::kNone)
      return false;  // without a cascade
    const std::string bytes = state_.string_of(key);
    if (options_.piece_rules && !options_.piece_rules->allow(bytes)) return false;
    return !options_.denies || !options_.denies(bytes);
  }

  void deny(TrainingPairs::Number pair) {
    if (pair >= denied_.size()) denied_.resize(2 * std::size_t{pair} + 1);
    denied_[pair] = true;
  }

  void merge(TrainingPairs::Number pair, std::uint64_t count) {
    const std::uint32_t result = state_.make_rule(pair, count);
    merges_.learn(state_.rules().back());
    if (options_.cascade && merges_.may_go_on(state_.rules().back())) {
      state_.corpus().merge_in_turn(
          pair, [this](std::uint32_t left, std::uint32_t right) { return merges_.find(left, right); });
    } else {
      state_.corpus().merge(pair, result);
    }
    for (const auto number : state_.risen()) queue_.offer(number);
    state_.report();
  }

  const ExtendingOptions& options_;
  TrainingState state_;
  ExtendedMerges merges_;
  std::vector<bool> denied_;  // by number of the pair
  LazyQueue<ExtensionTrainer> queue_;
};

}  // namespace

ExtendedBpe extend_bpe(const WeightedPieces& pieces, TokenStrings strings, const ExtendableModel& base,
                       const ExtendingOptions& options) {
  base.model.check();
  check_length(strings.size(), base.model.size(), "strings");
  check_ids(base.unreachable, base.model.size(), "unreachable");
  return ExtensionTrainer(pieces, std::move(strings), base, options).run();
}

}  // namespace pyharness
