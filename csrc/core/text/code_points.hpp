// Code points -> number, for alphabets: a table of blocks, most of which are one empty block.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace pyharness {

class CodePointTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  // Code points, and behind them one value for each byte that is no part of a character.
  static constexpr std::uint32_t kStrayBytes = 0x110000;

  CodePointTable() : block_of_((kStrayBytes + 256) / kBlock), numbers_(kBlock, kNone) {}

  void set(std::uint32_t point, std::uint32_t number) {
    std::uint16_t& block = block_of_[point / kBlock];
    if (block == 0) {
      block = static_cast<std::uint16_t>(numbers_.size() / kBlock);
      numbers_.resize(numbers_.size() + kBlock, kNone);
    }
    numbers_[std::size_t{block} * kBlock + point % kBlock] = number;
  }

  std::uint32_t operator[](std::uint32_t point) const {
    return numbers_[std::size_t{block_of_[point / kBlock]} * kBlock + point % kBlock];
  }

 private:
  static constexpr std::uint32_t kBlock = 256;
  std::vector<std::uint16_t> block_of_;
  std::vector<std::uint32_t> numbers_;
};

struct CodePointOrByte {
  std::uint32_t point;
  std::uint32_t length;  // bytes
};

// The character at `at`, or the byte there where it is no part of one (Unicode standard, table 3-7).
inline CodePointOrByte code_point_or_byte(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(text[at + i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const CodePointOrByte stray{CodePointTable::kStrayBytes + lead, 1};
  const std::uint32_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < length) return stray;
  std::uint32_t value = lead & (0x7Fu >> length);
  for (std::uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return stray;
    value = value << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kSmallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return stray;
  return {value, length};
}

}  // namespace pyharness
