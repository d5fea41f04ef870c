// Counts of adjacent pairs of ids: what bigram metrics and BPE training start from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pyharness {

// Row k: the pair (left[k], right[k]) occurs count[k] times. Counts fall; equal counts are in order of (left,
// right).
struct PairHistogram {
  std::vector<std::uint32_t> left;
  std::vector<std::uint32_t> right;
  std::vector<std::uint64_t> count;
};

// Segment s is ids[offsets[s]:offsets[s + 1]]; no pair crosses segments; without offsets all ids are one
// segment. A pair of segment s counts weights[s] times (1 without weights). Overlapping pairs all count: (a a
// a) holds (a, a) twice. Throws std::invalid_argument when the weighted total leaves 64 bits. The result does
// not depend on `threads`. Memory: see counter.hpp.
PairHistogram pair_histogram(std::span<const std::uint32_t> ids,
                             std::optional<std::span<const std::int64_t>> offsets,
                             std::optional<std::span<const std::uint64_t>> weights, int threads);

}  // namespace pyharness
