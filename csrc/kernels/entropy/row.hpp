// How lanes read a row, or part of one, for the kernels in entropy.cu: 16 bytes at a time with four such
// loads in flight. The budget at 4.3 TB/s is about 15 instructions per bf16 element;
// bench/device/check_sass.py counts them.
#pragma once

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>

#include "kernels/entropy/state.hpp"
#include "kernels/exec.hpp"

namespace pyharness::kernels {

inline constexpr int kMostThreads = 256;
inline constexpr int kLoadsInFlight = 4;

// ---- 16 bytes of logits

template <class Logit>
constexpr int kPerLoad = 16 / static_cast<int>(sizeof(Logit));

PH_DEVICE void unpack(const uint4& bits, float (&x)[4], float) {
  const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = __uint_as_float(words[i]);
}

template <class Half>
PH_DEVICE void unpack(const uint4& bits, float (&x)[8], Half) {
  const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) ph_float2(words[i], Half{}, x[2 * i], x[2 * i + 1]);
}

PH_DEVICE float largest_of(const uint4& bits, float) {
  float x[4];
  unpack(bits, x, float{});
  return fmaxf(fmaxf(x[0], x[1]), fmaxf(x[2], x[3]));
}

// Two at a time, before they are unpacked.
template <class Half>
PH_DEVICE float largest_of(const uint4& bits, Half half) {
  const unsigned both = ph_max2(ph_max2(bits.x, bits.y, half), ph_max2(bits.z, bits.w, half), half);
  float first;
  float second;
  ph_float2(both, half, first, second);
  return fmaxf(first, second);
}

// -inf, which adds nothing.
PH_DEVICE uint4 nothing(float) { return {0xff800000u, 0xff800000u, 0xff800000u, 0xff800000u}; }
PH_DEVICE uint4 nothing(ph_bf16) { return {0xff80ff80u, 0xff80ff80u, 0xff80ff80u, 0xff80ff80u}; }
PH_DEVICE uint4 nothing(ph_half) { return {0xfc00fc00u, 0xfc00fc00u, 0xfc00fc00u, 0xfc00fc00u}; }

// The state of one thread. With kTop, `best` is the first column of the load that holds `top`, and `second`
// the largest logit of all other loads: a second look at one load per row then gives the argmax and the true
// second.
template <bool kTop>
struct Running {
  float max = -FLT_MAX;  // not -inf, so that -inf logits have a finite distance from it
  float sum = 0.0f;
  float weighted = 0.0f;
  float top = -INFINITY;
  float second = -INFINITY;
  int best = kNoColumn;
};

// Adds loads whose first columns are column, column + step, ... The maximum of all of them comes first: one
// rescale for all, and none can be waited for before all are under way.
template <class Logit, bool kTop, int kLoads>
PH_DEVICE void add(Running<kTop>& running, const uint4 (&bits)[kLoads], int column, int step, float scale) {
  float m = running.max;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const float largest = largest_of(bits[k], Logit{});
    m = fmaxf(m, largest);
    if (kTop) {
      running.best = largest > running.top ? column + k * step : running.best;
      running.second = fmaxf(running.second, fminf(running.top, largest));
      running.top = fmaxf(running.top, largest);
    }
  }
  const float exponent = exponent_of(running.max, m, scale);
  const float factor = ph_exp2(exponent);
  running.weighted = (running.weighted + exponent * running.sum) * factor;
  running.sum *= factor;
  running.max = m;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    float x[kPerLoad<Logit>];
    unpack(bits[k], x, Logit{});
    float s = 0.0f;  // sums of sums: as many additions, smaller errors
    float w = 0.0f;
#pragma unroll
    for (int i = 0; i < kPerLoad<Logit>; ++i) {
      const float z = (x[i] - m) * scale;
      const float power = ph_exp2(z);
      s += power;                             // NaN for NaN and +inf: z is
      w += fmaxf(z, kLeastExponent) * power;  // 0 for -inf
    }
    running.sum += s;
    running.weighted += w;
  }
}

// One logit outside of aligned loads.
template <bool kTop>
PH_DEVICE void add_one(Running<kTop>& running, float logit, int column, float scale) {
  if (kTop) {
    running.best = logit > running.top ? column : running.best;
    running.second = fmaxf(running.second, fminf(running.top, logit));
    running.top = fmaxf(running.top, logit);
  }
  const float m = fmaxf(running.max, logit);
  const float exponent = exponent_of(running.max, m, scale);
  const float factor = ph_exp2(exponent);
  const float z = (logit - m) * scale;
  const float power = ph_exp2(z);
  running.weighted = (running.weighted + exponent * running.sum) * factor;
  running.weighted += fmaxf(z, kLeastExponent) * power;
  running.sum = running.sum * factor + power;
  running.max = m;
}

