// The nouns of pair counts: core and kernels read segments and write rows of one shape. nvcc compiles this at
// C++17: plain structs only.
#pragma once

#include <cstdint>

namespace pyharness {

// How a corpus is cut: segment s is ids[offsets[s]..offsets[s + 1] - 1], and its pairs count weights[s]
// times. No pair crosses segments.
struct PairSegments {
  const std::int64_t* offsets = nullptr;  // [size + 1]; null: all ids are one segment
  std::int64_t size = 1;
  const std::uint64_t* weights = nullptr;  // [size]; null: every segment counts once
  bool signed_weights = false;             // int64, of which none may be negative
};

// Rows of a histogram, column by column: the pair (left[k], right[k]) occurs count[k] times. Counts fall;
// equal counts are in order of (left, right).
struct PairColumns {
  std::uint32_t* left = nullptr;
  std::uint32_t* right = nullptr;
  std::uint64_t* count = nullptr;
};

}  // namespace pyharness
