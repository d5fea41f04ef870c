// The definition, written down: two passes over a row, everything in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/entropy/entropy.hpp"

namespace pyharness {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct RowReference {
  double largest = -kInfinity;
  double second = -kInfinity;
  std::int64_t argmax = -1;
  bool valid = true;  // no NaN, no +inf, at least one finite logit
};

RowReference find_largest(const Logits& logits, std::int64_t row) {
  RowReference found;
  for (std::int64_t column = 0; column < logits.columns; ++column) {
    const auto logit = static_cast<double>(logits.value(row, column));
    if (std::isnan(logit) || logit == kInfinity) found.valid = false;
    if (logit > found.largest) {
      found.second = found.largest;
      found.largest = logit;
      found.argmax = column;
    } else if (logit > found.second) {
      found.second = logit;
    }
  }
  found.valid = found.valid && found.argmax >= 0;
  return found;
}

void reference_row(const Logits& logits, const Targets& targets, std::int64_t row, const EntropyScale& scale,
                   const EntropyOutputs<double>& outputs) {
  const RowReference found = find_largest(logits, row);
  double sum = 0;
  double weighted = 0;
  for (std::int64_t column = 0; found.valid && column < logits.columns; ++column) {
    const auto logit = static_cast<double>(logits.value(row, column));
    if (logit == -kInfinity) continue;
    const double y = (logit - found.largest) / scale.temperature;
    sum += std::exp(y);
    weighted += y * std::exp(y);
  }
  const auto write = [&](double* output, double value) {
    if (output != nullptr) output[row] = found.valid ? value : std::numeric_limits<double>::quiet_NaN();
  };
  write(outputs.entropy, scale.unit * (std::log(sum) - weighted / sum));
  write(outputs.log_sum_exp, scale.unit * (found.largest / scale.temperature + std::log(sum)));
  write(outputs.max_probability, 1 / sum);
  write(outputs.margin, scale.unit * (found.largest - found.second) / scale.temperature);
  if (outputs.nll != nullptr) {
    const auto target = static_cast<double>(logits.value(row, targets[row]));
    write(outputs.nll, scale.unit * ((found.largest - target) / scale.temperature + std::log(sum)));
  }
  if (outputs.argmax != nullptr) outputs.argmax[row] = found.valid ? found.argmax : -1;
}

}  // namespace

void entropy_reference(const Logits& logits, const Targets& targets, const EntropyScale& scale,
                       const EntropyOutputs<double>& outputs) {
  if (outputs.nll != nullptr && targets.data == nullptr) throw std::invalid_argument("nll needs targets");
  for (std::int64_t row = 0; row < logits.rows; ++row) reference_row(logits, targets, row, scale, outputs);
}

}  // namespace pyharness
