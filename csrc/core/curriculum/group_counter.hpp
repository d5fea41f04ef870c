// The distinct groups of documents that come in batches, and how often each occurs.
//
// Groups are spread over tables by their hash, and each table belongs to one thread of a call: every thread
// finds every group, which is cheap, and counts its own, so nothing is merged and neither threads nor batches
// change a count.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/curriculum/group_table.hpp"
#include "core/curriculum/grouping.hpp"

namespace pyharness::curriculum {

// Group g is ids[offsets[g]..offsets[g + 1]).
struct Groups {
  std::vector<std::uint32_t> ids;
  std::vector<std::int64_t> offsets;
  std::vector<std::uint64_t> counts;
};

class GroupCounter {
 public:
  // `max_bytes` bounds the tables. Throws std::invalid_argument for an epsilon that is not above 0 and a
  // quantile that is none.
  GroupCounter(const GroupRule& rule, std::size_t max_bytes);

  // `signal` has a value for every id. Counts nothing and throws std::invalid_argument for a signal that is
  // not a number and for offsets that do not fit; throws std::length_error when there are too many groups,
  // after which the counter is of no use.
  template <class Id>
  void add(std::span<const Id> ids, std::span<const double> signal, std::span<const std::int64_t> offsets,
           int threads);

  std::uint64_t distinct() const;
  std::uint64_t total() const;

  // At most so many groups: by count, most frequent first, then by length, longest first, then in
  // lexicographic order of their ids; or with a seed, in an order that is a function of the seed and the
  // group alone.
  Groups first(std::size_t most, std::optional<std::uint64_t> seed) const;

 private:
  static constexpr int kTables = 64;
  class Pending;

  struct Candidate {
    std::uint64_t key;  // sorted by, largest first
    std::uint64_t count;
    std::span<const std::uint32_t> ids;
  };

  void take(std::size_t bytes);

  GroupRule rule_;
  std::size_t max_bytes_;
  std::atomic<std::size_t> taken_{0};
  std::array<GroupTable, kTables> tables_;
};

}  // namespace pyharness::curriculum
