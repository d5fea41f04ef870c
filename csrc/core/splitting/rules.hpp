// The split patterns as hand-written matchers. A rule set tells where the piece that starts at `at` ends; no
// pattern looks back, so that depends on the text from `at` on only.
// pyharness/vocabularies/patterns/split_patterns.py has the regular expressions and their sources.
//
// In the comments: L, N, M, P, S are general categories, s is White_Space, O is [^sLN].
#pragma once

#include <cstdint>

#include "core/splitting/characters.hpp"

namespace pyharness::split {

enum class Case : std::uint8_t { kExact, kFolded };

// The end of 's 't 're 've 'm 'll 'd at `at`, or `at`. Folding is Unicode's: U+017F is an s.
template <Case kCase>
const Byte* contraction_end(const Byte* at, const Byte* end) {
  if (end - at < 2 || *at != '\'') return at;
  constexpr unsigned kFold = kCase == Case::kFolded ? 0x20 : 0;
  const unsigned first = at[1] | kFold;
  if (first == 's' || first == 'd' || first == 'm' || first == 't') return at + 2;
  if (end - at < 3) return at;
  const unsigned second = at[2] | kFold;
  if (first == 'l' && second == 'l') return at + 3;
  if ((first == 'v' || first == 'r') && second == 'e') return at + 3;
  const bool long_s = kCase == Case::kFolded && at[1] == 0xC5 && at[2] == 0xBF;
  return long_s ? at + 3 : at;
}

enum class Space : std::uint8_t {
  kAnyKind,                // \s+(?!\S)|\s+
  kNewlinesFirst,          // \s*[\r\n]+|\s+(?!\S)|\s+
  kEndOfTextThenNewlines,  // \s+$|\s*[\r\n]+|\s+(?!\S)|\s+
};

// At white space: up to the last newline of the run if the pattern asks for it, or else all of the run but
// its last character when something follows and there are two.
template <Space kSpaces>
const Byte* space_end(const Byte* at, const Byte* end) {
  const Byte* last = at;
  const Byte* after_newline = nullptr;
  const Byte* p = at;
  while (p < end) {
    const Character next = character_at(p, end);
    if (!(next.classes & kSpace)) break;
    last = p;
    p += next.length;
    if (is_newline(*last)) after_newline = p;
  }
  const bool whole = kSpaces == Space::kEndOfTextThenNewlines && p == end;
  if (kSpaces != Space::kAnyKind && after_newline && !whole) return after_newline;
  return p == end || last == at ? p : last;
}

inline constexpr std::uint8_t kNotOther = kSpace | kLetter | kNumber;

// contraction| ?L+| ?N+| ?O+|\s+(?!\S)|\s+, or with kSingleDigits N in the place of ` ?N+`.
template <bool kSingleDigits>
struct Gpt2Rules {
  static const Byte* piece_end(const Byte* at, const Byte* end) {
    if (const Byte* contracted = contraction_end<Case::kExact>(at, end); contracted != at) return contracted;
    const Byte* p = *at == ' ' && at + 1 < end ? at + 1 : at;
    const Character first = character_at(p, end);
    if (first.classes & kLetter) return skip<kLetter>(p + first.length, end);
    if (first.classes & kNumber) {
      if (!kSingleDigits) return skip<kNumber>(p + first.length, end);
      return p == at ? p + first.length : p;
    }
    if (!(first.classes & kSpace)) return skip<kNotOther, true>(p + first.length, end);
    return space_end<Space::kAnyKind>(at, end);
  }
};

// contraction|[^\r\nLN]?L+|N{1,kDigits}| ?O+[\r\n]*|white space
template <int kDigits, Space kSpaces>
struct Cl100kRules {
  static const Byte* piece_end(const Byte* at, const Byte* end) {
    const Character first = character_at(at, end);
    const Byte* p = at + first.length;
    if (first.classes & kLetter) return skip<kLetter>(p, end);
    if (first.classes & kNumber) return skip_at_most<kNumber>(kDigits - 1, p, end);
    if (const Byte* contracted = contraction_end<Case::kFolded>(at, end); contracted != at) return contracted;
    const Character second = character_or_end(p, end);
    if ((second.classes & kLetter) && !is_newline(*at)) return skip<kLetter>(p + second.length, end);
    if (!(first.classes & kSpace)) return skip_newlines(skip<kNotOther, true>(p, end), end);
    if (*at == ' ' && second.length != 0 && !(second.classes & kNotOther))
      return skip_newlines(skip<kNotOther, true>(p + second.length, end), end);
    return space_end<kSpaces>(at, end);
  }
};

// [^\r\nLN]?U*W+contraction?|[^\r\nLN]?U+W*contraction?|N{1,kDigits}| ?O+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
// where U is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}M] and W is [\p{Ll}\p{Lm}\p{Lo}M].
template <int kDigits, bool kContractions>
struct O200kRules {
  static constexpr std::uint8_t kU = kUpper | kCaseless | kMark;
  static constexpr std::uint8_t kW = kLower | kCaseless | kMark;

  struct Word {
    const Byte* end;
    bool has_w;  // U*W+ matched; otherwise U+, or nothing
  };

  // U* gives back what W+ needs: all that comes after its last member of W.
  static Word word(const Byte* at, const Byte* end) {
    const Byte* after_both = nullptr;
    while (at < end) {
      const Character next = character_at(at, end);
      if (!(next.classes & kU)) break;
      at += next.length;
      if (next.classes & kW) after_both = at;
    }
    const Byte* after_w = skip<kW>(at, end);
    if (after_w != at) return {after_w, true};
    if (after_both) return {after_both, true};
    return {at, false};
  }

