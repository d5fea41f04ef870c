// Strict UTF-8 decoding (Unicode standard, table 3-7): no overlong forms, no surrogates, nothing above
// U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pyharness {

struct CodePoint {
  std::uint32_t value;
  std::uint32_t length;  // bytes
};

[[noreturn]] inline void throw_invalid_utf8(std::size_t position) {
  throw std::invalid_argument("invalid UTF-8 at byte " + std::to_string(position));
}

// The code point at `position` < text.size().
inline CodePoint decode_utf8(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return static_cast<unsigned char>(text[position + i]);
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::uint32_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - position < length) throw_invalid_utf8(position);
  std::uint32_t value = lead & (0x7Fu >> length);
  for (std::uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) throw_invalid_utf8(position);
    value = value << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kSmallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < kSmallest[length] || value > 0x10FFFF || surrogate) throw_invalid_utf8(position);
  return {value, length};
}

}  // namespace pyharness
