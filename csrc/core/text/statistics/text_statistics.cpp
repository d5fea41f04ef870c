#include "core/text/statistics/text_statistics.hpp"

#include <atomic>
#include <cstring>

#include "core/machine/checks.hpp"
#include "core/machine/instruction_set.hpp"
#include "core/machine/parallel.hpp"
#include "core/text/statistics/ascii_words.hpp"
#include "core/text/statistics/word_automaton.hpp"
#include "core/text/utf8.hpp"
#include "core/text/word_boundary.hpp"

namespace pyharness {
namespace {

constexpr auto kAsciiRecords = [] {
  std::array<std::uint8_t, 128> table{};
  for (std::uint32_t byte = 0; byte < 128; ++byte) table[byte] = unicode::record_of(byte);
  return table;
}();

// Null where the machine has no masks.
AsciiRun chosen_ascii_run() {
#if defined(__x86_64__)
  if (chosen_instruction_set() != InstructionSet::kPortable) return ascii_run_avx2;
#endif
#if defined(__SSE2__)
  return ascii_run;
#else
  return nullptr;
#endif
}

class Reader {
 public:
  Reader(std::string_view text, AsciiRun ascii_run) : text_(text), ascii_run_(ascii_run) {}

  TextStatistics read() {
    counts_[kBytes] = static_cast<std::int64_t>(text_.size());
    while (position_ < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[position_]);
      if (byte >= 0x80) {
        const CodePoint point = decode_utf8(text_, position_);
        step(unicode::record_of(point.value), point.length);
      } else if (!read_ascii()) {
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
  bool read_ascii() {
    if (ascii_run_ == nullptr || !automaton_.is_settled(row_) || !is_ascii_for_a_while()) return false;
    const std::size_t read =
        ascii_run_(text_.data() + position_, text_.size() - position_, before(), counts_);
    if (read == 0) return false;
    position_ += read;
    row_ = automaton_.settled(kAsciiRecords[static_cast<unsigned char>(text_[position_ - 1])]);
    return true;
  }

  // Whether a window is worth while.
  bool is_ascii_for_a_while() const {
    std::uint64_t word = 0;
    if (text_.size() - position_ < sizeof word) return false;
    std::memcpy(&word, text_.data() + position_, sizeof word);
    return (word & 0x8080808080808080u) == 0;
  }

  // Behind a settled character nothing is carried on but that character.
  AsciiBefore before() const {
    const std::uint16_t properties = automaton_.settled_properties(row_);
    const bool digit = word_break(properties) == WordBreak::kNumeric;
    const bool letter = (properties & unicode::kLetterOrNumber) != 0 && !digit;
    return {letter, digit, (properties & unicode::kSpace) != 0};
  }

  const WordAutomaton& automaton_ = WordAutomaton::instance();
  std::string_view text_;
  AsciiRun ascii_run_;
  std::size_t position_ = 0;
  WordAutomaton::Row row_ = automaton_.start();
  TextStatistics counts_{};
};

}  // namespace

TextStatistics text_statistics(std::string_view text) { return Reader(text, chosen_ascii_run()).read(); }

void text_statistics(std::span<const std::string_view> texts, std::span<TextStatistics> rows, int threads) {
  check_length(rows.size(), texts.size(), "rows");
  const AsciiRun ascii_run = chosen_ascii_run();
  std::atomic<std::size_t> next{0};
  run_on_threads(threads, [&](int) {
    for (std::size_t i = next++; i < texts.size(); i = next++) rows[i] = Reader(texts[i], ascii_run).read();
  });
}

}  // namespace pyharness
