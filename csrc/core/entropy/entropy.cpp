#include "core/entropy/entropy.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "core/entropy/row.hpp"
#include "core/entropy/rows.hpp"

namespace pyharness {
namespace {

using entropy_rows::merged;
using entropy_rows::RowsPass;
using entropy_rows::RowState;

// log2(e) / temperature. Beyond these bounds products of floats with it would leave their range.
double log2_scale(double temperature) {
  if (!(temperature >= 1e-30 && temperature <= 1e30))
    throw std::invalid_argument("temperature must be between 1e-30 and 1e30, not " +
                                std::to_string(temperature));
  return std::numbers::log2e / temperature;
}

void check(const Logits& logits, std::int64_t first_column) {
  constexpr std::int64_t kMost = EntropyState::kNoColumn;
  if (logits.columns < 1 || first_column < 0 || first_column > kMost - logits.columns)
    throw std::invalid_argument("the columns of logits must be 1 to " + std::to_string(kMost) + ", not " +
                                std::to_string(first_column + logits.columns));
}

RowState unpacked(const EntropyState& state) {
  RowState row;
  row.max = state.max;
  row.second = state.second;
  row.sum = static_cast<double>(state.sum);
  row.weighted = static_cast<double>(state.weighted);
  row.argmax = state.argmax;
  row.target = state.target;
  return row;
}

EntropyState packed(const RowState& row) {
  EntropyState state;
  state.max = row.max;
  state.sum = static_cast<float>(row.sum);
  state.weighted = static_cast<float>(row.weighted);
  state.second = row.second;
  state.target = row.target;
  state.argmax = row.argmax;
  return state;
}

void finish(const RowState& row, std::int64_t index, const EntropyScale& scale,
            const EntropyOutputs<float>& outputs) {
  const bool valid = row.sum > 0;
  const double log_sum = std::log(row.sum);
  const auto write = [&](float* output, double value) {
    if (output != nullptr) output[index] = valid ? static_cast<float>(value * scale.unit) : NAN;
  };
  const double max = static_cast<double>(row.max);
  // Less is what is left of -inf logits (kLowestExponent in arithmetic.hpp), or rounding below 0.
  const double nats = log_sum - std::numbers::ln2 * (row.weighted / row.sum);
  write(outputs.entropy, nats > 0x1p-90 ? nats : 0);
  write(outputs.log_sum_exp, max / scale.temperature + log_sum);
  // Not log_sum_exp - target: the difference of two large numbers.
  write(outputs.nll, log_sum + (max - static_cast<double>(row.target)) / scale.temperature);
  write(outputs.margin, (max - static_cast<double>(row.second)) / scale.temperature);
  if (outputs.max_probability != nullptr)
    outputs.max_probability[index] = valid ? static_cast<float>(1 / row.sum) : NAN;
  if (outputs.argmax != nullptr) outputs.argmax[index] = valid ? row.argmax : -1;
}

}  // namespace

void entropy(const Logits& logits, const Targets& targets, const EntropyScale& scale,
             const EntropyOutputs<float>& outputs, InstructionSet instructions, int threads) {
  check(logits, 0);
  if (outputs.nll != nullptr && targets.data == nullptr) throw std::invalid_argument("nll needs targets");
  RowsPass pass(logits, targets, 0, log2_scale(scale.temperature), instructions, threads);
  pass.run([&](std::int64_t row, const RowState& state) { finish(state, row, scale, outputs); });
}

void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                    double temperature, EntropyState* states, InstructionSet instructions, int threads) {
  check(logits, first_column);
  RowsPass pass(logits, targets, first_column, log2_scale(temperature), instructions, threads);
  pass.run([&](std::int64_t row, const RowState& state) { states[row] = packed(state); });
}

void entropy_merge(EntropyState* states, const EntropyState* other, std::int64_t rows, double temperature) {
  const double scale = log2_scale(temperature);
  for (std::int64_t row = 0; row < rows; ++row)
    states[row] = packed(merged(unpacked(states[row]), unpacked(other[row]), scale));
}

void entropy_finish(const EntropyState* states, std::int64_t rows, const EntropyScale& scale,
                    const EntropyOutputs<float>& outputs) {
  log2_scale(scale.temperature);
  for (std::int64_t row = 0; row < rows; ++row) finish(unpacked(states[row]), row, scale, outputs);
}

void check_targets(const Targets& targets, std::int64_t rows, std::int64_t vocab_size) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if (targets[row] >= 0 && targets[row] < vocab_size) continue;
    throw std::invalid_argument("targets[" + std::to_string(row) + "] = " + std::to_string(targets[row]) +
                                " is not an id of the vocabulary: 0.." + std::to_string(vocab_size - 1));
  }
}

}  // namespace pyharness
