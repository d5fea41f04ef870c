// Splitting of texts into the pieces that BPE never merges across, as the regular expressions of published
// tokenizers do it. See rules.hpp for the rules, invalid UTF-8 among them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/splitting/compiled_splitter.hpp"
#include "core/splitting/window.hpp"
#include "core/text/unit_ends.hpp"

namespace pyharness {

enum class SplitPattern : std::uint8_t {
  kNone,  // one piece
  kWhitespace,
  kGpt2,
  kSingleDigits,
  kCl100k,
  kLlama3,  // as kCl100k but for newlines in the white space that ends a text
  kQwen2,
  kO200k,
  kTekken,
  kDeepseekV3,
  kDigitsRightToLeft,  // as kLlama3 but for digits
};

// Throws std::invalid_argument for an unknown name.
SplitPattern split_pattern(std::string_view name);

namespace split {

template <class Rules, class Sink>
void pieces_by(Rules rules, std::string_view text, Sink&& sink) {
  const Byte* at = reinterpret_cast<const Byte*>(text.data());
  const Byte* const end = at + text.size();
  const auto emit = [&](const Byte* after) __attribute__((always_inline)) {
    sink(std::string_view(reinterpret_cast<const char*>(at), static_cast<std::size_t>(after - at)));
    at = after;
  };
  while (at < end) {
    if constexpr (HasWindow<Rules>) {
      if (is_ascii_for_a_while(at, end)) {
        const Byte* const window = at;
        Mask starts = decided_starts(rules, at, end);
        const bool decided = starts != 0;
        for (; starts; starts &= starts - 1) emit(window + std::countr_zero(starts));
        if (decided) continue;
      }
    }
    emit(rules.piece_end(at, end));
  }
}

}  // namespace split

// Calls sink(std::string_view) for every piece in turn: never empty, together the whole text. Nothing is
// allocated.
template <class Sink>
void for_each_piece(SplitPattern pattern, std::string_view text, Sink&& sink) {
  switch (pattern) {
    case SplitPattern::kNone:
      return split::pieces_by(split::NoRules{}, text, sink);
    case SplitPattern::kWhitespace:
      return split::pieces_by(split::WhitespaceRules{}, text, sink);
    case SplitPattern::kGpt2:
      return split::pieces_by(split::Gpt2Rules<false>{}, text, sink);
    case SplitPattern::kSingleDigits:
      return split::pieces_by(split::Gpt2Rules<true>{}, text, sink);
    case SplitPattern::kCl100k:
      return split::pieces_by(split::Cl100kRules<3, split::Space::kEndOfTextThenNewlines>{}, text, sink);
    case SplitPattern::kLlama3:
      return split::pieces_by(split::Cl100kRules<3, split::Space::kNewlinesFirst>{}, text, sink);
    case SplitPattern::kQwen2:
      return split::pieces_by(split::Cl100kRules<1, split::Space::kNewlinesFirst>{}, text, sink);
    case SplitPattern::kO200k:
      return split::pieces_by(split::O200kRules<3, true>{}, text, sink);
    case SplitPattern::kTekken:
      return split::pieces_by(split::O200kRules<1, false>{}, text, sink);
    case SplitPattern::kDeepseekV3:
      return split::pieces_by(split::DeepseekV3Rules{}, text, sink);
    case SplitPattern::kDigitsRightToLeft:
      return split::pieces_by(split::RightToLeftRules{}, text, sink);
  }
}

// Rules that are written by hand, or tables of any pattern.
using Splitter = std::variant<SplitPattern, std::shared_ptr<const CompiledSplitter>>;

// Throws std::invalid_argument for a null pointer.
Splitter checked(Splitter splitter);

// Whether the pieces of a text are together the whole text.
bool keeps_all(const Splitter& splitter);

template <class Sink>
void for_each_piece(const Splitter& splitter, std::string_view text, Sink&& sink) {
  if (const SplitPattern* const pattern = std::get_if<SplitPattern>(&splitter)) [[likely]]
    return for_each_piece(*pattern, text, sink);
  std::get<std::shared_ptr<const CompiledSplitter>>(splitter)->for_each(text, sink);
}

// Does not depend on `threads`, which share the texts. Throws std::invalid_argument where a splitter leaves
// out text.
UnitEnds split_texts(const Splitter& splitter, std::span<const std::string_view> texts, int threads);

// Texts without what a splitter leaves out, and their pieces.
struct KeptPieces {
  std::vector<std::string> texts;
  UnitEnds pieces;
};

KeptPieces split_and_remove(const Splitter& splitter, std::span<const std::string_view> texts, int threads);

}  // namespace pyharness
