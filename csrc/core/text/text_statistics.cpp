#include "core/text/text_statistics.hpp"

#include <atomic>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"
#include "core/text/utf8.hpp"
#include "core/text/word_boundary.hpp"

namespace pyharness {
namespace {

constexpr auto kAsciiProperties = [] {
  std::array<std::uint16_t, 256> table{};  // 0 for bytes above 0x7F: they belong to longer characters
  for (std::uint32_t byte = 0; byte < 128; ++byte) table[byte] = unicode::properties(byte);
  return table;
}();

// Letters, digits and the underscore: no boundary lies between two of them (WB5, WB8-10, WB13a-b).
constexpr auto kAsciiWordByte = [] {
  std::array<bool, 256> table{};
  for (std::uint32_t byte = 0; byte < 128; ++byte) {
    const WordBreak value = word_break(unicode::properties(byte));
    table[byte] = value == WordBreak::kLetter || value == WordBreak::kNumeric ||
                  value == WordBreak::kExtendNumberLetter;
  }
  return table;
}();

class Counter {
 public:
  explicit Counter(std::string_view text) : text_(text) {}

  TextStatistics count() {
    while (position_ < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[position_]);
      if (byte < 0x80) {
        step(kAsciiProperties[byte], 1);
        if (kAsciiWordByte[byte]) skip_ascii_run();
      } else {
        const CodePoint point = decode_utf8(text_, position_);
        step(unicode::properties(point.value), point.length);
      }
    }
    counts_[kBytes] = static_cast<std::int64_t>(text_.size());
    counts_[kWords] += segment_is_word_;
    return counts_;
  }

 private:
  void step(std::uint16_t properties, std::uint32_t length) {
    const std::size_t next = position_ + length;
    const auto peek = [&]() -> std::uint16_t {
      return next < text_.size() ? unicode::properties(decode_utf8(text_, next).value) : std::uint16_t{0};
    };
    if (boundary_.advance(properties, peek)) {
      counts_[kWords] += segment_is_word_;
      segment_is_word_ = false;
    }
    segment_is_word_ |= (properties & unicode::kLetterOrNumber) != 0;
    const bool space = (properties & unicode::kSpace) != 0;
    counts_[kWhitespaceWords] += after_space_ && !space;
    after_space_ = space;
    counts_[kCharacters] += 1;
    counts_[kLetters] += (properties & unicode::kLetterLike) != 0;
    counts_[kUnsegmented] += (properties & unicode::kUnsegmented) != 0;
    position_ = next;
  }

  // The rest of a run of word bytes, whose first one is already counted.
  void skip_ascii_run() {
    const std::size_t begin = position_;
    std::int64_t underscores = 0;
    while (position_ < text_.size() && kAsciiWordByte[static_cast<unsigned char>(text_[position_])]) {
      underscores += text_[position_] == '_';
      ++position_;
    }
    const auto run = static_cast<std::int64_t>(position_ - begin);
    if (run == 0) return;
    counts_[kCharacters] += run;
    counts_[kLetters] += run - underscores;
    segment_is_word_ |= run > underscores;
    boundary_.skip_word_run(ascii_at(position_ - 2), ascii_at(position_ - 1));
  }

  std::uint16_t ascii_at(std::size_t position) const {
    return kAsciiProperties[static_cast<unsigned char>(text_[position])];
  }

  std::string_view text_;
  std::size_t position_ = 0;
  TextStatistics counts_{};
  WordBoundary boundary_;
  bool segment_is_word_ = false;
  bool after_space_ = true;
};

}  // namespace

TextStatistics text_statistics(std::string_view text) { return Counter(text).count(); }

void text_statistics(std::span<const std::string_view> texts, std::span<TextStatistics> rows, int threads) {
  check_length(rows.size(), texts.size(), "rows");
  std::atomic<std::size_t> next{0};
  run_on_threads(threads, [&](int) {
    for (std::size_t i = next++; i < texts.size(); i = next++) rows[i] = text_statistics(texts[i]);
  });
}

}  // namespace pyharness
