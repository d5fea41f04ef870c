// The nouns of next-token entropy: core and kernels read and write the same structs, and a state of one is a
// state of the other. nvcc compiles this at C++17: plain structs only.
//
// All quantities are of softmax(logits / temperature) of a row. With max the largest logit of the row,
// z = (logit - max) * log2(e) / temperature, sum = the sum of 2^z and weighted = the sum of z 2^z:
//   entropy = ln 2 * (log2 sum - weighted / sum)
//   log_sum_exp = max / temperature + ln 2 * log2 sum
//   max_probability = 1 / sum
// -inf logits have probability 0. A row with NaN, +inf or only -inf has no distribution: NaN, argmax -1.
#pragma once

#include <cstdint>

namespace pyharness {

enum class LogitType : std::uint8_t { kFloat32, kFloat16, kBfloat16 };

// [rows, columns], adjacent in a row and aligned to their items; `row_stride` in items may be 0 or negative.
struct Logits {
  const void* data;
  LogitType type;
  std::int64_t rows;
  std::int64_t columns;  // 1..kMostColumns
  std::int64_t row_stride;
};

// Ids of any of the two usual widths, [rows]; no data: no targets.
struct Targets {
  const void* data = nullptr;
  bool wide = false;  // int64, else int32
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

// `unit` converts nats to the unit of the outputs: 1, or log2(e) for bits.
struct EntropyScale {
  double temperature = 1;  // kLeastTemperature..kMostTemperature
  double unit = 1;
};

// Stands for the column of the largest logit before there is one.
inline constexpr std::int32_t kNoColumn = 0x7fffffff;

// What is known of a row after some of its columns; states of disjoint columns merge in any order. In memory
// as declared. Without initial values: the kernels keep it in shared memory, which runs no constructor.
struct alignas(16) EntropyState {
  float max;            // the largest logit, -inf before any
  float sum;            // of 2^z; NaN once a logit was NaN or +inf
  float weighted;       // the sum of z 2^z
  float second;         // the second largest logit, equal to max on a tie; -inf when there is none
  float target;         // the logit of the target, -inf before it was seen
  std::int32_t argmax;  // the smallest column whose logit is max; kNoColumn before any
  std::int32_t spare[2];
};
static_assert(sizeof(EntropyState) == 32, "states travel between machines as eight words");

}  // namespace pyharness
