// The Self-Tokenization Test, layers 1 and 2 (arXiv 2512.03989; docs/metrics.md "Reachability"), over a whole
// vocabulary.
#pragma once

#include <cstdint>
#include <vector>

#include "core/merging/bpe_encoder.hpp"

namespace pyharness {

enum class Verdict : std::uint8_t {
  kNotTested = 0,
  kReachable = 1,    // its base symbols encode to itself
  kModel = 2,        // layer 2: rules could make it, but its own base symbols encode to something else
  kUnderivable = 3,  // layer 1: no sequence of rules makes it
};

struct SelfTokenization {
  std::vector<Verdict> verdict;       // by id
  std::vector<std::uint32_t> parts;   // by id, two each: whose merge made it; kNever where no merge did
  std::vector<std::uint32_t> failed;  // ids with kModel or kUnderivable, ascending
  EncodedBatch witnesses;             // what the model gives instead, in the order of `failed`
};

// Layer 2 runs first: a token that it passes has a derivation, so layer 1 is looked at only when something
// failed. The result does not depend on `threads`.
SelfTokenization self_tokenization(const MergeModel& model, int threads);

}  // namespace pyharness
