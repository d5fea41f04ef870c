// Filled partition tables -> rows in order: counts fall, ties by (left, right).
//
// Rows go to buckets first, in an order that agrees with the final one, and each bucket is then sorted alone.
// Small counts, where nearly all rows are, have a bucket per count and per leading bits of the left id; large
// counts one per leading bits of the count.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/pair_counter.hpp"
#include "core/pair_histogram.hpp"

namespace pyharness {

class PairBuckets {
 public:
  explicit PairBuckets(std::uint32_t largest_id)
      : shift_(std::max(0, static_cast<int>(std::bit_width(largest_id)) - kKeyBits)) {}

  static constexpr std::size_t count() { return kLargeClasses + (kSmallCounts - 1) * kKeyBins; }

  std::size_t of(std::uint64_t key, std::uint64_t times) const {
    if (times >= kSmallCounts) return kLargeClasses - 1 - large_class(times);
    const auto bin = static_cast<std::size_t>(key >> 32 >> shift_);
    return kLargeClasses + (kSmallCounts - 1 - static_cast<std::size_t>(times)) * kKeyBins + bin;
  }

 private:
  static constexpr int kKeyBits = 7;
  static constexpr std::size_t kKeyBins = std::size_t{1} << kKeyBits;
  static constexpr std::uint64_t kSmallCounts = 32;  // a power of two
  static constexpr int kFirstOctave = std::bit_width(kSmallCounts);
  static constexpr std::size_t kLargeClasses = static_cast<std::size_t>(64 - kFirstOctave + 1) * 16;

  // Octave of the count and the four bits below its leading one: grows with the count.
  static std::size_t large_class(std::uint64_t times) {
    const int octave = static_cast<int>(std::bit_width(times));
    return static_cast<std::size_t>(octave - kFirstOctave) * 16 + (times >> (octave - 5) & 15);
  }

  int shift_;
};

template <class Keys>
class PairOrder {
 public:
  PairOrder(const std::vector<PartitionTable<Keys>>& tables, std::uint32_t largest_id, int threads)
      : tables_(tables), buckets_(largest_id), threads_(threads) {}

  PairHistogram run() {
    place_rows();
    PairHistogram histogram;
    histogram.left.resize(rows_count_);
    histogram.right.resize(rows_count_);
    histogram.count.resize(rows_count_);
    std::atomic<std::size_t> next{0};
    run_on_threads(threads_, [&](int) {
      for (std::size_t b = next++; b < PairBuckets::count(); b = next++) write_bucket(b, histogram);
    });
    return histogram;
  }

 private:
  struct Row {
    std::uint64_t key;  // left << 32 | right
    std::uint64_t count;
  };

  template <class Visit>
  void for_each_row(int worker, Visit&& visit) const {
    const std::size_t end = share_begin(kPartitions, worker + 1, threads_);
    for (std::size_t p = share_begin(kPartitions, worker, threads_); p < end; ++p) {
      for (const auto& slot : tables_[p].slots()) {
        if (slot.count == 0) continue;
        const std::uint64_t mixed = static_cast<std::uint64_t>(p) << Keys::kRemainderBits | slot.key;
        visit(Row{Keys::unmix(mixed), slot.count});
      }
    }
  }

  // Every thread counts its rows per bucket, then writes them to places of its own.
  void place_rows() {
    const auto workers = static_cast<std::size_t>(threads_);
    std::vector<std::vector<std::size_t>> at(workers);
    run_on_threads(threads_, [&](int worker) {
      auto& counts = at[static_cast<std::size_t>(worker)];
      counts.resize(PairBuckets::count());
      for_each_row(worker, [&](const Row& row) { ++counts[buckets_.of(row.key, row.count)]; });
    });
    begin_.assign(PairBuckets::count() + 1, 0);
    for (std::size_t b = 0; b < PairBuckets::count(); ++b) {
      begin_[b] = rows_count_;
      for (auto& counts : at) rows_count_ += std::exchange(counts[b], rows_count_);
    }
    begin_.back() = rows_count_;
    rows_ = std::make_unique_for_overwrite<Row[]>(rows_count_);
    run_on_threads(threads_, [&](int worker) {
      auto& places = at[static_cast<std::size_t>(worker)];
      for_each_row(worker, [&](const Row& row) { rows_[places[buckets_.of(row.key, row.count)]++] = row; });
    });
  }

  void write_bucket(std::size_t bucket, PairHistogram& histogram) {
    std::sort(rows_.get() + begin_[bucket], rows_.get() + begin_[bucket + 1], [](const Row& a, const Row& b) {
      return a.count != b.count ? a.count > b.count : a.key < b.key;
    });
    for (std::size_t i = begin_[bucket]; i < begin_[bucket + 1]; ++i) {
      histogram.left[i] = static_cast<std::uint32_t>(rows_[i].key >> 32);
      histogram.right[i] = static_cast<std::uint32_t>(rows_[i].key);
      histogram.count[i] = rows_[i].count;
    }
  }

  const std::vector<PartitionTable<Keys>>& tables_;
  PairBuckets buckets_;
  int threads_;
  std::size_t rows_count_ = 0;
  std::unique_ptr<Row[]> rows_;
  std::vector<std::size_t> begin_;
};

}  // namespace pyharness
