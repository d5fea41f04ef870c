// Counts of adjacent pairs of ids: what bigram metrics and BPE training start from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shared/pairs.hpp"

namespace pyharness {

// The rows of PairColumns and their memory.
struct PairHistogram {
  std::vector<std::uint32_t> left;
  std::vector<std::uint32_t> right;
  std::vector<std::uint64_t> count;
};

// Overlapping pairs all count: (a a a) holds (a, a) twice. Throws std::invalid_argument as check_segments
// does. The result does not depend on `threads`. Memory: see counter.hpp.
PairHistogram pair_histogram(std::span<const std::uint32_t> ids, const PairSegments& segments, int threads);

// Throws std::invalid_argument for segments of a corpus of `total` ids: offsets that do not start at 0, fall
// or do not end at `total`; a negative weight; a weighted number of pairs that leaves 64 bits.
void check_segments(const PairSegments& segments, std::int64_t total);

}  // namespace pyharness
