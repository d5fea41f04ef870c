// Counts of n-grams that are packed into one integer each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/machine/radix_sort.hpp"

namespace pyharness::symbols {

using NarrowGram = std::uint64_t;
__extension__ typedef unsigned __int128 WideGram;  // NOLINT: the only integer of this size

struct WideRow {
  WideGram key;
  std::uint64_t count;
};

template <class Gram>
using GramRow = std::conditional_t<std::is_same_v<Gram, NarrowGram>, KeyedRow, WideRow>;

// All bits of the gram reach the upper bits of the result, which choose a table, and the lower, which choose
// a slot (finalizer of splitmix64).
template <class Gram>
std::uint64_t hash_of(Gram gram) {
  auto value = static_cast<std::uint64_t>(gram);
  if constexpr (std::is_same_v<Gram, WideGram>)
    value ^= static_cast<std::uint64_t>(gram >> 64) * 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

// Open addressing; a free slot has count 0. Memory grows with the distinct grams.
template <class Gram>
class GramTable {
 public:
  using Row = GramRow<Gram>;

  void prefetch(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & mask_], 1);
  }

  // `grown(bytes)` is told how much more memory the table is about to take, and may throw.
  template <class Grown>
  void add(Gram gram, std::uint64_t hash, std::uint64_t count, Grown&& grown) {
    if (4 * (used_ + 1) > 3 * slots_.size()) [[unlikely]]
      grow(grown);
    Row& row = slot(gram, hash);
    used_ += row.count == 0;
    row.key = gram;
    row.count += count;
  }

  // In no useful order; the table is empty then.
  void move_to(std::vector<Row>& rows) {
    for (const Row& row : slots_)
      if (row.count != 0) rows.push_back(row);
    *this = {};
  }

  std::size_t size() const { return used_; }

 private:
  static constexpr std::size_t kFirstSize = 16;

  Row& slot(Gram gram, std::uint64_t hash) {
    std::size_t at = hash & mask_;
    while (slots_[at].count != 0 && slots_[at].key != gram) at = (at + 1) & mask_;
    return slots_[at];
  }

  template <class Grown>
  void grow(Grown&& grown) {
    const std::size_t size = std::max(kFirstSize, 2 * slots_.size());
    grown((size - slots_.size()) * sizeof(Row));
    std::vector<Row> old(size, Row{0, 0});
    old.swap(slots_);
    mask_ = size - 1;
    for (const Row& row : old)
      if (row.count != 0) slot(row.key, hash_of(row.key)) = row;
  }

  std::vector<Row> slots_;
  std::size_t mask_ = 0;  // slots - 1
  std::size_t used_ = 0;
};

}  // namespace pyharness::symbols
