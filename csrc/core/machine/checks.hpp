// Checks of callers' arguments. Hostile input ends in std::invalid_argument that names the value, never
// in a read outside an array.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "shared/offset_errors.hpp"

namespace pyharness {

// Offsets of a flat array of `total` items: start at 0, never fall, end at `total`.
inline void check_offsets(std::span<const std::int64_t> offsets, std::size_t total, const char* name) {
  const std::string who(name);
  if (offsets.empty()) throw std::invalid_argument(who + " must hold at least one value");
  if (offsets.front() != 0) throw offsets_start_late(who);
  std::int64_t previous = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] < previous) throw offsets_fall(who, static_cast<std::int64_t>(i), offsets[i], previous);
    previous = offsets[i];
  }
  if (static_cast<std::uint64_t>(previous) != total)
    throw offsets_end_elsewhere(who, static_cast<std::int64_t>(total), previous);
}

// Compilers vectorise this, but not a search that may end early. It compares nothing, because SSE2 cannot
// compare unsigned integers: the highest bit is set by an id that has it, or by a difference below zero.
template <class Id>
bool all_below(std::span<const Id> ids, std::size_t limit) {
  constexpr auto kHighest = static_cast<Id>(Id{1} << (std::numeric_limits<Id>::digits - 1));
  if (limit > std::numeric_limits<Id>::max()) return true;
  if (limit > kHighest) return ids.empty() || std::ranges::max(ids) < limit;
  const auto last = static_cast<Id>(limit - 1);
  Id bits = 0;
  for (const Id id : ids) bits = static_cast<Id>(bits | id | static_cast<Id>(last - id));
  return limit > 0 && (bits & kHighest) == 0;
}

template <class Id>
void check_all_ids(std::span<const Id> ids, std::size_t limit, const char* name) {
  if (all_below(ids, limit)) return;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= limit) {
      throw std::invalid_argument(std::string(name) + "[" + std::to_string(i) +
                                  "] = " + std::to_string(ids[i]) + " is not below the limit " +
                                  std::to_string(limit));
    }
  }
}

// Overloads, so that a vector is taken, too.
inline void check_ids(std::span<const std::uint32_t> ids, std::size_t limit, const char* name) {
  check_all_ids(ids, limit, name);
}
inline void check_ids(std::span<const std::uint8_t> ids, std::size_t limit, const char* name) {
  check_all_ids(ids, limit, name);
}

inline void check_length(std::size_t length, std::size_t expected, const char* name) {
  if (length != expected) {
    throw std::invalid_argument(std::string(name) + " must hold " + std::to_string(expected) +
                                " values, not " + std::to_string(length));
  }
}

}  // namespace pyharness
