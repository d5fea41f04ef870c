// The arithmetic of one row's state, for the kernels in entropy.cu.
#pragma once

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>

#include "kernels/exec.hpp"
#include "shared/entropy.hpp"

namespace pyharness::kernels {

inline constexpr int kWarp = 32;
inline constexpr double kLn2 = 0.693147180559945309417;
inline constexpr double kLog2E = 1.442695040888963407360;
// Stands for exponents of -inf where 0 * inf would be NaN: 2^-200 is 0 in float, and -200 * 0 is 0.
inline constexpr float kLeastExponent = -200.0f;

PH_DEVICE EntropyState empty_state() {
  return {-INFINITY, 0.0f, 0.0f, -INFINITY, -INFINITY, kNoColumn, {0, 0}};
}

// 2^((from - to) * scale) for to >= from, and its exponent. Subtract first: logits times scale may overflow.
// fmaxf drops the NaN of equal infinities.
PH_DEVICE float exponent_of(float from, float to, float scale) {
  return fmaxf((from - to) * scale, kLeastExponent);
}

PH_DEVICE EntropyState merge(const EntropyState& a, const EntropyState& b, float scale) {
  EntropyState merged = empty_state();
  merged.max = fmaxf(a.max, b.max);
  const float a_exponent = exponent_of(a.max, merged.max, scale);
  const float b_exponent = exponent_of(b.max, merged.max, scale);
  const float a_factor = ph_exp2(a_exponent);
  const float b_factor = ph_exp2(b_exponent);
  merged.sum = a.sum * a_factor + b.sum * b_factor;
  merged.weighted =
      (a.weighted + a_exponent * a.sum) * a_factor + (b.weighted + b_exponent * b.sum) * b_factor;
  merged.second = fmaxf(fminf(a.max, b.max), fmaxf(a.second, b.second));
  merged.target = fmaxf(a.target, b.target);
  const bool a_wins = a.max > b.max || (a.max == b.max && a.argmax < b.argmax);
  merged.argmax = a_wins ? a.argmax : b.argmax;
  return merged;
}

// The merge of the states of kLanes neighbours (4, 8, 16 or 32) in each of them; all lanes of a warp call.
// The maximum first, then one rescale and plain sums: the error of 2^z enters once, not at each level. kTop:
// `second` and `argmax` too. `target` is left alone.
template <bool kTop, int kLanes>
PH_DEVICE EntropyState merge_lanes(EntropyState state, float scale) {
  constexpr unsigned kAll = 0xffffffffu;
  float m = state.max;
#pragma unroll
  for (int flip = kLanes / 2; flip > 0; flip /= 2) {
    const float other = __shfl_xor_sync(kAll, m, flip);
    if (kTop) {
      const float other_second = __shfl_xor_sync(kAll, state.second, flip);
      const int other_argmax = __shfl_xor_sync(kAll, state.argmax, flip);
      const bool mine = m > other || (m == other && state.argmax < other_argmax);
      state.second = fmaxf(fminf(m, other), fmaxf(state.second, other_second));
      state.argmax = mine ? state.argmax : other_argmax;
    }
    m = fmaxf(m, other);
  }
  const float exponent = exponent_of(state.max, m, scale);
  const float factor = ph_exp2(exponent);
  state.weighted = (state.weighted + exponent * state.sum) * factor;
  state.sum *= factor;
  state.max = m;
#pragma unroll
  for (int flip = kLanes / 2; flip > 0; flip /= 2) {
    state.sum += __shfl_xor_sync(kAll, state.sum, flip);
    state.weighted += __shfl_xor_sync(kAll, state.weighted, flip);
  }
  return state;
}

// How a state becomes results.
struct Finish {
  EntropyOutputs<float> outputs;
  double inverse_temperature;
  double unit;  // from nats to the unit of the outputs
};

// The logarithm of a positive sum, its exponent apart: a float would be off by up to 9.5e-7 (sums reach
// 2^31), and double's log2 is a subroutine that all lanes of a warp would wait for. The fraction is in
// [1/sqrt 2, sqrt 2), where the instruction errs by at most 2^-22 (PTX ISA, lg2).
PH_DEVICE double log2_of(float sum) {
  constexpr unsigned kInverseRoot2 = 0x3f3504f3u;
  const unsigned bits = __float_as_uint(sum);
  const unsigned exponent = (bits - kInverseRoot2) & 0xff800000u;  // where it stands in a float
  return static_cast<int>(exponent) / (1 << 23) +
         static_cast<double>(ph_log2(__uint_as_float(bits - exponent)));
}

// Once per row, so in double: the two terms of the entropy are up to 18 each, where floats are 1.9e-6 apart.
PH_DEVICE void finish_row(const EntropyState& state, std::int64_t row, const Finish& finish) {
  const EntropyOutputs<float>& out = finish.outputs;
  const bool ok = state.sum > 0.0f;  // not for NaN
  const double s = state.sum;
  const double log_s = kLn2 * log2_of(state.sum);
  const double m = state.max;
  const double over_t = finish.inverse_temperature;
  const double unit = ok ? finish.unit : static_cast<double>(NAN);
  if (out.entropy)
    out.entropy[row] = static_cast<float>(unit * fmax(0.0, log_s - kLn2 * (state.weighted / s)));
  if (out.log_sum_exp) out.log_sum_exp[row] = static_cast<float>(unit * (log_s + m * over_t));
  if (out.nll) out.nll[row] = static_cast<float>(unit * (log_s + (m - state.target) * over_t));
  if (out.max_probability) out.max_probability[row] = ok ? 1.0f / state.sum : NAN;
  if (out.argmax) out.argmax[row] = ok ? state.argmax : -1;
  if (out.margin) out.margin[row] = static_cast<float>(unit * ((m - state.second) * over_t));
}

}  // namespace pyharness::kernels
