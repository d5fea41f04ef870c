// Words and white-space words of a text, one table step per code point: the rules of WordBoundary, asked
// once.
//
// A rule that looks at the next code point is answered one code point later: the state holds the one that
// waits. A word is counted at its first letter or number. None waits at the end of a text: what waits is
// between letters.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/text/unicode_tables.hpp"

namespace pyharness {

class WordAutomaton {
 public:
  using Row = std::uint32_t;  // a state: where its steps begin

  // Made at the first call, in about a millisecond.
  static const WordAutomaton& instance();

  struct Step {
    Row row;
    std::uint32_t words;
    std::uint32_t whitespace_words;
  };

  Step step(Row row, std::uint8_t record) const {
    const std::uint32_t entry = steps_[row + record];
    return {entry >> 2, entry & 1, entry >> 1 & 1};
  }

  Row start() const { return 0; }

  // The state behind an ASCII character that no ASCII text before it changes, else kNone.
  static constexpr Row kNone = 0xFFFFFFFFu;
  Row settled(std::uint8_t record) const { return settled_[record]; }
  bool is_settled(Row row) const { return character_of_[row / kWidth] != kNobody; }
  // Properties of an ASCII character that leaves this settled state.
  std::uint16_t settled_properties(Row row) const { return unicode::kRecords[character_of_[row / kWidth]]; }

  std::size_t states() const { return steps_.size() / kWidth; }

 private:
  static constexpr std::uint8_t kNobody = 0xFF;
  static constexpr Row kWidth = 64;  // a power of two, not below the number of records
  static_assert(unicode::kRecords.size() <= kWidth);

  WordAutomaton();
  void find_settled();

  std::vector<std::uint32_t> steps_;        // next row << 2 | white-space word << 1 | word
  std::vector<std::uint8_t> character_of_;  // its record, by state
  std::array<Row, unicode::kRecords.size()> settled_{};
};

}  // namespace pyharness
