// Counting of pairs, partition by partition.
//
// A pair becomes one integer key, mixed by a bijection. The top bits of the mixed key choose one of 1,024
// partitions, the remainder is what a partition stores: 26 bits instead of 64 for ids below 2^18, and a small
// table per partition that stays in the first-level cache. Each partition belongs to one thread, so nothing
// is merged. (Measured against one large table with prefetching, a table of hot pairs in front of it, and LSD
// radix sort: shared/spikes/cpu/hist.cpp.)
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/pair_segments.hpp"
#include "core/parallel.hpp"

namespace pyharness {

inline constexpr int kPartitionBits = 10;
inline constexpr std::size_t kPartitions = std::size_t{1} << kPartitionBits;

// Inverse of an odd number modulo 2^64 by Newton's iteration; every step doubles the number of right bits.
constexpr std::uint64_t odd_inverse(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int step = 0; step < 6; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

inline constexpr std::uint64_t kMixFactor = 0x9E3779B97F4A7C15u;
inline constexpr std::uint64_t kUnmixFactor = odd_inverse(kMixFactor);

// Ids below 2^18 and fewer than 2^32 pairs.
struct NarrowKeys {
  using Remainder = std::uint32_t;
  using Count = std::uint32_t;
  static constexpr int kRemainderBits = 36 - kPartitionBits;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << 36) - 1;

  static std::uint64_t mix(std::uint32_t left, std::uint32_t right) {
    return ((static_cast<std::uint64_t>(left) << 18 | right) * kMixFactor) & kMask;
  }
  static std::uint64_t unmix(std::uint64_t mixed) {
    const std::uint64_t key = (mixed * kUnmixFactor) & kMask;
    return key >> 18 << 32 | (key & 0x3FFFF);
  }
};

// Any ids, any counts.
struct WideKeys {
  using Remainder = std::uint64_t;
  using Count = std::uint64_t;
  static constexpr int kRemainderBits = 64 - kPartitionBits;

  static std::uint64_t mix(std::uint32_t left, std::uint32_t right) {
    const std::uint64_t key = (static_cast<std::uint64_t>(left) << 32 | right) * kMixFactor;
    return key ^ key >> 32;
  }
  static std::uint64_t unmix(std::uint64_t mixed) { return (mixed ^ mixed >> 32) * kUnmixFactor; }
};

// Open addressing on the top bits of the remainder, which a bijection has mixed already.
template <class Keys>
class PartitionTable {
 public:
  using Remainder = typename Keys::Remainder;
  using Count = typename Keys::Count;
  struct Slot {
    Remainder key;
    Count count;  // 0: free
  };

  void add(Remainder key, Count count) {
    if (2 * used_ >= slots_.size()) grow();
    Slot& slot = slots_[locate(key)];
    used_ += slot.count == 0;
    slot.key = key;
    slot.count += count;
  }

  std::span<const Slot> slots() const { return slots_; }
  std::size_t size() const { return used_; }

 private:
  std::size_t locate(Remainder key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(key >> shift_);
    while (slots_[at].count != 0 && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? kFirstSize : slots_.size() * 2);
    old.swap(slots_);
    shift_ = std::max(0, Keys::kRemainderBits - static_cast<int>(std::bit_width(slots_.size() - 1)));
    for (const Slot& slot : old) {
      if (slot.count != 0) slots_[locate(slot.key)] = slot;
    }
  }

  static constexpr std::size_t kFirstSize = 64;
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  int shift_ = 0;
};

// What travels from a position to its partition: the remainder, and a weight where there are weights.
template <class Keys, bool kWeighted>
struct PairItem {
  typename Keys::Remainder remainder;
  std::uint64_t weight;
};
template <class Keys>
struct PairItem<Keys, false> {
  typename Keys::Remainder remainder;
  static constexpr typename Keys::Count weight = 1;
};

// One thread's share of a chunk, sorted by partition.
template <class Keys, bool kWeighted>
class PartitionedShare {
 public:
  using Item = PairItem<Keys, kWeighted>;

  explicit PartitionedShare(std::size_t capacity)
      : items_(std::make_unique_for_overwrite<Item[]>(capacity)),
        lines_(std::make_unique_for_overwrite<Line[]>(kPartitions)),
        begin_(kPartitions + 1) {}

