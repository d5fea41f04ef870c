// Entropy of next-token distributions and what else one pass over logits gives (shared/entropy.hpp).
#pragma once

#include <cstdint>

#include "core/machine/instruction_set.hpp"
#include "shared/entropy.hpp"

namespace pyharness {

// One pass over the logits, with at most `threads` threads. Throws std::invalid_argument for what
// shared/entropy_checks.hpp refuses. Targets are ids in 0..columns-1 (check_targets); with another one, nll
// is +inf.
void entropy(const Logits& logits, const Targets& targets, const EntropyScale& scale,
             const EntropyOutputs<float>& outputs, InstructionSet instructions, int threads);

// The same in double precision, two passes with the C library's exp and log: what the others are tested
// against.
void entropy_reference(const Logits& logits, const Targets& targets, const EntropyScale& scale,
                       const EntropyOutputs<double>& outputs);

// The states of columns first_column..first_column+columns-1, [rows]. Targets elsewhere are not seen here.
void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                    double temperature, EntropyState* states, InstructionSet instructions, int threads);

// states[row] becomes the state of its columns and those of other[row].
void entropy_merge(EntropyState* states, const EntropyState* other, std::int64_t rows, double temperature);

void entropy_finish(const EntropyState* states, std::int64_t rows, const EntropyScale& scale,
                    const EntropyOutputs<float>& outputs);

// Throws std::invalid_argument naming the first row whose target is not in 0..vocab_size-1.
void check_targets(const Targets& targets, std::int64_t rows, std::int64_t vocab_size);

}  // namespace pyharness
