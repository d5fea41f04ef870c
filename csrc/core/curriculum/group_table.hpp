// Counts of groups: sequences of ids of any length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pyharness::curriculum {

// The upper bits choose a table, the lower a slot: all of them depend on every id (steps of splitmix64).
template <class Id>
std::uint64_t hash_of(std::span<const Id> group) {
  std::uint64_t value = group.size();
  for (const Id id : group) {
    value = (value + id) * 0xBF58476D1CE4E5B9u;
    value ^= value >> 32;
  }
  value *= 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

// Open addressing; a free slot has count 0. Memory grows with the distinct groups.
class GroupTable {
 public:
  struct Row {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
    std::uint64_t begin = 0;  // of its ids
    std::uint64_t length = 0;
  };

  void prefetch_slot(std::uint64_t hash) const {
    if (!rows_.empty()) __builtin_prefetch(&rows_[hash & mask_], 1);
  }
  void prefetch_ids(std::uint64_t hash) const {
    if (!rows_.empty()) __builtin_prefetch(ids_.data() + rows_[hash & mask_].begin);
  }

  // `grown(bytes)` is told how much more memory the table is about to take, and may throw.
  template <class Id, class Grown>
  void add(std::span<const Id> group, std::uint64_t hash, Grown&& grown) {
    if (4 * (used_ + 1) > 3 * rows_.size()) [[unlikely]]
      grow(grown);
    std::size_t at = hash & mask_;
    while (rows_[at].count != 0 && !(rows_[at].hash == hash && is(rows_[at], group))) at = (at + 1) & mask_;
    Row& row = rows_[at];
    if (row.count == 0) {
      keep(group, grown);
      row = {hash, 0, ids_.size() - group.size(), group.size()};
      ++used_;
    }
    ++row.count;
  }

  std::size_t size() const { return used_; }
  std::span<const Row> rows() const { return rows_; }  // with free ones
  std::span<const std::uint32_t> ids(const Row& row) const { return {ids_.data() + row.begin, row.length}; }

 private:
  static constexpr std::size_t kFirstSize = 16;

  template <class Id>
  bool is(const Row& row, std::span<const Id> group) const {
    return row.length == group.size() && std::equal(group.begin(), group.end(), ids_.begin() + row.begin);
  }

  template <class Id, class Grown>
  void keep(std::span<const Id> group, Grown&& grown) {
    if (ids_.capacity() - ids_.size() < group.size()) {
      const std::size_t capacity = std::max(ids_.size() + group.size(), 2 * ids_.capacity());
      grown((capacity - ids_.capacity()) * sizeof(std::uint32_t));
      ids_.reserve(capacity);
    }
    ids_.insert(ids_.end(), group.begin(), group.end());
  }

  template <class Grown>
  void grow(Grown&& grown) {
    const std::size_t size = std::max(kFirstSize, 2 * rows_.size());
    grown((size - rows_.size()) * sizeof(Row));
    std::vector<Row> old(size);
    old.swap(rows_);
    mask_ = size - 1;
    for (const Row& row : old) {
      if (row.count == 0) continue;
      std::size_t at = row.hash & mask_;
      while (rows_[at].count != 0) at = (at + 1) & mask_;
      rows_[at] = row;
    }
  }

  std::vector<Row> rows_;
  std::vector<std::uint32_t> ids_;  // of all groups, end to end
  std::size_t mask_ = 0;            // slots - 1
  std::size_t used_ = 0;
};

}  // namespace pyharness::curriculum
