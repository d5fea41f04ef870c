// Entropy of softmax(logits / temperature) and what the same pass over the logits gives, on a device.
// Every pointer is to device memory; nothing here allocates or waits, but for first_bad_target.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device.hpp"

namespace pyharness::kernels {

enum class LogitType { kFloat32, kFloat16, kBfloat16 };

struct Logits {
  const void* data;  // [rows, columns], aligned to its items
  LogitType type;
  std::int64_t rows;
  std::int64_t columns;     // 1..2^31 - 1
  std::int64_t row_stride;  // in items; any
};

struct Targets {
  const void* ids = nullptr;  // [rows], or null for none
  bool is_64_bit = false;     // else 32 bits
};

// What is known of a row after some of its columns; states of disjoint columns merge in any order. In memory
// as declared, 32 bytes. z = (logit - m) * log2(e) / temperature.
struct alignas(16) EntropyState {
  float m;              // the largest logit, -inf before any
  float s;              // sum of 2^z; NaN once a logit was NaN or +inf
  float w;              // sum of z 2^z
  float second;         // the second largest logit, equal to m on a tie; -inf when there is none
  float target;         // the logit of the target, -inf before it was seen
  std::int32_t argmax;  // the smallest id whose logit is m; INT32_MAX before any
  float spare[2];
};

// Results, float32 or int64 [rows]; null for those not asked for.
struct EntropyOutputs {
  float* entropy = nullptr;
  float* log_sum_exp = nullptr;
  float* nll = nullptr;
  float* max_probability = nullptr;
  std::int64_t* argmax = nullptr;
  float* margin = nullptr;
  double unit_scale = 1.0;  // 1 for nats, log2(e) for bits
};

// Bytes for `workspace` below: rows are split over blocks where there are too few of them to fill a device.
std::size_t entropy_workspace(std::int64_t rows, std::int64_t columns);

// One read of every logit. Targets are ids of the vocabulary.
void entropy(const Logits& logits, const Targets& targets, double temperature, const EntropyOutputs& outputs,
             void* workspace, Stream stream);

// The states of these columns, whose first is id `first_column`. A target elsewhere leaves `target` at -inf.
void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                    double temperature, EntropyState* states, void* workspace, Stream stream);

// states[row] = states[row] merged with other[row].
void entropy_merge(EntropyState* states, const EntropyState* other, std::int64_t rows, double temperature,
                   Stream stream);

void entropy_finish(const EntropyState* states, std::int64_t rows, double temperature,
                    const EntropyOutputs& outputs, Stream stream);

struct BadTarget {
  std::int64_t row = -1;  // none
  std::int64_t id = 0;
};

// The first target outside 0..vocab_size - 1. Waits for the stream. `workspace` holds 8 bytes.
BadTarget first_bad_target(const Targets& targets, std::int64_t rows, std::int64_t vocab_size,
                           void* workspace, Stream stream);

}  // namespace pyharness::kernels
