// What entropy asks of its arguments, on every backend: the same bounds and the same words.
#pragma once

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "shared/entropy.hpp"

namespace pyharness {

inline constexpr std::int64_t kMostColumns = kNoColumn;

// Backends compute with log2(e) / temperature, its inverse and 125 times that, in float. Within these bounds
// all of them are normal numbers, and so are their products with logits that differ by less than 1e8; at
// 1e-38, which the kernels alone could stand, the core's would be subnormal.
inline constexpr double kLeastTemperature = 1e-30;
inline constexpr double kMostTemperature = 1e30;

inline void check_temperature(double temperature) {
  if (temperature >= kLeastTemperature && temperature <= kMostTemperature) return;
  char text[32];
  std::snprintf(text, sizeof text, "%g", temperature);
  throw std::invalid_argument(std::string("temperature must be between 1e-30 and 1e30, not ") + text);
}

// Of the columns first_column..first_column + columns - 1, all must be ids.
inline void check_columns(std::int64_t first_column, std::int64_t columns) {
  if (columns >= 1 && first_column >= 0 && columns <= kMostColumns && first_column <= kMostColumns - columns)
    return;
  throw std::invalid_argument("logits must have 1 to " + std::to_string(kMostColumns) + " columns, not " +
                              std::to_string(columns) + " from column " + std::to_string(first_column) +
                              " on");
}

template <class Real>
void check_outputs(const EntropyOutputs<Real>& outputs, const Targets& targets, std::int64_t rows) {
  if (outputs.nll != nullptr && targets.data == nullptr && rows > 0)
    throw std::invalid_argument("nll needs targets");
}

inline std::invalid_argument bad_target(std::int64_t row, std::int64_t id, std::int64_t vocab_size) {
  return std::invalid_argument("targets[" + std::to_string(row) + "] = " + std::to_string(id) +
                               " is not an id of the vocabulary: 0.." + std::to_string(vocab_size - 1));
}

}  // namespace pyharness
