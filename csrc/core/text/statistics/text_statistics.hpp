// Integer facts about documents that every compression and fertility metric divides by.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace pyharness {

enum TextStatistic : std::size_t {
  kBytes,
  kCharacters,       // code points
  kWords,            // UAX #29 segments with a letter or number in them
  kWhitespaceWords,  // len(str.split())
  kLetters,          // general category L, N or M
  kUnsegmented,      // those of Thai, Lao, Khmer, Myanmar, Han, Hiragana, Katakana
  kTextStatistics
};

using TextStatistics = std::array<std::int64_t, kTextStatistics>;

// Throws std::invalid_argument when the text is not valid UTF-8.
TextStatistics text_statistics(std::string_view text);

// One row per text; the result does not depend on `threads`.
void text_statistics(std::span<const std::string_view> texts, std::span<TextStatistics> rows, int threads);

}  // namespace pyharness
