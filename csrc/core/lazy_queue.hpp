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
// for_each_item(visit). An item whose entry moves forward must be offered; one that falls back is found out
// by itself.
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
      while (entries_.empty()) {
        if (admitted_ <= least_) return std::nullopt;
        admitted_ = std::max(least_, admitted_ / 2);
        refill();
      }
      const QueueEntry front = entries_.front();
      const QueueEntry now = source_.entry(front.item);
      if (now.count == front.count && now.tie == front.tie) return front;
      pop();
      if (now.count >= admitted_) push(now);
    }
  }

  void pop() {
    std::pop_heap(entries_.begin(), entries_.end(), After{source_});
    entries_.pop_back();
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

  void push(const QueueEntry& entry) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), After{source_});
  }

  void refill() {
    source_.for_each_item([&](std::uint64_t item) {
      if (const QueueEntry now = source_.entry(item); now.count >= admitted_) entries_.push_back(now);
    });
    std::make_heap(entries_.begin(), entries_.end(), After{source_});
  }

  Source& source_;
  std::uint64_t least_;
  // Nearly all pairs are rare and never reach the front: the heap holds counts from here on, and the bar is
  // halved when it runs empty.
  std::uint64_t admitted_ = 0;
  std::vector<QueueEntry> entries_;
};

}  // namespace pyharness