// Who reads: one of `count` lanes that share the columns.
struct Lane {
  int index;
  int count;
};

// The columns of a row that a block reads: [first, last) in whole aligned loads, and the elements before
// the row's first and after its last aligned load, fewer than a load at each end.
struct Part {
  int head;   // elements before the first aligned load
  int first;  // loads
  int last;   // of the last part: after it comes the tail
};

template <class Logit>
PH_DEVICE Part part_of(const Logit* row, int columns, int part, int splits) {
  const int misaligned = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 16 / sizeof(Logit));
  const int to_boundary = misaligned == 0 ? 0 : kPerLoad<Logit> - misaligned;
  const int head = to_boundary < columns ? to_boundary : columns;
  const int loads = (columns - head) / kPerLoad<Logit>;
  const int each = (loads + splits - 1) / splits;
  const int first = part * each < loads ? part * each : loads;
  const int last = first + each < loads ? first + each : loads;
  return {head, first, last};
}

template <class Logit, bool kTop>
PH_DEVICE void add_loads(Running<kTop>& running, const Logit* row, const Part& part, Lane lane, float scale) {
  const uint4* const loads = reinterpret_cast<const uint4*>(row + part.head);
  const int step = lane.count * kPerLoad<Logit>;
  int load = part.first + lane.index;
  for (; load < part.last - (kLoadsInFlight - 1) * lane.count; load += kLoadsInFlight * lane.count) {
    uint4 bits[kLoadsInFlight];
#pragma unroll
    for (int k = 0; k < kLoadsInFlight; ++k) bits[k] = __ldcs(loads + load + k * lane.count);
    add<Logit>(running, bits, part.head + load * kPerLoad<Logit>, step, scale);
  }
  if (load >= part.last) return;
  uint4 bits[kLoadsInFlight];  // the rest together too: one after the other, each would be waited for
#pragma unroll
  for (int k = 0; k < kLoadsInFlight; ++k)
    bits[k] = load + k * lane.count < part.last ? __ldcs(loads + load + k * lane.count) : nothing(Logit{});
  add<Logit>(running, bits, part.head + load * kPerLoad<Logit>, step, scale);
}

// `count` elements outside aligned loads: fewer than a load, and at least 8 lanes, so one each at most.
template <class Logit, bool kTop>
PH_DEVICE void add_edge(Running<kTop>& running, const Logit* row, int first, int count, Lane lane,
                        float scale) {
  if (lane.index < count) add_one(running, ph_float(row[first + lane.index]), first + lane.index, scale);
}

// In ascending order of columns: of equal logits, a thread keeps the first.
template <class Logit, bool kTop>
PH_DEVICE void add_part(Running<kTop>& running, const Logit* row, int columns, int part_index, int splits,
                        Lane lane, float scale) {
  const Part part = part_of(row, columns, part_index, splits);
  if (part_index == 0) add_edge(running, row, 0, part.head, lane, scale);
  add_loads(running, row, part, lane, scale);
  const int tail = part.head + part.last * kPerLoad<Logit>;
  if (part_index == splits - 1) add_edge(running, row, tail, columns - tail, lane, scale);
}

template <bool kTop>
PH_DEVICE EntropyState state_of(const Running<kTop>& running) {
  EntropyState state = empty_state();
  state.max = running.max;
  state.sum = running.sum;
  state.weighted = running.weighted;
  if (kTop) {
    state.max = running.top;
    state.second = running.second;
    state.argmax = running.best;
  }
  return state;
}

// The whole block's state, in its first warp.
template <bool kTop>
PH_DEVICE EntropyState merge_block(const Running<kTop>& running, float scale) {
  EntropyState state = merge_lanes<kTop>(state_of(running), kWarp, scale);
  PH_SHARED(EntropyState, warps, kMostThreads / kWarp);
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = state;
  __syncthreads();
  if (threadIdx.x >= kWarp) return state;
  state = threadIdx.x < blockDim.x / kWarp ? warps[threadIdx.x] : empty_state();
  return merge_lanes<kTop>(state, kWarp, scale);
}

// From the column of a load to the column in it; and that load's own second largest logit.
template <class Logit>
PH_DEVICE void look_again(EntropyState& state, const Logit* row, int columns) {
  const int first = state.argmax;
  int largest = kNoColumn;
#pragma unroll
  for (int i = 0; i < kPerLoad<Logit>; ++i) {
    const float x = i < columns - first ? ph_float(row[first + i]) : -INFINITY;  // first + i may overflow
    if (x == state.max && largest == kNoColumn)
      largest = first + i;
    else
      state.second = fmaxf(state.second, x);
  }
  state.argmax = largest;
}

}  // namespace pyharness::kernels
