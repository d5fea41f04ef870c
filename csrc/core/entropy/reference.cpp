// The definition, written down: two passes over a row, everything in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/entropy/entropy.hpp"
#include "core/entropy/logits.hpp"
#include "shared/entropy_checks.hpp"

namespace pyharness {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct LargestLogits {
  double first = -kInfinity;
  double second = -kInfinity;
  std::int64_t argmax = -1;
  bool valid = true;  // no NaN, no +inf, at least one finite logit
};

LargestLogits find_largest(const Logits& logits, std::int64_t row) {
  LargestLogits largest;
  for (std::int64_t column = 0; column < logits.columns; ++column) {
    const auto logit = static_cast<double>(logit_value(logits, row, column));
    if (std::isnan(logit) || logit == kInfinity) largest.valid = false;
    if (logit > largest.first) {
      largest.second = largest.first;
      largest.first = logit;
      largest.argmax = column;
    } else if (logit > largest.second) {
      largest.second = logit;
    }
  }
  largest.valid = largest.valid && largest.argmax >= 0;
  return largest;
}

void reference_row(const Logits& logits, const Targets& targets, std::int64_t row, const EntropyScale& scale,
                   const EntropyOutputs<double>& outputs) {
  const LargestLogits largest = find_largest(logits, row);
  double sum = 0;
  double weighted = 0;
  for (std::int64_t column = 0; largest.valid && column < logits.columns; ++column) {
    const auto logit = static_cast<double>(logit_value(logits, row, column));
    if (logit == -kInfinity) continue;
    const double y = (logit - largest.first) / scale.temperature;
    sum += std::exp(y);
    weighted += y * std::exp(y);
  }
  const auto write = [&](double* output, double value) {
    if (output != nullptr) output[row] = largest.valid ? value : std::numeric_limits<double>::quiet_NaN();
  };
  write(outputs.entropy, scale.unit * (std::log(sum) - weighted / sum));
  write(outputs.log_sum_exp, scale.unit * (largest.first / scale.temperature + std::log(sum)));
  write(outputs.max_probability, 1 / sum);
  write(outputs.margin, scale.unit * (largest.first - largest.second) / scale.temperature);
  if (outputs.nll != nullptr) {
    const auto target = static_cast<double>(logit_value(logits, row, target_of(targets, row)));
    write(outputs.nll, scale.unit * ((largest.first - target) / scale.temperature + std::log(sum)));
  }
  if (outputs.argmax != nullptr) outputs.argmax[row] = largest.valid ? largest.argmax : -1;
}

}  // namespace

void entropy_reference(const Logits& logits, const Targets& targets, const EntropyScale& scale,
                       const EntropyOutputs<double>& outputs) {
  check_columns(0, logits.columns);
  check_temperature(scale.temperature);
  check_outputs(outputs, targets, logits.rows);
  for (std::int64_t row = 0; row < logits.rows; ++row) reference_row(logits, targets, row, scale, outputs);
}

}  // namespace pyharness
