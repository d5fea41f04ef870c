// Counting of pairs, partition by partition.
//
// A chunk of pairs is scattered to up to 1,024 partitions, then every partition is counted by one thread in a
// small table, so nothing is merged. The table is the thread's own and serves one partition after another: it
// stays in the second-level cache and its pages are new only once. What a partition keeps is its rows,
// without gaps; a later chunk puts them back into the table first.
//
// Memory beyond the ids and the result, for ids below 2^18: 8 bytes per distinct pair for the rows; beside
// them 4 bytes per pair of the chunk, at most the larger of 64 MiB and 32 bytes per distinct pair, and 4 MiB
// per thread; then 16 bytes per distinct pair to order them. With wider ids 16 bytes, 8 and at most 64; with
// weights 16, 16 and at most 128.
//
// A table per partition, kept from chunk to chunk of 4 million pairs, took 2.3 times as long as a whole (60.5
// million tokens, 5.2 million distinct pairs, std::sort for the order): new pages, and a cold table every
// time.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/machine/parallel.hpp"
#include "core/pairs/blocks.hpp"
#include "core/pairs/keys.hpp"
#include "core/pairs/memory.hpp"
#include "core/pairs/segments.hpp"

namespace pyharness {

template <class Keys>
struct PairRow {
  typename Keys::Remainder remainder;
  typename Keys::Count count;
};

// The distinct pairs of every partition, in no useful order.
template <class Keys>
struct PairPartitions {
  explicit PairPartitions(std::size_t pairs) : partitioning(pairs), rows(partitioning.size()) {}

  PairPartitioning<Keys> partitioning;
  std::vector<std::vector<PairRow<Keys>>> rows;
};

// Open addressing on the top bits of the remainder, which a bijection has mixed already.
template <class Keys>
class PairTable {
 public:
  using Remainder = typename Keys::Remainder;
  using Count = typename Keys::Count;
  using Row = PairRow<Keys>;

  explicit PairTable(int remainder_bits) : remainder_bits_(remainder_bits) { allocate(kFirstSize); }

  void clear() {
    std::fill_n(slots_.get(), mask_ + 1, Row{kFree, 0});
    used_ = 0;
  }

  void add(Remainder remainder, Count count) {
    auto at = static_cast<std::size_t>(remainder >> shift_);
    while (slots_[at].remainder != remainder) {
      if (slots_[at].remainder == kFree) return insert(at, {remainder, count});
      at = (at + 1) & mask_;
    }
    slots_[at].count += count;
  }

  // Free slots are written and overwritten: a branch per slot would be mispredicted every third time.
  void store(std::vector<Row>& rows) const {
    rows.clear();
    rows.reserve(used_ + 1);  // exactly: resize alone would double
    rows.resize(used_ + 1);
    Row* out = rows.data();
    for (std::size_t at = 0; at <= mask_; ++at) {
      *out = slots_[at];
      out += slots_[at].remainder != kFree;
    }
    rows.pop_back();
  }

 private:
  static constexpr std::size_t kFirstSize = 64;
  static constexpr Remainder kFree = ~Remainder{0};

  void insert(std::size_t at, Row row) {
    slots_[at] = row;
    if (2 * ++used_ > mask_) [[unlikely]]
      grow();
  }

  void allocate(std::size_t size) {
    slots_ = make_scratch<Row>(size);
    mask_ = size - 1;
    shift_ = std::max(0, remainder_bits_ - static_cast<int>(std::bit_width(mask_)));
    clear();
  }

  void grow() {
    const std::size_t size = mask_ + 1;
    const Scratch<Row> old = std::move(slots_);
    allocate(2 * size);
    for (std::size_t at = 0; at < size; ++at) {
      if (old[at].remainder != kFree) add(old[at].remainder, old[at].count);
    }
  }

  Scratch<Row> slots_;
  std::size_t mask_ = 0;  // slots - 1
  std::size_t used_ = 0;
  int remainder_bits_;
  int shift_ = 0;
};

template <class Keys, bool kWeighted>
class PairCounter {
 public:
  PairCounter(std::span<const std::uint32_t> ids, const PairRuns& runs, int threads)
      : ids_(ids),
        runs_(runs),
        threads_(threads),
        partitions_(ids.size()),
        shares_(static_cast<std::size_t>(threads)) {}

  PairPartitions<Keys> run() {
    const std::size_t positions = ids_.empty() ? 0 : ids_.size() - 1;
    for (std::size_t begin = 0; begin < positions;) {
      const std::size_t end = begin + std::min(chunk_size(), positions - begin);
      scatter(begin, end);
      count();
      begin = end;
    }
    return std::move(partitions_);
  }

 private:
  using Blocks = PairBlocks<Keys, kWeighted>;

  // Grows with the rows, or putting them back would outweigh the counting; by doubling, because new memory
  // has to be zeroed by the system.
  std::size_t chunk_size() const {
    constexpr std::size_t kLeast = (std::size_t{64} << 20) / sizeof(typename Blocks::Item);
    std::size_t rows = 0;
    for (const auto& partition : partitions_.rows) rows += partition.size();
    return std::max(kLeast, std::bit_floor(8 * rows));
  }

  void scatter(std::size_t begin, std::size_t end) {
    const std::size_t length = end - begin;
    const std::size_t longest = length / shares_.size() + 1;
    run_on_threads(threads_, [&](int worker) {
      auto& share = shares_[static_cast<std::size_t>(worker)];
      if (share && share->capacity() < longest) share.reset();
      if (!share) share = std::make_unique<Blocks>(partitions_.partitioning, longest);
      share->fill(ids_, runs_, begin + share_begin(length, worker, threads_),
                  begin + share_begin(length, worker + 1, threads_));
    });
  }

  void count() {
    std::atomic<std::size_t> next{0};
    run_on_threads(threads_, [&](int) {
      PairTable<Keys> table(partitions_.partitioning.remainder_bits());
      for (std::size_t p = next++; p < partitions_.rows.size(); p = next++) count_partition(p, table);
    });
  }

  void count_partition(std::size_t p, PairTable<Keys>& table) {
    table.clear();
    for (const auto& row : partitions_.rows[p]) table.add(row.remainder, row.count);
    for (const auto& share : shares_) {
      share->for_each_block(p, [&](auto items) {
        for (const auto& item : items) {
          table.add(item.remainder, static_cast<typename Keys::Count>(item.weight));
        }
      });
    }
    table.store(partitions_.rows[p]);
  }

  std::span<const std::uint32_t> ids_;
  const PairRuns& runs_;
  int threads_;
  PairPartitions<Keys> partitions_;
  std::vector<std::unique_ptr<Blocks>> shares_;
};

}  // namespace pyharness
