// The distinct n-grams of documents that come in batches.
//
// Only the longest n-gram that ends at a symbol is counted: `order` symbols, or fewer at the start of a
// document. The counts of shorter ones are sums of these, taken once at the end.
//
// Grams are spread over tables by their hash, and each table belongs to one thread of a call: every thread
// packs every gram, which is cheap, and counts its own, so nothing is merged and neither threads nor batches
// change a count. Memory grows with the distinct grams.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/machine/parallel.hpp"
#include "core/machine/radix_sort.hpp"
#include "core/symbols/gram_table.hpp"

namespace pyharness::symbols {

template <class Gram>
class GramCounter {
 public:
  using Row = GramRow<Gram>;

  GramCounter(int order, int symbol_bits, std::size_t max_bytes)
      : order_(order), bits_(symbol_bits), max_bytes_(max_bytes), tables_(static_cast<std::size_t>(order)) {}

  // Ids have been checked. Throws std::length_error when the grams take more than max_bytes; what was counted
  // is of no use then.
  template <class Id>
  void add(std::span<const Id> ids, std::span<const std::int64_t> offsets, int threads) {
    const int workers = std::min({threads, kTables, static_cast<int>(ids.size() / kFewestIds) + 1});
    run_on_threads(workers, [&](int worker) {
      Pending pending(*this, worker, workers);
      for (std::size_t d = 0; d + 1 < offsets.size(); ++d)
        count_document(ids.subspan(static_cast<std::size_t>(offsets[d]),
                                   static_cast<std::size_t>(offsets[d + 1] - offsets[d])),
                       pending);
      pending.flush();
    });
  }

  // By length, from 1 on, each in lexicographic order of its symbols. The counter is empty then.
  std::vector<std::vector<Row>> take_levels() {
    std::vector<std::vector<Row>> levels(tables_.size());
    for (std::size_t length = tables_.size(); length > 0; --length) {
      std::vector<Row>& rows = levels[length - 1];
      const std::span<const Row> longer =
          length < levels.size() ? std::span<const Row>(levels[length]) : std::span<const Row>();
      rows.reserve(longer.size() + size_of(tables_[length - 1]));
      for (const Row& row : longer) rows.push_back({row.key & mask(static_cast<int>(length)), row.count});
      for (auto& table : tables_[length - 1]) table.move_to(rows);
      sort_rows(rows);
      join_equal(rows);
    }
    return levels;
  }

 private:
  static constexpr int kTables = 64;
  static constexpr std::size_t kFewestIds = 1 << 14;  // of a thread: starting one takes about as long
  static constexpr std::size_t kAhead = 32;           // slots that are fetched before they are needed

  using Tables = std::array<GramTable<Gram>, kTables>;

  // Grams of one thread that wait for their slots.
  class Pending {
   public:
    Pending(GramCounter& counter, int worker, int workers) : counter_(counter) {
      for (int table = 0; table < kTables; ++table)
        own_[static_cast<std::size_t>(table)] = table % workers == worker;
    }

    // Without a branch: whose gram it is, nobody can predict.
    void add(Gram gram) {
      const std::uint64_t hash = hash_of(gram);
      waiting_[size_] = {gram, hash};
      size_ += own_[hash >> kTableShift];
      if (size_ == kAhead) [[unlikely]]
        flush();
    }

    void to_length(int length) {
      flush();
      tables_ = &counter_.tables_[static_cast<std::size_t>(length) - 1];
    }

    void flush() {
      for (std::size_t i = 0; i < size_; ++i) table(waiting_[i].hash).prefetch(waiting_[i].hash);
      for (std::size_t i = 0; i < size_; ++i)
        table(waiting_[i].hash).add(waiting_[i].gram, waiting_[i].hash, 1, [this](std::size_t bytes) {
          counter_.take(bytes);
        });
      size_ = 0;
    }

   private:
    static constexpr int kTableShift = 64 - std::countr_zero(static_cast<unsigned>(kTables));

    struct Item {
      Gram gram;
      std::uint64_t hash;
    };

    GramTable<Gram>& table(std::uint64_t hash) { return (*tables_)[hash >> kTableShift]; }

    GramCounter& counter_;
    Tables* tables_ = nullptr;
    std::array<std::uint8_t, kTables> own_;
    std::array<Item, kAhead> waiting_;
    std::size_t size_ = 0;
  };

  template <class Id>
  void count_document(std::span<const Id> ids, Pending& pending) const {
    Gram gram = 0;
    const std::size_t first = std::min(ids.size(), static_cast<std::size_t>(order_) - 1);
    for (std::size_t i = 0; i < first; ++i) {
      gram = gram << bits_ | ids[i];
      pending.to_length(static_cast<int>(i) + 1);
      pending.add(gram);
    }
    if (first == ids.size()) return;
    pending.to_length(order_);
    const Gram kept = mask(order_);
    for (std::size_t i = first; i < ids.size(); ++i) {
      gram = (gram << bits_ | ids[i]) & kept;
      pending.add(gram);
    }
  }

  static std::size_t size_of(const Tables& tables) {
    std::size_t size = 0;
    for (const auto& table : tables) size += table.size();
    return size;
  }

  Gram mask(int length) const {
    const int bits = length * bits_;
    return bits == 8 * static_cast<int>(sizeof(Gram)) ? ~Gram{0} : (Gram{1} << bits) - 1;
  }

  void take(std::size_t bytes) {
    if (taken_ += bytes; taken_ > max_bytes_)
      throw std::length_error("the distinct n-grams take more than " + std::to_string(max_bytes_) + " bytes");
  }

  static void sort_rows(std::vector<Row>& rows) {
    if constexpr (std::is_same_v<Gram, NarrowGram>) {
      std::vector<Row> spare;
      if (!rows.empty()) sort_by_key(rows, spare);
    } else {
      std::sort(rows.begin(), rows.end(),
                [](const Row& left, const Row& right) { return left.key < right.key; });
    }
  }

  static void join_equal(std::vector<Row>& rows) {
    std::size_t kept = 0;
    for (const Row& row : rows) {
      if (kept > 0 && rows[kept - 1].key == row.key)
        rows[kept - 1].count += row.count;
      else
        rows[kept++] = row;
    }
    rows.resize(kept);
  }

  int order_;
  int bits_;  // of a symbol
  std::size_t max_bytes_;
  std::atomic<std::size_t> taken_{0};
  std::vector<Tables> tables_;  // by length
};

}  // namespace pyharness::symbols
