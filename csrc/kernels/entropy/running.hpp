// What one thread keeps of the logits that it has read, and how it adds more. The budget at 4.3 TB/s is about
// 15 instructions per bf16 element, and the unit of exponentials takes as long as 8 others for each;
// bench/device/check_sass counts them.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/entropy/state.hpp"
#include "kernels/entropy/words.hpp"
#include "kernels/exec.hpp"

namespace pyharness::kernels {

// How logits become exponents, z = (logit - max) * scale.
//
// Where the largest logit is at most `most` in size, one fused multiply-add, logit * scale - reference, takes
// the place of a subtraction and a product. The reference, max * scale as rounded, is off by 1/32 at most.
// Sums are then relative to it, and state_of makes them those of max itself. Elsewhere max * scale would be
// off by more, or overflow: there logits are subtracted before they are scaled.
//
// In 16 bits, logits far below the largest, -inf among them, are first raised to max - `below`, two at a
// time: their power is 0, and with a finite exponent so is the product. Rounding max - below to 16 bits
// changes neither.
struct Scaling {
  float scale;  // log2(e) / temperature
  float most;   // negative: none
  float below;
};

PH_DEVICE bool has_reference(float max, const Scaling& scaling) { return fabsf(max) <= scaling.most; }

// With kTop, `best` is the first column of the load that holds `top`, and `second` the largest logit of all
// other loads: a second look at one load per row then gives the argmax and the true second.
template <bool kTop>
struct Running {
  float max = -FLT_MAX;  // not -inf, so that -inf logits have a finite distance from it
  float sum = 0.0f;
  float weighted = 0.0f;
  float top = -INFINITY;
  float second = -INFINITY;
  int best = kNoColumn;
};

struct Sums {
  float powers;    // of 2^z
  float weighted;  // of z 2^z
};

PH_DEVICE unsigned least_of(float, float) { return 0; }
template <class Half>
PH_DEVICE unsigned least_of(float logit, Half half) {
  return ph_pair(logit, half);
}
PH_DEVICE uint4 raised(const uint4& bits, unsigned, float) { return bits; }
template <class Half>
PH_DEVICE uint4 raised(const uint4& bits, unsigned least, Half half) {
  return {ph_max2_nan(bits.x, least, half), ph_max2_nan(bits.y, least, half),
          ph_max2_nan(bits.z, least, half), ph_max2_nan(bits.w, least, half)};
}

// Sums of sums, each from its first term on: as few additions, smaller errors.
PH_DEVICE void add_to(Sums& sums, const Sums& more, bool is_first) {
  sums = is_first ? more : Sums{sums.powers + more.powers, sums.weighted + more.weighted};
}

template <class Logit, int kLoads>
PH_DEVICE Sums sums_by_fma(const uint4 (&bits)[kLoads], float m, float reference, const Scaling& scaling) {
  const unsigned least = least_of(m - scaling.below, Logit{});
  Sums all{};
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    float x[kPerLoad<Logit>];
    unpack(raised(bits[k], least, Logit{}), x, Logit{});
    Sums sums{};
#pragma unroll
    for (int i = 0; i < kPerLoad<Logit>; ++i) {
      const float z = fmaf(x[i], scaling.scale, -reference);
      const float power = ph_exp2(z);  // NaN for NaN: z is
      const float finite = sizeof(Logit) == 4 ? fmaxf(z, kLeastExponent) : z;
      sums.powers = i == 0 ? power : sums.powers + power;
      sums.weighted = i == 0 ? finite * power : fmaf(finite, power, sums.weighted);
    }
    add_to(all, sums, k == 0);
  }
  return all;
}

template <class Logit, int kLoads>
PH_DEVICE Sums sums_of_any(const uint4 (&bits)[kLoads], float m, float scale) {
  Sums all{};
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    float x[kPerLoad<Logit>];
    unpack(bits[k], x, Logit{});
    Sums sums{};
#pragma unroll
    for (int i = 0; i < kPerLoad<Logit>; ++i) {
      const float z = (x[i] - m) * scale;
      const float power = ph_exp2(z);                       // NaN for NaN and +inf: z is
      const float term = fmaxf(z, kLeastExponent) * power;  // 0 for -inf
      sums.powers = i == 0 ? power : sums.powers + power;
      sums.weighted = i == 0 ? term : sums.weighted + term;
    }
    add_to(all, sums, k == 0);
  }
  return all;
}

// The largest of what the thread knew and of loads whose first columns are column, column + step, ...
template <class Logit, bool kTop, int kLoads>
PH_DEVICE float largest_with(Running<kTop>& running, const uint4 (&bits)[kLoads], int column, int step) {
  if (!kTop) return fmaxf(running.max, largest_of(bits, Logit{}));
  float m = running.max;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const float largest = largest_of(bits[k], Logit{});
    m = fmaxf(m, largest);
    running.best = largest > running.top ? column + k * step : running.best;
    running.second = fmaxf(running.second, fminf(running.top, largest));
    running.top = fmaxf(running.top, largest);
  }
  return m;
}

// What was added so far, relative to another maximum whose exponent is that much higher.
template <bool kTop>
PH_DEVICE void rescale(Running<kTop>& running, float exponent) {
  exponent = fmaxf(exponent, kLeastExponent);  // drops the NaN of equal infinities
  const float factor = ph_exp2(exponent);
  running.weighted = (running.weighted + exponent * running.sum) * factor;
  running.sum *= factor;
}

// The maximum of all loads comes first: one rescale for all, and none can be waited for before all are under
// way.
template <class Logit, bool kTop, int kLoads>
PH_DEVICE void add(Running<kTop>& running, const uint4 (&bits)[kLoads], int column, int step,
                   const Scaling& scaling) {
  const float before = running.max;
  const float m = largest_with<Logit>(running, bits, column, step);
  const float scale = scaling.scale;
  const bool had_reference = has_reference(before, scaling);
  Sums sums;
  if (has_reference(m, scaling)) {
    const float reference = m * scale;
    rescale(running, had_reference ? before * scale - reference : fmaf(before, scale, -reference));
    sums = sums_by_fma<Logit>(bits, m, reference, scaling);
  } else {
    rescale(running, had_reference ? -fmaf(m, scale, -(before * scale)) : (before - m) * scale);
    sums = sums_of_any<Logit>(bits, m, scale);
  }
  running.weighted += sums.weighted;
  running.sum += sums.powers;
  running.max = m;
}

// Relative to the maximum itself. A division that is exact where the sum is the maximum's power alone: the
// largest probability is never above 1.
template <bool kTop>
PH_DEVICE EntropyState state_of(const Running<kTop>& running, const Scaling& scaling) {
  EntropyState state = empty_state();
  state.max = running.max;
  state.sum = running.sum;
  state.weighted = running.weighted;
  if (has_reference(running.max, scaling)) {
    const float excess = fmaf(running.max, scaling.scale, -(running.max * scaling.scale));
    const float power = ph_exp2(excess);  // of the maximum, relative to the reference
    state.sum = ph_divide(running.sum, power);
    state.weighted = ph_divide(running.weighted - excess * running.sum, power);
  }
  if (kTop) {
    state.max = running.top;
    state.second = running.second;
    state.argmax = running.best;
  }
  return state;
}

}  // namespace pyharness::kernels
