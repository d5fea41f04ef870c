// Scaffold-BPE: a token that its own merges have made rarer than the next candidate leaves the vocabulary,
// but stays a stepping stone for longer tokens; it comes back when it is the most frequent thing left.
#include <initializer_list>
#include <stdexcept>

#include "core/training/state.hpp"

namespace pyharness {
namespace {

class ScaffoldTrainer {
 public:
  ScaffoldTrainer(const WeightedPieces& pieces, TokenStrings base, const TrainingOptions& options,
                  bool keep_events)
      : wanted_(options.vocabulary_size),
        keep_events_(keep_events),
        n_base_(base.size()),
        frequency_(base.size()),
        scaffold_(base.size()),
        state_(pieces, std::move(base), options),
        queue_(*this, options.min_frequency) {}

  TrainedScaffold run() {
    while (state_.tokens().size() - n_scaffold_ < wanted_) {
      const auto head = queue_.head();
      if (!head) break;
      queue_.pop();
      if (is_token(head->item)) {
        mark(token_of(head->item), false, head->count);
      } else {
        merge(static_cast<TrainingPairs::Number>(head->item), head->count);
      }
    }
    return {state_.take(), std::move(scaffold_), std::move(events_)};
  }

  // -------------------------------------------------------- the source of the queue: pairs and scaffold
  // tokens

  QueueEntry entry(std::uint64_t item) {
    if (!is_token(item)) {
      QueueEntry pair = state_.entry(item);
      pair.tie |= kPairs;
      return pair;
    }
    const std::uint32_t token = token_of(item);
    return {scaffold_[token] ? frequency_[token] : 0, token, item};
  }

  bool before(const QueueEntry& a, const QueueEntry& b) const { return a.tie < b.tie; }

  template <class Visit>
  void for_each_item(Visit&& visit) const {
    state_.for_each_item(visit);
    for (std::size_t token = 0; token < scaffold_.size(); ++token) {
      if (scaffold_[token]) visit(token | kTokens);
    }
  }

  static constexpr std::size_t kSteps = TrainingState::kSteps;
  void prefetch(std::uint64_t item, std::size_t step) const {
    if (!is_token(item)) state_.prefetch(item, step);
  }

 private:
  static constexpr std::uint64_t kTokens = std::uint64_t{1} << 63;  // in an item
  static constexpr std::uint64_t kPairs = std::uint64_t{1} << 63;   // in a tie: pairs go after tokens
  static bool is_token(std::uint64_t item) { return item & kTokens; }
  static std::uint32_t token_of(std::uint64_t item) { return static_cast<std::uint32_t>(item); }

  void merge(TrainingPairs::Number pair, std::uint64_t count) {
    const std::uint64_t replaced = state_.merge(pair, count);
    const MergeRule rule = state_.rules().back();
    frequency_.resize(state_.tokens().size());
    scaffold_.resize(state_.tokens().size());
    if (scaffold_[rule.result]) mark(rule.result, false, count);  // a second way to make it (never observed)
    frequency_[rule.result] += replaced;
    frequency_[rule.left] -= replaced;
    frequency_[rule.right] -= replaced;
    for (const auto number : state_.risen()) queue_.offer(number);
    demote(rule);
  }

  void demote(const MergeRule& rule) {
    const bool twice = rule.left == rule.right;
    const auto [low, high] = std::minmax(rule.left, rule.right);
    if (!may_be_demoted(low) && !may_be_demoted(high)) return;
    const auto head = queue_.head();
    const std::uint64_t highest = head ? head->count : 0;
    for (const std::uint32_t part : {low, high}) {
      if (may_be_demoted(part) && frequency_[part] < highest) mark(part, true, highest);
      if (twice) break;
    }
  }

  bool may_be_demoted(std::uint32_t token) const { return token >= n_base_ && !scaffold_[token]; }

  void mark(std::uint32_t token, bool scaffold, std::uint64_t head) {
    scaffold_[token] = scaffold;
    n_scaffold_ += scaffold ? std::size_t{1} : ~std::size_t{0};
    if (scaffold) queue_.offer(token | kTokens);
    if (!keep_events_) return;
    const auto kind = scaffold ? ScaffoldEvent::kDemoted : ScaffoldEvent::kPromoted;
    events_.push_back(
        {kind, token, static_cast<std::uint32_t>(state_.rules().size()), frequency_[token], head});
  }

  std::size_t wanted_;
  bool keep_events_;
  std::size_t n_base_;
  std::size_t n_scaffold_ = 0;
  std::vector<std::uint64_t>
      frequency_;  // of every token in the text; of base tokens only its changes, modulo 2^64
  std::vector<std::uint8_t> scaffold_;
  std::vector<ScaffoldEvent> events_;
  TrainingState state_;
  LazyQueue<ScaffoldTrainer> queue_;
};

}  // namespace

TrainedScaffold train_scaffold_bpe(const WeightedPieces& pieces, TokenStrings base,
                                   const TrainingOptions& options, bool keep_events) {
  if (options.tie_rule != TieRule::kSmallestIds) {
    throw std::invalid_argument("Scaffold-BPE is defined for the tie rule smallest_ids");
  }
  return ScaffoldTrainer(pieces, std::move(base), options, keep_events).run();
}

}  // namespace pyharness
