// ASCII text, up to 64 bytes at a time, by arithmetic on masks with one bit per byte: one body, several
// instruction sets. Each source that includes it is compiled for its own.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

#include "core/text/bytes64.hpp"
#include "core/text/statistics/ascii_run.hpp"

#if defined(__SSE2__)

namespace pyharness {
namespace {

using masks::below, masks::Mask;

// The rules of WordBoundary leave three in ASCII: letters, digits and underscores that touch are one segment,
// and so are letters with one of '.: between them, and digits with one of ',.; between them. No segment
// without a letter or digit is a word.
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
  std::size_t length() const { return static_cast<std::size_t>(std::popcount(inside_)); }

  // What stands before the next window; there are bytes in this one.
  AsciiBefore last() const {
    const auto at = length() - 1;
    return {letter_ >> at & 1, digit_ >> at & 1, space_ >> at & 1};
  }

  void add_to(TextStatistics& counts, const AsciiBefore& before) const {
    const Mask word = (letter_ | digit_ | underscore_) & inside_;
    const Mask alike = (letter_ | digit_) & inside_;
    const Mask starts = word & ~(word << 1 | before.letter | before.digit);
    const Mask behind_underscores = (underscore_ & inside_) + (starts & underscore_);
    const Mask begun = alike & (starts | (behind_underscores & ~underscore_));
    counts[kWords] += std::popcount(begun) - std::popcount(joined(before) & alike);
    const Mask space = space_ << 1 | before.space;
    counts[kWhitespaceWords] += std::popcount(~space_ & space & inside_);
    counts[kCharacters] += static_cast<std::int64_t>(length());
    counts[kLetters] += std::popcount(alike);
  }

 private:
  // Letters and digits that are joined to one before them by what is between.
  Mask joined(const AsciiBefore& before) const {
    const Mask letters = between_letters_ & (letter_ << 1 | before.letter);
    const Mask digits = between_digits_ & (digit_ << 1 | before.digit);
    return (letter_ & letters << 1) | (digit_ & digits << 1);
  }

  Mask inside_, letter_, digit_, underscore_, space_, between_both_, between_letters_, between_digits_;
};

inline std::size_t ascii_run(const char* at, std::size_t room, AsciiBefore before, TextStatistics& counts) {
  std::size_t read = 0;
  while (read < room) {
    const AsciiWindow window(at + read, room - read);
    if (window.length() == 0) break;
    window.add_to(counts, before);
    before = window.last();
    read += window.length();
  }
  return read;
}

}  // namespace
}  // namespace pyharness

#endif
