// Scaffold tokens taken apart: the tokens that stand for each of them in the output of a Scaffold-BPE
// encoder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/training/bpe_trainer.hpp"

namespace pyharness {

enum class DemolitionRule {
  kEquation6,  // the parts it was merged from, taken apart in turn: arXiv 2404.17808, Eq. 6
  kShortest,   // the fewest normal tokens with its bytes, then the smallest ids: an ablation
};

// Token t becomes ids[offsets[t]:offsets[t + 1]]; a normal token becomes itself.
struct Demolition {
  std::vector<std::uint32_t> ids;
  std::vector<std::int64_t> offsets;
};

// Every scaffold token must be the result of a rule whose parts have smaller ids; base tokens are never
// scaffold. Throws std::invalid_argument otherwise.
Demolition demolition(const TokenStrings& tokens, std::span<const MergeRule> rules,
                      std::span<const std::uint8_t> scaffold, DemolitionRule rule);

}  // namespace pyharness
