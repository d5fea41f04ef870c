// One reading of a text from left to right, with the boundaries of its UAX #29 segments.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/text/utf8.hpp"
#include "core/text/word_boundary.hpp"

namespace pyharness {

inline constexpr auto kAsciiProperties = [] {
  std::array<std::uint16_t, 256> table{};  // 0 for bytes above 0x7F: they belong to longer characters
  for (std::uint32_t byte = 0; byte < 128; ++byte) table[byte] = unicode::properties(byte);
  return table;
}();

// Letters, digits and the underscore: no boundary lies between two of them (WB5, WB8-10, WB13a-b).
inline constexpr auto kAsciiWordByte = [] {
  std::array<bool, 256> table{};
  for (std::uint32_t byte = 0; byte < 128; ++byte) {
    const WordBreak value = word_break(unicode::properties(byte));
    table[byte] = value == WordBreak::kLetter || value == WordBreak::kNumeric ||
                  value == WordBreak::kExtendNumberLetter;
  }
  return table;
}();

// Calls, of `visitor`: segment(at) where a segment starts, at byte 0 first; character(properties) for a code
// point; word_run(bytes) for word bytes of ASCII that follow one and start no segment. Throws
// std::invalid_argument when the text is not valid UTF-8.
template <class Visitor>
class SegmentReader {
 public:
  SegmentReader(std::string_view text, Visitor& visitor) : text_(text), visitor_(visitor) {}

  void read() {
    while (position_ < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[position_]);
      if (byte < 0x80) {
        step(kAsciiProperties[byte], 1);
        if (kAsciiWordByte[byte]) read_ascii_words();
      } else {
        const CodePoint point = decode_utf8(text_, position_);
        step(unicode::properties(point.value), point.length);
      }
    }
  }

 private:
  void step(std::uint16_t properties, std::uint32_t length) {
    const std::size_t next = position_ + length;
    const auto peek = [&]() -> std::uint16_t {
      return next < text_.size() ? unicode::properties(decode_utf8(text_, next).value) : std::uint16_t{0};
    };
    if (boundary_.advance(properties, peek)) visitor_.segment(position_);
    visitor_.character(properties);
    position_ = next;
  }

  // Reads on behind a word byte: further ones, and each space between two of them, which is a segment.
  void read_ascii_words() {
    const std::size_t begin = position_;
    while (true) {
      const std::size_t run = position_;
      while (is_word_byte(position_)) ++position_;
      if (position_ > run) visitor_.word_run(text_.substr(run, position_ - run));
      if (!is_word_byte(position_ + 1) || text_[position_] != ' ') break;
      for (const std::size_t both = position_ + 2; position_ < both; ++position_) {
        visitor_.segment(position_);
        visitor_.character(ascii_at(position_));
      }
    }
    if (position_ > begin) boundary_.skip_words(ascii_at(position_ - 2), ascii_at(position_ - 1));
  }

  bool is_word_byte(std::size_t position) const {
    return position < text_.size() && kAsciiWordByte[static_cast<unsigned char>(text_[position])];
  }

  std::uint16_t ascii_at(std::size_t position) const {
    return kAsciiProperties[static_cast<unsigned char>(text_[position])];
  }

  std::string_view text_;
  Visitor& visitor_;
  std::size_t position_ = 0;
  WordBoundary boundary_;
};

}  // namespace pyharness
