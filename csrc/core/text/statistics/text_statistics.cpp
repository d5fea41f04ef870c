#include "core/text/statistics/text_statistics.hpp"

#include <atomic>
#include <bit>
#include <cstring>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"
#include "core/text/bytes64.hpp"
#include "core/text/statistics/word_automaton.hpp"
#include "core/text/utf8.hpp"
#include "core/text/word_boundary.hpp"

namespace pyharness {
namespace {

using masks::below, masks::Mask;

constexpr auto kAsciiRecords = [] {
  std::array<std::uint8_t, 128> table{};
  for (std::uint32_t byte = 0; byte < 128; ++byte) table[byte] = unicode::record_of(byte);
  return table;
}();

// Behind a settled character nothing is carried into a window but that character.
struct Before {
  Mask word, letter, digit, space;  // bit 0
};

#if defined(__SSE2__)

// ASCII text, up to 64 bytes at a time, by arithmetic on masks with one bit per byte. The rules of
// WordBoundary leave three there: letters, digits and underscores that touch are one segment, and so are
// letters with one of '.: between them, and digits with one of ',.; between them. No segment without a letter
// or digit is a word.
class AsciiWindow {
 public:
  AsciiWindow(const char* at, std::size_t room) {
    char copy[64];
    if (room < sizeof copy) {
      std::memset(copy, -1, sizeof copy);
      std::memcpy(copy, at, room);
      at = copy;
    }
    const masks::Bytes64 bytes(at);
    inside_ = below(std::countr_zero(bytes.non_ascii()));
    letter_ = bytes.between('a', 26) | bytes.between('A', 26);
    digit_ = bytes.between('0', 10);
    underscore_ = bytes.equal('_');
    space_ = bytes.equal(' ') | bytes.between('\t', 5) | bytes.between('\x1c', 4);
    between_both_ = bytes.equal('.') | bytes.equal('\'');
    between_letters_ = between_both_ | bytes.equal(':');
    between_digits_ = between_both_ | bytes.equal(',') | bytes.equal(';');
    inside_ &= below(64 - std::countl_zero(inside_ & ~(underscore_ | between_letters_ | between_digits_)));
  }

  // Bytes up to the last settled one.
  int length() const { return std::popcount(inside_); }

  void add_to(TextStatistics& counts, const Before& before) const {
    const Mask word = (letter_ | digit_ | underscore_) & inside_;
    const Mask alike = (letter_ | digit_) & inside_;
    const Mask starts = word & ~(word << 1 | before.word);
    const Mask behind_underscores = (underscore_ & inside_) + (starts & underscore_);
    const Mask begun = alike & (starts | (behind_underscores & ~underscore_));
    counts[kWords] += std::popcount(begun) - std::popcount(joined(before) & alike);
    const Mask space = space_ << 1 | before.space;
    counts[kWhitespaceWords] += std::popcount(~space_ & space & inside_);
    counts[kCharacters] += length();
    counts[kLetters] += std::popcount(alike);
  }

 private:
  // Letters and digits that are joined to one before them by what is between.
  Mask joined(const Before& before) const {
    const Mask letters = between_letters_ & (letter_ << 1 | before.letter);
    const Mask digits = between_digits_ & (digit_ << 1 | before.digit);
    return (letter_ & letters << 1) | (digit_ & digits << 1);
  }

  Mask inside_, letter_, digit_, underscore_, space_, between_both_, between_letters_, between_digits_;
};

#endif

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  TextStatistics read() {
    counts_[kBytes] = static_cast<std::int64_t>(text_.size());
    while (position_ < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[position_]);
      if (byte >= 0x80) {
        const CodePoint point = decode_utf8(text_, position_);
        step(unicode::record_of(point.value), point.length);
      } else if (!read_window()) {
        step(kAsciiRecords[byte], 1);
      }
    }
    return counts_;
  }

 private:
  void step(std::uint8_t record, std::uint32_t length) {
    const WordAutomaton::Step step = automaton_.step(row_, record);
    row_ = step.row;
    counts_[kWords] += step.words;
    counts_[kWhitespaceWords] += step.whitespace_words;
    const std::uint16_t properties = unicode::kRecords[record];
    counts_[kCharacters] += 1;
    counts_[kLetters] += (properties & unicode::kLetterLike) != 0;
    counts_[kUnsegmented] += (properties & unicode::kUnsegmented) != 0;
    position_ += length;
  }

  // Whether it has read anything.
  bool read_window() {
#if defined(__SSE2__)
    if (!automaton_.is_settled(row_) || !is_ascii_for_a_while()) return false;
    const AsciiWindow window(text_.data() + position_, text_.size() - position_);
    if (window.length() == 0) return false;
    window.add_to(counts_, before());
    position_ += static_cast<std::size_t>(window.length());
    row_ = automaton_.settled(kAsciiRecords[static_cast<unsigned char>(text_[position_ - 1])]);
    return true;
#else
    return false;
#endif
  }

  // Whether a window is worth while.
  bool is_ascii_for_a_while() const {
    std::uint64_t word = 0;
    if (text_.size() - position_ < sizeof word) return false;
    std::memcpy(&word, text_.data() + position_, sizeof word);
    return (word & 0x8080808080808080u) == 0;
  }

  Before before() const {
    const std::uint16_t properties = automaton_.settled_properties(row_);
    const bool digit = word_break(properties) == WordBreak::kNumeric;
    const bool word = (properties & unicode::kLetterOrNumber) != 0;
    return {word, word && !digit, digit, (properties & unicode::kSpace) != 0};
  }

  const WordAutomaton& automaton_ = WordAutomaton::instance();
  std::string_view text_;
  std::size_t position_ = 0;
  WordAutomaton::Row row_ = automaton_.start();
  TextStatistics counts_{};
};

}  // namespace

TextStatistics text_statistics(std::string_view text) { return Reader(text).read(); }

void text_statistics(std::span<const std::string_view> texts, std::span<TextStatistics> rows, int threads) {
  check_length(rows.size(), texts.size(), "rows");
  std::atomic<std::size_t> next{0};
  run_on_threads(threads, [&](int) {
    for (std::size_t i = next++; i < texts.size(); i = next++) rows[i] = text_statistics(texts[i]);
  });
}

}  // namespace pyharness
