// The one-pass algorithm over a small vector type (arithmetic.hpp), for one instruction set per
// including file.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/entropy/arithmetic.hpp"
#include "core/entropy/half.hpp"
#include "core/entropy/row.hpp"

namespace pyharness::entropy_rows {
namespace {

float minus_infinity(const float*) { return -INFINITY; }
Half minus_infinity(const Half*) { return {0xFC00}; }
Bfloat minus_infinity(const Bfloat*) { return {0xFF80}; }

// Vectors worked on at a time: their chains of dependent operations overlap.
constexpr std::int64_t kChains = 4;

template <class Vector>
struct RowPass {
  static constexpr std::int64_t kLanes = Vector::kLanes;
  static constexpr std::int64_t kStep = kChains * kLanes;
  static_assert(kBlock % kStep == 0);

  static float largest_lane(Vector vector) {
    float lanes[kLanes];
    vector.store(lanes);
    float largest = lanes[0];
    for (const float lane : lanes) largest = lane > largest ? lane : largest;
    return largest;
  }

  static double sum_of_lanes(Vector vector) {
    float lanes[kLanes];
    vector.store(lanes);
    double sum = 0;
    for (const float lane : lanes) sum += static_cast<double>(lane);
    return sum;
  }

  template <class Item>
  static void stage_step(const Item* logits, float* block, Vector (&largest)[kChains]) {
    for (std::int64_t c = 0; c < kChains; ++c) {
      const Vector x = Vector::load(logits + c * kLanes);
      x.store(block + c * kLanes);
      largest[c] = Vector::greater(x, largest[c]);
    }
  }

  // Converts a block to floats, filled up with -inf to whole steps. Returns its maximum; NaN does not count.
  template <class Item>
  static float stage(const Item* logits, std::int64_t count, float* block) {
    Vector largest[kChains];
    for (Vector& chain : largest) chain = Vector::all(-INFINITY);
    const std::int64_t whole = count - count % kStep;
    for (std::int64_t i = 0; i < whole; i += kStep) stage_step(logits + i, block + i, largest);
    if (whole < count) {
      Item rest[kStep];
      for (std::int64_t i = 0; i < kStep; ++i)
        rest[i] = whole + i < count ? logits[whole + i] : minus_infinity(logits);
      stage_step(rest, block + whole, largest);
    }
    const Vector low = Vector::greater(largest[0], largest[1]);
    return largest_lane(Vector::greater(low, Vector::greater(largest[2], largest[3])));
  }

  // Only blocks that hold one of the two largest logits so far come here: about 2 ln(blocks) of them where
  // the order is random, so the two largest and their column cost next to nothing.
  static void find_two_largest(const float* block, std::int64_t steps, float block_max, std::int32_t column,
                               RowState& state) {
    Vector first = Vector::all(-INFINITY);
    Vector second = first;
    for (std::int64_t i = 0; i < steps * kStep; i += kLanes) {
      const Vector x = Vector::load(block + i);
      second = Vector::greater(Vector::smaller(x, first), second);
      first = Vector::greater(x, first);
    }
    float lanes[2 * kLanes];
    first.store(lanes);
    second.store(lanes + kLanes);
    float old_max = state.max;
    for (const float lane : lanes) {
      const float lost = lane > old_max ? old_max : lane;
      old_max = lane > old_max ? lane : old_max;
      state.second = lost > state.second ? lost : state.second;
    }
    if (!(block_max > state.max)) return;
    for (std::int64_t i = 0; i < steps * kStep; i += kLanes) {
      const int lane = Vector::first_equal(Vector::load(block + i), block_max);
      if (lane < 0) continue;
      state.argmax = column + static_cast<std::int32_t>(i + lane);
      return;
    }
  }

  static void raise_max(float block_max, double scale, RowState& state) {
    if (!(block_max > state.max)) return;
    if (state.sum != 0) {
      const double shift = (static_cast<double>(state.max) - static_cast<double>(block_max)) * scale;
      const double factor = ::exp2(shift);
      // A factor of 0 may come with a shift whose product with the sum is infinite.
      state.weighted = factor == 0 ? 0 * state.weighted : (state.weighted + shift * state.sum) * factor;
      state.sum *= factor;
    }
    state.max = block_max;
  }

  // Adds the sums of 2^z and z 2^z. `ahead` is where the next block lies in memory: asking for it now hides
  // its latency behind this arithmetic (bfloat16 took 1.5 times as long without).
  static void add_exponentials(const float* block, std::int64_t steps, double scale,
                               const Exponential<Vector>& exponential, const char* ahead,
                               std::int64_t ahead_per_step, RowState& state) {
    // A row without a finite logit so far is looked through for NaN only.
    const bool nothing = !(state.max > -INFINITY);
    const Vector base = Vector::all(nothing ? 0.0F : state.max);
    PairwiseSum<Vector> sum;
    PairwiseSum<Vector> weighted;
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::int64_t byte = 0; byte < ahead_per_step; byte += 64)
        __builtin_prefetch(ahead + step * ahead_per_step + byte);
      Vector d[kChains];
      Vector e[kChains];
      for (std::int64_t c = 0; c < kChains; ++c) {
        const Vector x = Vector::load(block + step * kStep + c * kLanes);
        d[c] = Vector::greater(exponential.lowest(), x.minus(base));
        e[c] = exponential(d[c]);
      }
      sum.add(step, e[0].plus(e[1]).plus(e[2].plus(e[3])));
      weighted.add(
          step,
          Vector::fused(e[1], d[1], e[0].times(d[0])).plus(Vector::fused(e[3], d[3], e[2].times(d[2]))));
    }
    const double s = sum_of_lanes(sum.total(steps));
    const double w = sum_of_lanes(weighted.total(steps));
    // A NaN with low bits set leaves the exponential as a number; its product with d stays NaN.
    const double nan_or_zero = w - w;
    state.sum += nothing ? nan_or_zero : s + nan_or_zero;
    state.weighted += nothing ? nan_or_zero : w * scale;
  }

  template <class Item>
  static void add(const void* logits, std::int64_t count, std::int32_t first_column, double scale,
                  RowState& state) {
    alignas(64) float block[kBlock];
    const Exponential<Vector> exponential(scale);
    const auto* const items = static_cast<const Item*>(logits);
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t length = count - begin < kBlock ? count - begin : kBlock;
      const std::int64_t steps = (length + kStep - 1) / kStep;
      const float block_max = stage(items + begin, length, block);
      if (block_max > state.second)
        find_two_largest(block, steps, block_max, first_column + static_cast<std::int32_t>(begin), state);
      raise_max(block_max, scale, state);
      const auto* const ahead = reinterpret_cast<const char*>(items + begin + kBlock);
      add_exponentials(block, steps, scale, exponential, ahead,
                       kStep * static_cast<std::int64_t>(sizeof(Item)), state);
    }
  }
};

}  // namespace
}  // namespace pyharness::entropy_rows
