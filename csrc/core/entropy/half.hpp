// The two floats of 16 bits: IEEE binary16 and bfloat16 (the upper half of a float).
#pragma once

#include <cstdint>
#include <cstring>

namespace pyharness {

struct Half {
  std::uint16_t bits;
};

struct Bfloat {
  std::uint16_t bits;
};

inline float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline float to_float(float value) { return value; }

inline float to_float(Bfloat value) { return float_of_bits(static_cast<std::uint32_t>(value.bits) << 16); }

inline float to_float(Half value) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7FFF) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000) << 16;
  if (magnitude >= 0x7C00U << 13) return float_of_bits(sign | 0x7F800000U | (magnitude & 0x7FFFFFU));
  const float finite = float_of_bits(magnitude) * 0x1p112F;  // by product: right for subnormals too
  return sign == 0 ? finite : -finite;
}

}  // namespace pyharness
