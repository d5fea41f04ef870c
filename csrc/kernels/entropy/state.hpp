// The arithmetic of one row's state, for the kernels in entropy.cu.
#pragma once

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>

#include "kernels/entropy/entropy.hpp"
#include "kernels/exec.hpp"

namespace pyharness::kernels {

inline constexpr double kLn2 = 0.693147180559945309417;
inline constexpr double kLog2E = 1.442695040888963407360;
// Stands for exponents of -inf where 0 * inf would be NaN: 2^-200 is 0 in float, and -200 * 0 is 0.
inline constexpr float kLeastExponent = -200.0f;

PH_DEVICE EntropyState empty_state() {
  return {-INFINITY, 0.0f, 0.0f, -INFINITY, -INFINITY, INT_MAX, {0.0f, 0.0f}};
}

// 2^((from - to) * scale) for to >= from, and its exponent. Subtract first: logits times scale may overflow.
// fmaxf drops the NaN of equal infinities.
PH_DEVICE float exponent_of(float from, float to, float scale) {
  return fmaxf((from - to) * scale, kLeastExponent);
}

PH_DEVICE EntropyState merge(const EntropyState& a, const EntropyState& b, float scale) {
  EntropyState merged = empty_state();
  merged.m = fmaxf(a.m, b.m);
  const float a_exponent = exponent_of(a.m, merged.m, scale);
  const float b_exponent = exponent_of(b.m, merged.m, scale);
  const float a_factor = ph_exp2(a_exponent);
  const float b_factor = ph_exp2(b_exponent);
  merged.s = a.s * a_factor + b.s * b_factor;
  merged.w = (a.w + a_exponent * a.s) * a_factor + (b.w + b_exponent * b.s) * b_factor;
  merged.second = fmaxf(fminf(a.m, b.m), fmaxf(a.second, b.second));
  merged.target = fmaxf(a.target, b.target);
  const bool a_wins = a.m > b.m || (a.m == b.m && a.argmax < b.argmax);
  merged.argmax = a_wins ? a.argmax : b.argmax;
  return merged;
}

// The merge of 32 lanes' states in every lane. The maximum first, then one rescale and plain sums: the error
// of 2^z enters once, not at each of five levels. kTop: `second` and `argmax` too. `target` is left alone.
template <bool kTop>
PH_DEVICE EntropyState merge_warp(EntropyState state, float scale) {
  constexpr unsigned kAll = 0xffffffffu;
  float m = state.m;
#pragma unroll
  for (int flip = 16; flip > 0; flip /= 2) {
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
  const float exponent = exponent_of(state.m, m, scale);
  const float factor = ph_exp2(exponent);
  state.w = (state.w + exponent * state.s) * factor;
  state.s *= factor;
  state.m = m;
#pragma unroll
  for (int flip = 16; flip > 0; flip /= 2) {
    state.s += __shfl_xor_sync(kAll, state.s, flip);
    state.w += __shfl_xor_sync(kAll, state.w, flip);
  }
  return state;
}

// How a state becomes results.
struct Finish {
  EntropyOutputs outputs;
  double inverse_temperature;
};

// Once per row, so in double: the two terms of the entropy are up to 18 each, where floats are 1.9e-6 apart.
PH_DEVICE void finish_row(const EntropyState& state, std::int64_t row, const Finish& finish) {
  const EntropyOutputs& out = finish.outputs;
  const bool ok = state.s > 0.0f;  // not for NaN
  const double s = state.s;
  const double log_s = kLn2 * log2(s);
  const double m = state.m;
  const double over_t = finish.inverse_temperature;
  const double unit = ok ? out.unit_scale : static_cast<double>(NAN);
  if (out.entropy) out.entropy[row] = static_cast<float>(unit * fmax(0.0, log_s - kLn2 * (state.w / s)));
  if (out.log_sum_exp) out.log_sum_exp[row] = static_cast<float>(unit * (log_s + m * over_t));
  if (out.nll) out.nll[row] = static_cast<float>(unit * (log_s + (m - state.target) * over_t));
  if (out.max_probability) out.max_probability[row] = ok ? 1.0f / state.s : NAN;
  if (out.argmax) out.argmax[row] = ok ? state.argmax : -1;
  if (out.margin) out.margin[row] = static_cast<float>(unit * ((m - state.second) * over_t));
}

}  // namespace pyharness::kernels
