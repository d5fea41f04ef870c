// Piece starts in ASCII text, up to 64 bytes at a time, by arithmetic on masks with one bit per byte.
//
// A window starts at a piece start, so nothing is carried into it. What the window cannot decide is left for
// the next one: pieces after its last start, and white space at its end. Where it decides nothing (a long
// piece, other characters than ASCII, the end of the text) the rules of rules.hpp find one
// piece. For adding up: a carry runs through a run of ones and comes out as the first bit after it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/splitting/rules.hpp"
#include "core/text/bytes64.hpp"

namespace pyharness::split {

using masks::below, masks::Mask;

struct Window {
  const Byte* at;
  const Byte* end;  // of the text
  Mask inside;  // the characters that are looked at: ASCII, up to the first other one or the end of the text
  Mask lower, upper, number, space, newline, blank, apostrophe, slash;

  Mask letter() const { return lower | upper; }
  Mask other() const { return inside & ~(lower | upper | number | space); }
};

constexpr Mask run_starts(Mask runs) { return runs & ~(runs << 1); }
constexpr Mask after_runs(Mask runs) { return (runs + run_starts(runs)) & ~runs; }
constexpr Mask highest_below(Mask mask, Mask bit) { return std::bit_floor(mask & (bit - 1)); }

#if defined(__SSE2__)

using masks::Bytes64;

template <bool kControls>
Window window_at(const Byte* at, const Byte* end) {
  Byte copy[64] = {};
  const bool whole = end - at >= 64;
  if (!whole) std::memcpy(copy, at, static_cast<std::size_t>(end - at));
  const Bytes64 bytes(whole ? at : copy);
  Window window{};
  window.at = at;
  window.end = end;
  window.inside =
      below(std::countr_zero(bytes.non_ascii())) & (whole ? ~Mask{0} : below(static_cast<int>(end - at)));
  if constexpr (!kControls) {
    const Mask controls =
        bytes.between(0, '\t') | bytes.between('\r' + 1, ' ' - '\r' - 1) | bytes.equal(0x7F);
    window.inside &= below(std::countr_zero(controls));
  }
  const Mask inside = window.inside;
  window.lower = bytes.between('a', 26) & inside;
  window.upper = bytes.between('A', 26) & inside;
  window.number = bytes.between('0', 10) & inside;
  window.blank = bytes.equal(' ') & inside;
  window.space = window.blank | (bytes.between('\t', 5) & inside);
  window.newline = (bytes.equal('\n') | bytes.equal('\r')) & inside;
  window.apostrophe = bytes.equal('\'') & inside;
  window.slash = bytes.equal('/') & inside;
  return window;
}

// Starts in white space: of each run, and of its last character when something follows.
inline Mask space_starts(Mask space) { return run_starts(space) | after_runs(space) >> 1; }

// The same where a piece goes up to the last newline of a run: what comes after that is split as above.
// Characters of `closing` count as the end of the text.
inline Mask space_starts_after_newlines(Mask space, Mask newline, Mask closing) {
  const Mask rest = space & ~newline;
  const Mask after_rest = after_runs(rest);
  Mask after_newline = run_starts(rest) & (newline << 1);
  if (after_newline) {
    for (Mask left = after_rest & newline; left; left &= left - 1)  // not after the last newline yet
      after_newline &= ~highest_below(run_starts(rest), left & -left);
  }
  return run_starts(space) | (after_rest & ~(newline | closing)) >> 1 | after_newline;
}

// Starts in runs of digits: every kDigits-th, which is one or three.
template <int kDigits>
Mask digit_starts(Mask number) {
  static_assert(kDigits == 1 || kDigits == 3);
  if (kDigits == 1) return number;
  Mask starts = run_starts(number);
  const Mask fourth = number & number << 1 & number << 2 & number << 3;
  for (Mask next = starts << 3 & fourth; next; next = next << 3 & fourth) starts |= next;
  return starts;
}

// The characters of `tail` that follow a run of other characters, beginning with a newline.
inline Mask tail_after(Mask other, Mask newline, Mask tail) {
  Mask starts = newline & (other << 1);
  for (Mask next = starts; next; starts |= next) next = next << 1 & tail & ~starts;
  return starts;
}

// Bit `at`, none if that is outside the window.
constexpr Mask bit(int at) { return below(at + 1) & ~below(at); }

inline int contraction_length(Case fold, const Window& window, int at) {
  const Byte* from = window.at + at;
  const Byte* to = fold == Case::kExact ? contraction_end<Case::kExact>(from, window.end)
                                        : contraction_end<Case::kFolded>(from, window.end);
  return static_cast<int>(to - from);
}

// Makes each contraction at one of `apostrophes`, which are starts, a piece.
inline Mask with_contractions(Mask starts, const Window& window, Mask apostrophes, Case fold) {
  for (; apostrophes; apostrophes &= apostrophes - 1) {
    const int at = std::countr_zero(apostrophes);
    const int length = contraction_length(fold, window, at);
    if (length != 0) starts = (starts & ~(below(at + length) & ~below(at + 1))) | bit(at + length);
  }
  return starts;
}

// Makes each contraction at one of `apostrophes`, which come after letters, the end of the piece before it. A
// word has one: in x's's the second apostrophe starts a piece.
inline Mask with_contracted_words(Mask starts, const Window& window, Mask apostrophes) {
  int previous_end = -1;
  for (; apostrophes; apostrophes &= apostrophes - 1) {
    const int at = std::countr_zero(apostrophes);
    const int length = contraction_length(Case::kFolded, window, at);
    if (length == 0 || at == previous_end) continue;
    previous_end = at + length;
    starts = (starts & ~(below(previous_end) & ~below(at))) | bit(previous_end);
  }
  return starts;
}

struct Starts {
  Mask all;
  Mask other;  // those of runs of other characters without a space before them
};

// What cl100k and its descendants share: [^\r\nLN]?L+|N{1,kDigits}| ?O+tail|white space, newlines first.
template <int kDigits>
Starts shared_starts(const Window& w, Mask tail_class, Mask closing = 0) {
  const Mask tail = tail_after(w.other(), w.newline, tail_class);
  const Mask space = w.space & ~tail;
  const Mask other = run_starts(w.other() & ~tail) & ~(w.blank << 1);
  const Mask before_word = (space & ~w.newline) | other;
  const Mask words = run_starts(w.letter()) & ~(before_word << 1);
  const Mask white = space_starts_after_newlines(space, w.newline & ~tail, closing);
  return {words | other | digit_starts<kDigits>(w.number) | white, other};
}

template <bool kSingleDigits>
Mask window_starts(const Gpt2Rules<kSingleDigits>&, const Window& w) {
  const Mask runs =
      run_starts(w.letter()) | run_starts(w.other()) | (kSingleDigits ? 0 : run_starts(w.number));
  const Mask with_blank = runs & ~(w.blank << 1);
  const Mask starts = with_blank | (kSingleDigits ? w.number : 0) | space_starts(w.space);
  return with_contractions(starts, w, w.apostrophe & with_blank & w.letter() >> 1, Case::kExact);
}

template <int kDigits, Space kSpaces>
Mask window_starts(const Cl100kRules<kDigits, kSpaces>&, const Window& w) {
  const Starts starts = shared_starts<kDigits>(w, w.newline);
  return with_contractions(starts.all, w, w.apostrophe & starts.other & w.letter() >> 1, Case::kFolded);
}

template <int kDigits, bool kContractions>
Mask window_starts(const O200kRules<kDigits, kContractions>&, const Window& w) {
  const Mask starts = shared_starts<kDigits>(w, w.newline | w.slash).all | (w.upper & w.lower << 1);
  return kContractions ? with_contracted_words(starts, w, w.apostrophe & w.letter() << 1) : starts;
}

inline Mask window_starts(const DeepseekV3Rules&, const Window& w) {
  return shared_starts<3>(w, w.newline, w.number).all;  // digits end a segment
}

inline Mask window_starts(const WhitespaceRules&, const Window& w) {
  return (run_starts(w.inside & ~w.space) & ~(w.blank << 1)) | space_starts(w.space);
}

template <class Rules>
concept HasWindow = requires(const Rules& rules, const Window& window) { window_starts(rules, window); };

// The piece starts after `at` that the text at `at` decides.
template <HasWindow Rules>
Mask decided_starts(const Rules& rules, const Byte* at, const Byte* end) {
  // For DeepSeek, control characters are neither letters nor symbols: rare, and left to its rules.
  const Window window = window_at<!std::is_same_v<Rules, DeepseekV3Rules>>(at, end);
  // White space at the end of the window may go on: only its start is known.
  const int undecided = 64 - std::countl_zero(window.inside & ~window.space);
  return window_starts(rules, window) & window.inside & below(undecided + 1) & ~Mask{1};
}

#else

template <class Rules>
concept HasWindow = false;

#endif

// Whether a window is worth while: in other scripts it would decide nothing.
inline bool is_ascii_for_a_while(const Byte* at, const Byte* end) {
  std::uint64_t word = ~std::uint64_t{0};
  if (end - at < static_cast<std::ptrdiff_t>(sizeof word)) return false;
  std::memcpy(&word, at, sizeof word);
  return (word & 0x8080808080808080u) == 0;
}

}  // namespace pyharness::split
