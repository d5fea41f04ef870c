// Single values of logits and targets of any type.
#pragma once

#include <cstdint>

#include "core/entropy/half.hpp"
#include "shared/entropy.hpp"

namespace pyharness {

inline const void* logit_at(const Logits& logits, std::int64_t row, std::int64_t column) {
  const std::int64_t bytes = logits.type == LogitType::kFloat32 ? 4 : 2;
  return static_cast<const char*>(logits.data) + (row * logits.row_stride + column) * bytes;
}

inline float logit_value(const Logits& logits, std::int64_t row, std::int64_t column) {
  const void* const item = logit_at(logits, row, column);
  if (logits.type == LogitType::kFloat32) return *static_cast<const float*>(item);
  return logits.type == LogitType::kFloat16 ? to_float(*static_cast<const Half*>(item))
                                            : to_float(*static_cast<const Bfloat*>(item));
}

inline std::int64_t target_of(const Targets& targets, std::int64_t row) {
  return targets.wide ? static_cast<const std::int64_t*>(targets.data)[row]
                      : static_cast<const std::int32_t*>(targets.data)[row];
}

}  // namespace pyharness
