// Counted partitions -> rows in order: counts fall, ties by (left, right).
//
// Rows go to buckets first, in an order that agrees with the final one, and each bucket is then sorted alone.
// Small counts, where nearly all rows are, have a bucket per count and per leading bits of the left id; large
// counts one per leading bits of the count.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/machine/radix_sort.hpp"
#include "core/pairs/counter.hpp"
#include "core/pairs/memory.hpp"
#include "core/pairs/pair_histogram.hpp"

namespace pyharness {

class PairBuckets {
 public:
  explicit PairBuckets(int id_bits) : shift_(std::max(0, id_bits - kKeyBits)) {}

  static constexpr std::size_t count() { return kLargeClasses + (kSmallCounts - 1) * kKeyBins; }
  static constexpr bool has_one_count(std::size_t bucket) { return bucket >= kLargeClasses; }

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
  PairOrder(const PairPartitions<Keys>& partitions, int id_bits, int threads)
      : partitions_(partitions), buckets_(id_bits), threads_(threads) {}

  PairHistogram run() {
    place_rows();
    PairHistogram histogram;
    run_on_threads(threads_, [&](int worker) {
      if (worker == 0) resize_on_huge_pages(histogram.count, rows_count_);
      if (worker != threads_ - 1) return;
      resize_on_huge_pages(histogram.left, rows_count_);
      resize_on_huge_pages(histogram.right, rows_count_);
    });
    const PairColumns columns{histogram.left.data(), histogram.right.data(), histogram.count.data()};
    std::atomic<std::size_t> next{0};
    run_on_threads(threads_, [&](int) {
      std::vector<KeyedRow> spare;
      for (std::size_t b = next++; b < PairBuckets::count(); b = next++) write_bucket(b, spare, columns);
    });
    return histogram;
  }

 private:
  template <class Visit>
  void for_each_row(int worker, Visit&& visit) const {
    const std::size_t end = share_begin(partitions_.rows.size(), worker + 1, threads_);
    for (std::size_t p = share_begin(partitions_.rows.size(), worker, threads_); p < end; ++p) {
      for (const auto& row : partitions_.rows[p]) {
        const std::uint64_t mixed = partitions_.partitioning.mixed(p, row.remainder);
        visit(KeyedRow{Keys::unmix(mixed), row.count});
      }
    }
  }

  // Every thread counts its rows per bucket, then writes them to places of its own.
  void place_rows() {
    std::vector<std::vector<std::size_t>> places(static_cast<std::size_t>(threads_));
    run_on_threads(threads_, [&](int worker) {
      auto& counts = places[static_cast<std::size_t>(worker)];
      counts.resize(PairBuckets::count());
      for_each_row(worker, [&](const KeyedRow& row) { ++counts[buckets_.of(row.key, row.count)]; });
    });
    begin_.assign(PairBuckets::count() + 1, 0);
    for (std::size_t b = 0; b < PairBuckets::count(); ++b) {
      begin_[b] = rows_count_;
      for (auto& counts : places) rows_count_ += std::exchange(counts[b], rows_count_);
    }
    begin_.back() = rows_count_;
    rows_ = make_scratch<KeyedRow>(rows_count_);
    run_on_threads(threads_, [&](int worker) {
      auto& own = places[static_cast<std::size_t>(worker)];
      for_each_row(worker, [&](const KeyedRow& row) { rows_[own[buckets_.of(row.key, row.count)]++] = row; });
    });
  }

  void sort_bucket(std::size_t bucket, std::vector<KeyedRow>& spare) {
    constexpr std::size_t kWorthRadix = 256;
    const std::span rows(rows_.get() + begin_[bucket], rows_.get() + begin_[bucket + 1]);
    if (PairBuckets::has_one_count(bucket) && rows.size() >= kWorthRadix) return sort_by_key(rows, spare);
    std::sort(rows.begin(), rows.end(), [](const KeyedRow& a, const KeyedRow& b) {
      return a.count != b.count ? a.count > b.count : a.key < b.key;
    });
  }

  void write_bucket(std::size_t bucket, std::vector<KeyedRow>& spare, const PairColumns& columns) {
    sort_bucket(bucket, spare);
    for (std::size_t i = begin_[bucket]; i < begin_[bucket + 1]; ++i) {
      columns.left[i] = static_cast<std::uint32_t>(rows_[i].key >> 32);
      columns.right[i] = static_cast<std::uint32_t>(rows_[i].key);
      columns.count[i] = rows_[i].count;
    }
  }

  const PairPartitions<Keys>& partitions_;
  PairBuckets buckets_;
  int threads_;
  std::size_t rows_count_ = 0;
  Scratch<KeyedRow> rows_;
  std::vector<std::size_t> begin_;  // bucket -> its first row
};

}  // namespace pyharness