  void fill(std::span<const std::uint32_t> ids, const PairSegments& segments, std::size_t begin,
            std::size_t end) {
    std::fill(begin_.begin(), begin_.end(), 0u);
    segments.for_each_run(begin, end, [&](std::size_t first, std::size_t last, std::uint64_t) {
      for (std::size_t i = first; i < last; ++i) ++begin_[partition(Keys::mix(ids[i], ids[i + 1])) + 1];
    });
    for (std::size_t p = 0; p < kPartitions; ++p) begin_[p + 1] += begin_[p];
    scatter(ids, segments, begin, end);
  }

  std::span<const Item> items(std::size_t p) const {
    return {items_.get() + begin_[p], begin_[p + 1] - begin_[p]};
  }

 private:
  // Items of a partition gather in a cache line of their own and leave it 64 bytes at a time: 1,024 open
  // destinations would otherwise miss the TLB on nearly every store.
  static constexpr std::uint32_t kPerLine = 64 / sizeof(Item);
  struct alignas(64) Line {
    Item items[kPerLine];
  };

  static std::size_t partition(std::uint64_t mixed) {
    return static_cast<std::size_t>(mixed >> Keys::kRemainderBits);
  }

  static Item item_of(std::uint64_t mixed, [[maybe_unused]] std::uint64_t weight) {
    constexpr std::uint64_t kRemainder = (std::uint64_t{1} << Keys::kRemainderBits) - 1;
    const auto remainder = static_cast<typename Keys::Remainder>(mixed & kRemainder);
    if constexpr (kWeighted) {
      return Item{remainder, weight};
    } else {
      return Item{remainder};
    }
  }

  void scatter(std::span<const std::uint32_t> ids, const PairSegments& segments, std::size_t begin,
               std::size_t end) {
    std::vector<std::size_t> at(begin_.begin(), begin_.end() - 1);
    std::vector<std::uint32_t> waiting(kPartitions);
    segments.for_each_run(begin, end, [&](std::size_t first, std::size_t last, std::uint64_t weight) {
      for (std::size_t i = first; i < last; ++i) {
        const std::uint64_t mixed = Keys::mix(ids[i], ids[i + 1]);
        const std::size_t p = partition(mixed);
        std::uint32_t filled = waiting[p];
        lines_[p].items[filled] = item_of(mixed, weight);
        if (++filled == kPerLine) {
          std::memcpy(items_.get() + at[p], lines_[p].items, sizeof(Line));
          at[p] += kPerLine;
          filled = 0;
        }
        waiting[p] = filled;
      }
    });
    for (std::size_t p = 0; p < kPartitions; ++p) {
      std::memcpy(items_.get() + at[p], lines_[p].items, waiting[p] * sizeof(Item));
    }
  }

  std::unique_ptr<Item[]> items_;
  std::unique_ptr<Line[]> lines_;
  std::vector<std::size_t> begin_;
};

// The tables of all partitions, filled.
template <class Keys, bool kWeighted>
std::vector<PartitionTable<Keys>> count_pairs(std::span<const std::uint32_t> ids,
                                              const PairSegments& segments, int threads) {
  constexpr std::size_t kChunk = std::size_t{1}
                                 << 22;  // pairs partitioned before they are counted: bounds the memory
  const std::size_t positions = ids.empty() ? 0 : ids.size() - 1;
  const auto workers = static_cast<std::size_t>(threads);
  std::vector<PartitionTable<Keys>> tables(kPartitions);
  std::vector<std::unique_ptr<PartitionedShare<Keys, kWeighted>>> shares(workers);
  for (std::size_t chunk = 0; chunk < positions; chunk += kChunk) {
    const std::size_t length = std::min(kChunk, positions - chunk);
    run_on_threads(threads, [&](int worker) {
      auto& share = shares[static_cast<std::size_t>(worker)];
      if (!share) share = std::make_unique<PartitionedShare<Keys, kWeighted>>(length / workers + 1);
      share->fill(ids, segments, chunk + share_begin(length, worker, threads),
                  chunk + share_begin(length, worker + 1, threads));
    });
    run_on_threads(threads, [&](int worker) {
      for (auto p = static_cast<std::size_t>(worker); p < kPartitions; p += workers) {
        for (const auto& share : shares) {
          for (const auto& item : share->items(p)) {
            if (item.weight != 0)
              tables[p].add(item.remainder, static_cast<typename Keys::Count>(item.weight));
          }
        }
      }
    });
  }
  return tables;
}

}  // namespace pyharness