  static const Byte* with_contraction(const Byte* at, const Byte* end) {
    return kContractions ? contraction_end<Case::kFolded>(at, end) : at;
  }

  static const Byte* piece_end(const Byte* at, const Byte* end) {
    const Character first = character_at(at, end);
    const Byte* p = at + first.length;
    if (first.classes & kLetter) return with_contraction(word(at, end).end, end);
    if (first.classes & kNumber) return skip_at_most<kNumber>(kDigits - 1, p, end);
    if (!is_newline(*at)) {
      const Word letters = word(p, end);
      // A mark may be the character before the word or belong to it; alone it is a word with W.
      if (first.classes & kMark) return with_contraction(letters.has_w ? letters.end : p, end);
      if (letters.end != p) return with_contraction(letters.end, end);
    }
    if (!(first.classes & kSpace)) return skip_newlines(skip<kNotOther, true>(p, end), end, true);
    const Character second = character_or_end(p, end);
    if (*at == ' ' && second.length != 0 && !(second.classes & kNotOther))
      return skip_newlines(skip<kNotOther, true>(p + second.length, end), end, true);
    return space_end<Space::kNewlinesFirst>(at, end);
  }
};

// Three splits in turn: N{1,3}; runs of the kCjk range; and inside what they leave
// [ASCII P or S][A-Za-z]+|[^\r\nLPS]?[LM]+| ?[PS]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// with the text between matches as pieces of its own. A segment ends where an earlier split cuts, and for the
// third split that is the end of the text.
class DeepseekV3Rules {
 public:
  const Byte* piece_end(const Byte* at, const Byte* end) {
    const Character first = character_at(at, end);
    if (first.classes & kNumber) return skip_at_most<kNumber>(2, at + first.length, end);
    if (at >= segment_end_) segment_end_ = skip_segment(at, end, first.classes & kCjk);
    return matched_end(at, first, segment_end_);
  }

 private:
  static constexpr std::uint8_t kWord = kLetter | kMark;
  static constexpr std::uint8_t kMatched = kWord | kSpace | kSymbol;

  static const Byte* skip_segment(const Byte* at, const Byte* end, unsigned cjk) {
    while (at < end) {
      const Character next = character_at(at, end);
      if ((next.classes & kNumber) || (next.classes & kCjk) != cjk) break;
      at += next.length;
    }
    return at;
  }

  static const Byte* matched_end(const Byte* at, Character first, const Byte* end) {
    const Byte* p = at + first.length;
    if (first.classes & kWord) return skip<kWord>(p, end);
    if ((first.classes & kSymbol) && *at < 0x80 && p < end && is_ascii_letter(*p)) {
      while (p < end && is_ascii_letter(*p)) ++p;
      return p;
    }
    const Character second = character_or_end(p, end);
    if ((second.classes & kWord) && !(first.classes & kSymbol) && !is_newline(*at))
      return skip<kWord>(p + second.length, end);
    if (first.classes & kSymbol) return skip_newlines(skip<kSymbol>(p, end), end);
    if (*at == ' ' && (second.classes & kSymbol))
      return skip_newlines(skip<kSymbol>(p + second.length, end), end);
    return first.classes & kSpace ? space_end<Space::kNewlinesFirst>(at, end) : unmatched_end(p, end);
  }

  // Control, format and unassigned characters up to the next match, which may start with the last of them.
  static const Byte* unmatched_end(const Byte* at, const Byte* end) {
    while (at < end) {
      const Character next = character_at(at, end);
      if ((next.classes & kMatched) || (character_or_end(at + next.length, end).classes & kWord)) break;
      at += next.length;
    }
    return at;
  }

  static constexpr bool is_ascii_letter(Byte byte) { return ((byte | 0x20u) - 'a') < 26u; }

  const Byte* segment_end_ = nullptr;  // kept between pieces: finding it anew would take quadratic time
};

// Llama 3's rules with N{1,3}(?=(?:N{3})*(?!N)) in the place of N{1,3}: groups of three, counted from the
// right.
class RightToLeftRules {
 public:
  const Byte* piece_end(const Byte* at, const Byte* end) {
    const Character first = character_at(at, end);
    if (!(first.classes & kNumber)) return Others::piece_end(at, end);
    if (at >= digits_end_) {
      std::ptrdiff_t digits = 0;
      for (digits_end_ = at; digits_end_ < end; ++digits) {
        const Character next = character_at(digits_end_, end);
        if (!(next.classes & kNumber)) break;
        digits_end_ += next.length;
      }
      return skip_at_most<kNumber>(static_cast<int>((digits - 1) % 3), at + first.length, end);
    }
    return skip_at_most<kNumber>(2, at + first.length, end);
  }

 private:
  using Others = Cl100kRules<3, Space::kNewlinesFirst>;

  const Byte* digits_end_ = nullptr;  // kept between pieces: counting digits anew would take quadratic time
};

// ` ?\S+|\s+(?!\S)|\s+`
struct WhitespaceRules {
  static const Byte* piece_end(const Byte* at, const Byte* end) {
    const Byte* p = at + (*at == ' ');
    const Byte* after = skip<kSpace, true>(p, end);
    return after != p ? after : space_end<Space::kAnyKind>(at, end);
  }
};

struct NoRules {
  static const Byte* piece_end(const Byte*, const Byte* end) { return end; }
};

}  // namespace pyharness::split
