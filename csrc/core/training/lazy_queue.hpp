// The item with the highest count, where counts change far more often than the head is asked for: entries are
// brought up to date only when they reach the front.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace pyharness {

struct QueueEntry {
  std::uint64_t count;
  std::uint64_t tie;  // what `Source` orders equal counts by
  std::uint64_t item;
};

// `Source` has: QueueEntry entry(item), as it is now; bool before(a, b), whether a goes first;
// for_each_item(visit); prefetch(item, step), a hint that the item is soon at the front, in steps from 0 to
// kSteps - 1 as it comes nearer. An item whose entry moves forward must be offered; one that falls back is
// found out by itself.
template <class Source>
class LazyQueue {
 public:
  LazyQueue(Source& source, std::uint64_t least)
      : source_(source), least_(std::max<std::uint64_t>(least, 1)) {
    std::uint64_t highest = 0;
    source_.for_each_item(
        [&](std::uint64_t item) { highest = std::max(highest, source_.entry(item).count); });
    admitted_ = std::max(least_, highest / 4);
    refill();
  }

  // The first item; none when no count reaches `least`.
  std::optional<QueueEntry> head() {
    for (;;) {
      while (is_empty()) {
        if (admitted_ <= least_) return std::nullopt;
        admitted_ = std::max(least_, admitted_ / 2);
        refill();
      }
      const QueueEntry front = offered_first() ? offered_.front() : sorted_[next_];
      const QueueEntry now = source_.entry(front.item);
      if (now.count == front.count && now.tie == front.tie) return front;
      pop();
      if (now.count >= admitted_) push(now);
    }
  }

  void pop() {
    if (offered_first()) {
      std::pop_heap(offered_.begin(), offered_.end(), After{source_});
      offered_.pop_back();
    } else {
      ++next_;
      prefetch();
    }
  }

  void offer(std::uint64_t item) {
    if (const QueueEntry now = source_.entry(item); now.count >= admitted_) push(now);
  }

 private:
  struct After {
    const Source& source;
    bool operator()(const QueueEntry& a, const QueueEntry& b) const {
      return a.count != b.count ? a.count < b.count : source.before(b, a);
    }
  };

  bool is_empty() const { return next_ == sorted_.size() && offered_.empty(); }
  bool offered_first() const {
    return !offered_.empty() && (next_ == sorted_.size() || After{source_}(sorted_[next_], offered_.front()));
  }

  void push(const QueueEntry& entry) {
    offered_.push_back(entry);
    std::push_heap(offered_.begin(), offered_.end(), After{source_});
  }

  void prefetch() const {
    for (std::size_t step = 0; step < Source::kSteps; ++step) {
      const std::size_t at = next_ + (Source::kSteps - step) * kStep;
      if (at < sorted_.size()) source_.prefetch(sorted_[at].item, step);
    }
  }

  void refill() {
    sorted_.clear();
    next_ = 0;
    source_.for_each_item([&](std::uint64_t item) {
      if (const QueueEntry now = source_.entry(item); now.count >= admitted_) sorted_.push_back(now);
    });
    std::sort(sorted_.begin(), sorted_.end(),
              [&](const auto& a, const auto& b) { return After{source_}(b, a); });
  }

  static constexpr std::size_t kStep = 4;  // items between two steps

  Source& source_;
  std::uint64_t least_;
  // Nearly all pairs are rare and never reach the front: the queue holds counts from here on, and the bar is
  // halved when it runs empty.
  std::uint64_t admitted_ = 0;
  // Those that were there when the bar was halved, in order, so that what comes next is known ahead; and
  // those that were offered since, a heap.
  std::vector<QueueEntry> sorted_;
  std::size_t next_ = 0;
  std::vector<QueueEntry> offered_;
};

}  // namespace pyharness
