#include "core/text/text_statistics.hpp"

#include <algorithm>
#include <atomic>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"
#include "core/text/segment_reader.hpp"

namespace pyharness {
namespace {

class Counter {
 public:
  void segment(std::size_t) {
    counts_[kWords] += segment_is_word_;
    segment_is_word_ = false;
  }

  void character(std::uint16_t properties) {
    segment_is_word_ |= (properties & unicode::kLetterOrNumber) != 0;
    const bool space = (properties & unicode::kSpace) != 0;
    counts_[kWhitespaceWords] += after_space_ && !space;
    after_space_ = space;
    counts_[kCharacters] += 1;
    counts_[kLetters] += (properties & unicode::kLetterLike) != 0;
    counts_[kUnsegmented] += (properties & unicode::kUnsegmented) != 0;
  }

  void word_run(std::string_view run) {
    const auto length = static_cast<std::int64_t>(run.size());
    const auto underscores = std::ranges::count(run, '_');
    counts_[kCharacters] += length;
    counts_[kLetters] += length - underscores;
    segment_is_word_ |= length > underscores;
  }

  TextStatistics counts(std::size_t bytes) {
    segment(bytes);  // the last one ends with the text
    counts_[kBytes] = static_cast<std::int64_t>(bytes);
    return counts_;
  }

 private:
  TextStatistics counts_{};
  bool segment_is_word_ = false;
  bool after_space_ = true;
};

}  // namespace

TextStatistics text_statistics(std::string_view text) {
  Counter counter;
  SegmentReader(text, counter).read();
  return counter.counts(text.size());
}

void text_statistics(std::span<const std::string_view> texts, std::span<TextStatistics> rows, int threads) {
  check_length(rows.size(), texts.size(), "rows");
  std::atomic<std::size_t> next{0};
  run_on_threads(threads, [&](int) {
    for (std::size_t i = next++; i < texts.size(); i = next++) rows[i] = text_statistics(texts[i]);
  });
}

}  // namespace pyharness
