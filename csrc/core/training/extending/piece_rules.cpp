#include "core/training/extending/piece_rules.hpp"

#include <stdexcept>

namespace pyharness {
namespace {

constexpr std::uint32_t kSpace = 0x2581;  // how SentencePiece writes a space
constexpr std::uint32_t kAnyScript = 0xFFFFFFFFu;

struct Shape {
  std::size_t characters = 0;
  bool whitespace_only = true;
};

Shape shape_of(std::string_view piece) {
  Shape shape;
  for (std::size_t at = 0; at < piece.size(); ++shape.characters) {
    const auto next = code_point_or_byte(piece, at);
    shape.whitespace_only &= next.point == kSpace;
    at += next.length;
  }
  return shape;
}

}  // namespace

PieceRules::PieceRules(const PieceRuleOptions& options, std::span<const CharacterClass> characters)
    : options_(options) {
  for (const CharacterClass& one : characters) {
    if (one.point >= CodePointTable::kStrayBytes) throw std::invalid_argument("a character is no code point");
    classes_.set(one.point, one.script << 1 | std::uint32_t{one.digit});
  }
}

bool PieceRules::allow_whitespace(std::size_t at, std::size_t characters) const {
  const bool first = at == 0, last = at + 1 == characters;
  if (options_.whitespace_last) return last || (!options_.by_whitespace && !first);
  return first || (!options_.by_whitespace && !last);
}

bool PieceRules::allow(std::string_view piece) const {
  const auto [characters, whitespace_only] = shape_of(piece);
  if (characters > options_.longest) return false;
  if (whitespace_only && options_.whitespace_only) return true;
  std::uint32_t previous = kAnyScript;
  for (std::size_t at = 0, index = 0; index < characters; ++index) {
    const auto next = code_point_or_byte(piece, at);
    at += next.length;
    if (next.point == kSpace) {
      if (!allow_whitespace(index, characters)) return false;
      continue;
    }
    const std::uint32_t known = classes_[next.point];
    if (known == CodePointTable::kNone) return false;
    const bool digit = known & 1;
    if (digit && options_.digits_alone && characters > 1) return false;
    std::uint32_t script = known >> 1 == kInherited ? previous : known >> 1;
    if (digit && !options_.by_number) script = kAnyScript;
    if (options_.by_script && script != previous && script != kAnyScript && previous != kAnyScript)
      return false;
    previous = script;
  }
  return true;
}

}  // namespace pyharness
