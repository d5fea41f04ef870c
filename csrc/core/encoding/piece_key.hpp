// Pieces as two machine words: compared and hashed without a loop.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pyharness {

// Of a short piece the bytes, then zeros, and in the last byte but four bits the length; of a longer one a
// hash that is never the key of a short one. The four top bits are 0: room for flags of a table.
struct PieceKey {
  static constexpr std::size_t kBytes = 2 * sizeof(std::uint64_t);
  static constexpr std::size_t kLongest = kBytes - 1;  // of the short pieces

  std::array<std::uint64_t, 2> words;

  // Multiplicative, so the top bits are the good ones. Texts made so that their keys collide are slow
  // (probes are bounded), never wrong.
  std::uint64_t hash() const { return words[0] * 0x9E3779B97F4A7C15u + words[1] * 0xC2B2AE3D27D4EB4Fu; }

  bool empty() const { return words[1] == 0; }
  bool is_short() const { return words[1] >> 56 != 0; }
};

namespace piece_key {

inline std::uint64_t word_at(const char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;  // the first byte lowest
}

// Masks of two words that keep the first `length` of 15 bytes.
struct Masks {
  std::uint64_t low, high;
};
inline constexpr auto kMasks = [] {
  constexpr auto kBelow = [](unsigned bytes) { return (std::uint64_t{1} << (8 * bytes)) - 1; };
  std::array<Masks, 16> masks{};
  for (unsigned length = 0; length < 16; ++length)
    masks[length] = {length < 8 ? kBelow(length) : ~std::uint64_t{0}, length < 8 ? 0 : kBelow(length - 8)};
  return masks;
}();

}  // namespace piece_key

// The key of 1 to 15 bytes. `readable`: 16 bytes can be read at `bytes`.
[[gnu::always_inline]] inline PieceKey short_key(const char* bytes, std::size_t length, bool readable) {
  char copy[16] = {};
  if (!readable) [[unlikely]] {
    std::memcpy(copy, bytes, length);
    bytes = copy;
  }
  const auto& masks = piece_key::kMasks[length];
  return {{piece_key::word_at(bytes) & masks.low,
           (piece_key::word_at(bytes + 8) & masks.high) | std::uint64_t{length} << 56}};
}

// The key of 16 bytes or more: other pieces may have the same one.
inline PieceKey long_key(std::string_view piece) {
  std::uint64_t low = piece.size(), high = ~low;
  const auto mix = [&](const char* bytes) {
    low = (low ^ piece_key::word_at(bytes)) * 0xD6E8FEB86659FD93u;
    high = (high ^ piece_key::word_at(bytes + 8)) * 0x9FB21C651E98DF25u;
    low ^= high >> 32;
    high ^= low >> 29;
  };
  const char* const last = piece.data() + piece.size() - PieceKey::kBytes;
  for (const char* at = piece.data(); at < last; at += PieceKey::kBytes) mix(at);
  mix(last);
  constexpr std::uint64_t kLong = std::uint64_t{1} << 55;  // so that the last word is neither 0 nor 1
  return {{low, high >> 9 | kLong}};
}

}  // namespace pyharness
