// What SentencePiece's trainer allows a piece to be.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/text/code_points.hpp"

namespace pyharness {

// See PieceRules in pyharness/features/adaptation/bpe/model_pieces.py, field by field.
struct PieceRuleOptions {
  bool by_script = true;
  bool by_number = true;
  bool by_whitespace = true;
  bool digits_alone = false;
  bool whitespace_last = false;
  bool whitespace_only = false;
  std::size_t longest = 16;  // characters
};

class PieceRules {
 public:
  // Of the characters that pieces are made of; one that is not among them is in no piece.
  struct CharacterClass {
    std::uint32_t point;
    std::uint32_t script;  // Han for Hiragana and Katakana, too
    bool digit;
  };
  static constexpr std::uint32_t kInherited = 0;  // the script of the character before

  PieceRules(const PieceRuleOptions& options, std::span<const CharacterClass> characters);

  // Whether a string of several characters may be a piece.
  bool allow(std::string_view piece) const;

 private:
  bool allow_whitespace(std::size_t at, std::size_t characters) const;

  PieceRuleOptions options_;
  CodePointTable classes_;  // script << 1 | digit
};

}  // namespace pyharness
