// What is said of offsets and weights that do not fit: the same words on every backend.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace pyharness {

inline std::invalid_argument offsets_start_late(const std::string& name) {
  return std::invalid_argument(name + " must start at 0");
}

inline std::invalid_argument offsets_fall(const std::string& name, std::int64_t index, std::int64_t value,
                                          std::int64_t before) {
  return std::invalid_argument(name + " must not fall: " + name + "[" + std::to_string(index) +
                               "] = " + std::to_string(value) + " after " + std::to_string(before));
}

inline std::invalid_argument offsets_end_elsewhere(const std::string& name, std::int64_t total,
                                                   std::int64_t end) {
  return std::invalid_argument(name + " must end at " + std::to_string(total) +
                               ", the number of items, not at " + std::to_string(end));
}

inline std::invalid_argument negative_weight(std::int64_t index, std::int64_t value) {
  return std::invalid_argument("weights must not be negative: weights[" + std::to_string(index) +
                               "] = " + std::to_string(value));
}

}  // namespace pyharness
