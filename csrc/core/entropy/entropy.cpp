#include "core/entropy/entropy.hpp"

#include <cmath>
#include <numbers>

#include "core/entropy/logits.hpp"
#include "core/entropy/row.hpp"
#include "core/entropy/rows.hpp"
#include "shared/entropy_checks.hpp"

namespace pyharness {
namespace {

using entropy_rows::merged;
using entropy_rows::RowsPass;
using entropy_rows::RowState;

// log2(e) / temperature.
double log2_scale(double temperature) {
  check_temperature(temperature);
  return std::numbers::log2e / temperature;
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
  EntropyState state{};
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
  // Smaller values are leftovers of -inf logits (kLowestExponent in arithmetic.hpp), or rounding below 0.
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
  check_columns(0, logits.columns);
  check_outputs(outputs, targets, logits.rows);
  RowsPass pass(logits, targets, 0, log2_scale(scale.temperature), instructions, threads);
  pass.run([&](std::int64_t row, const RowState& state) { finish(state, row, scale, outputs); });
}

void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                    double temperature, EntropyState* states, InstructionSet instructions, int threads) {
  check_columns(first_column, logits.columns);
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
  check_temperature(scale.temperature);
  for (std::int64_t row = 0; row < rows; ++row) finish(unpacked(states[row]), row, scale, outputs);
}

void check_targets(const Targets& targets, std::int64_t rows, std::int64_t vocab_size) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t id = target_of(targets, row);
    if (id < 0 || id >= vocab_size) throw bad_target(row, id, vocab_size);
  }
}

}  // namespace pyharness
