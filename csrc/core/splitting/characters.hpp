// What the split rules see of a text: characters with their classes, and runs of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/splitting/classes.hpp"

namespace pyharness::split {

using Byte = unsigned char;

struct Character {
  std::uint8_t classes;
  std::uint8_t length;  // bytes
};

constexpr bool is_continuation(unsigned byte) { return (byte & 0xC0) == 0x80; }

// Classes of a code point from its last byte and all bits before the six in that.
constexpr std::uint8_t classes_in(std::uint32_t block, unsigned last_byte) {
  static_assert(kBlock == 64);
  return kClassesInBlock[kBlockOf[block] * kBlock + (last_byte & 0x3F)];
}

constexpr bool is_overlong_or_surrogate(std::uint32_t block) {
  return block < 0x800 / kBlock || block - 0xD800 / kBlock < 0x800 / kBlock;
}

// A code point as its block of 64 and a byte whose low six bits are the rest.
struct Decoded {
  std::uint32_t block;
  std::uint8_t last_byte;
  std::uint8_t length;  // bytes
};

constexpr Decoded replacement(std::uint8_t length) { return {0xFFFD / kBlock, 0xFFFD % kBlock, length}; }

// Invalid UTF-8 splits as if every maximal subpart of an ill-formed sequence (Unicode standard, 3.9) were one
// U+FFFD: what most decoders put in its place.
[[gnu::noinline]] inline Decoded checked_code_point(const Byte* at, const Byte* end) {
  const unsigned lead = *at;
  const std::ptrdiff_t left = end - at;
  if (lead < 0x80) return {lead / kBlock, static_cast<std::uint8_t>(lead), 1};
  if (lead < 0xC2 || lead > 0xF4 || left < 2 || !is_continuation(at[1])) return replacement(1);
  if (lead < 0xE0) return {lead & 0x1F, at[1], 2};
  const std::uint32_t block =
      (lead & 0xF) << 6 | (at[1] & 0x3Fu);  // of three bytes, or two thirds of one of four
  if (lead < 0xF0) {
    if (is_overlong_or_surrogate(block)) return replacement(1);
    if (left < 3 || !is_continuation(at[2])) return replacement(2);
    return {block, at[2], 3};
  }
  if (block < 0x10000 >> 12 || block >= 0x110000 >> 12) return replacement(1);
  if (left < 3 || !is_continuation(at[2])) return replacement(2);
  if (left < 4 || !is_continuation(at[3])) return replacement(3);
  return {block << 6 | (at[2] & 0x3Fu), at[3], 4};
}

inline Character checked_character(const Byte* at, const Byte* end) {
  const Decoded point = checked_code_point(at, end);
  return {classes_in(point.block, point.last_byte), point.length};
}

// The character at `at` < `end`. Characters of two and three bytes are checked with one comparison where four
// bytes can be read.
[[gnu::always_inline]] inline Character character_at(const Byte* at, const Byte* end) {
  static_assert(kBlockOf[0] == 0 && kBlockOf[1] == 1 && kBlockOf[0x1F] == 0x1F);
  if (*at < 0x80) return {kClassesInBlock[*at], 1};
  if (std::endian::native == std::endian::little && end - at >= 4) {
    std::uint32_t word;
    std::memcpy(&word, at, sizeof word);
    if ((word & 0xC0E0) == 0x80C0 && (word & 0x1E) != 0)
      return {kClassesInBlock[(word & 0x1F) << 6 | (word >> 8 & 0x3F)], 2};
    if ((word & 0xC0C0F0) == 0x8080E0) {
      const std::uint32_t block = (word & 0xF) << 6 | (word >> 8 & 0x3F);
      if (!is_overlong_or_surrogate(block)) return {classes_in(block, word >> 16), 3};
    }
  }
  return checked_character(at, end);
}

// The same, with nothing (no class, length 0) at the end of the text.
inline Character character_or_end(const Byte* at, const Byte* end) {
  return at < end ? character_at(at, end) : Character{0, 0};
}

// The end of the run of characters at `at` that have one of the classes, or with `kInverted` none of them.
template <std::uint8_t kClasses, bool kInverted = false>
const Byte* skip(const Byte* at, const Byte* end) {
  while (at < end) {
    const Character next = character_at(at, end);
    if (((next.classes & kClasses) != 0) == kInverted) return at;
    at += next.length;
  }
  return at;
}

// The same for `most` characters at most.
template <std::uint8_t kClasses>
const Byte* skip_at_most(int most, const Byte* at, const Byte* end) {
  for (; most > 0 && at < end; --most) {
    const Character next = character_at(at, end);
    if (!(next.classes & kClasses)) break;
    at += next.length;
  }
  return at;
}

constexpr bool is_newline(Byte byte) { return byte == '\n' || byte == '\r'; }

// The end of [\r\n]* (with `slash`, [\r\n/]*) at `at`.
inline const Byte* skip_newlines(const Byte* at, const Byte* end, bool slash = false) {
  while (at < end && (is_newline(*at) || (slash && *at == '/'))) ++at;
  return at;
}

}  // namespace pyharness::split
