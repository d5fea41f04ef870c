// Entropy of next-token distributions and what else one pass over logits gives.
//
// All quantities are of softmax(logits / temperature) of a row. With m the largest logit of the row,
// z = (x - m) * log2(e) / temperature, s = sum 2^z and w = sum z 2^z:
//   entropy = ln 2 * (log2 s - w / s)
//   log_sum_exp = m / temperature + ln 2 * log2 s
//   max_probability = 1 / s
// -inf logits have probability 0. A row with NaN, +inf or only -inf has no distribution: NaN, argmax -1.
#pragma once

#include <cstdint>
#include <limits>

#include "core/entropy/half.hpp"
#include "core/machine/instruction_set.hpp"

namespace pyharness {

enum class LogitType : std::uint8_t { kFloat32, kFloat16, kBfloat16 };

// [rows, columns], adjacent in a row; `row_stride` in elements may be 0 or negative.
struct Logits {
  const void* data;
  LogitType type;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;

  const void* at(std::int64_t row, std::int64_t column) const {
    const std::int64_t bytes = type == LogitType::kFloat32 ? 4 : 2;
    return static_cast<const char*>(data) + (row * row_stride + column) * bytes;
  }
  float value(std::int64_t row, std::int64_t column) const {
    const void* const item = at(row, column);
    if (type == LogitType::kFloat32) return *static_cast<const float*>(item);
    return type == LogitType::kFloat16 ? to_float(*static_cast<const Half*>(item))
                                       : to_float(*static_cast<const Bfloat*>(item));
  }
};

// Ids of any of the two usual widths, [rows]; no data: no targets.
struct Targets {
  const void* data = nullptr;
  bool wide = false;  // int64, else int32

  std::int64_t operator[](std::int64_t row) const {
    return wide ? static_cast<const std::int64_t*>(data)[row] : static_cast<const std::int32_t*>(data)[row];
  }
};

// Where results go, [rows] each; null: not wanted. The reference fills doubles.
template <class Real>
struct EntropyOutputs {
  Real* entropy = nullptr;
  Real* log_sum_exp = nullptr;
  Real* nll = nullptr;
  Real* max_probability = nullptr;
  std::int64_t* argmax = nullptr;
  Real* margin = nullptr;  // of the two largest log-probabilities; +inf without a second finite logit
};

// `unit` is what one nat is in the unit wanted: 1, or log2(e) for bits.
struct EntropyScale {
  double temperature = 1;
  double unit = 1;
};

// The state of some columns of a row. Merging is associative, so columns may come in any chunks. The CUDA
// kernels write the same 32 bytes.
struct EntropyState {
  static constexpr std::int32_t kNoColumn = std::numeric_limits<std::int32_t>::max();

  float max = -std::numeric_limits<float>::infinity();     // largest logit
  float sum = 0;                                           // s; NaN: the row has no distribution
  float weighted = 0;                                      // w
  float second = -std::numeric_limits<float>::infinity();  // second largest logit, `max` on a tie
  float target = -std::numeric_limits<float>::infinity();  // logit of the target, where seen
  std::int32_t argmax = kNoColumn;                         // smallest column whose logit is `max`
  std::int32_t spare[2] = {0, 0};
};
static_assert(sizeof(EntropyState) == 32);

// One pass over the logits, with at most `threads` threads. Throws std::invalid_argument for a temperature
// outside 1e-30..1e30, for columns outside 1..2^31-1, for nll without targets.
// Targets must be ids in 0..columns-1 (check_targets).
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
