// Where the pieces of texts end, as `Pieces` in pyharness/bpe/model/text_splitter.py has it.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/machine/checks.hpp"

namespace pyharness {

// The pieces of text t end at its bytes ends[offsets[t]..offsets[t + 1]).
struct PieceEnds {
  std::span<const std::int64_t> ends;
  std::span<const std::int64_t> offsets;
};

// Throws std::invalid_argument unless the pieces are those of the texts: none is empty, and together they are
// the text.
inline void check_pieces(std::span<const std::string_view> texts, const PieceEnds& pieces) {
  check_length(pieces.offsets.size(), texts.size() + 1, "offsets of the pieces");
  check_offsets(pieces.offsets, pieces.ends.size(), "offsets of the pieces");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::int64_t before = 0;
    for (auto at = pieces.offsets[i]; at < pieces.offsets[i + 1]; ++at) {
      const std::int64_t end = pieces.ends[static_cast<std::size_t>(at)];
      if (end <= before)
        throw std::invalid_argument("the ends of the pieces of text " + std::to_string(i) + " must rise");
      before = end;
    }
    if (before != static_cast<std::int64_t>(texts[i].size()))
      throw std::invalid_argument("the last piece of text " + std::to_string(i) +
                                  " must end where the text does, at " + std::to_string(texts[i].size()) +
                                  ", not at " + std::to_string(before));
  }
}

}  // namespace pyharness
