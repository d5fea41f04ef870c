// What the pass over a row computes with: an exponential and a sum, over a small vector type.
//
// `Vector` has: kLanes; Vector::all(float); load(const float*), load(const Half*), load(const Bfloat*);
// store(float*); plus, minus, times and
//   fused(a, b, c) = a * b + c
//   greater(a, b)  = the larger; b where either is NaN
//   smaller(a, b)  = the smaller; b where either is NaN
//   times_power_of_two(p, t) = p's bits + (t's bits << 23)
//   first_equal(a, value)    = the first lane equal to value, or -1
#pragma once

#include <cstdint>

namespace pyharness::entropy_rows {
namespace {

constexpr double kLowestExponent = -125;

template <class Vector>
class Exponential {
 public:
  explicit Exponential(double log2_scale)
      : scale_(Vector::all(static_cast<float>(log2_scale))),
        lowest_(Vector::all(static_cast<float>(kLowestExponent / log2_scale))) {
    // Its last seven bits cleared: a product with an n of seven bits is exact.
    const auto period = static_cast<float>(1 / log2_scale);
    std::uint32_t bits;
    __builtin_memcpy(&bits, &period, sizeof(bits));
    bits &= ~std::uint32_t{0x7F};
    float high;
    __builtin_memcpy(&high, &bits, sizeof(high));
    minus_period_ = Vector::all(-high);
    minus_period_low_ = Vector::all(static_cast<float>(static_cast<double>(high) - 1 / log2_scale));
  }

  // 2^(d * scale) for lowest <= d <= 0. With n the rounding of d * scale (by adding 1.5 * 2^23), d - n /
  // scale is taken in two parts, so that the rounding of a large d * scale never enters (logits shifted by
  // 3,000 erred by 7.8e-7 nats with it, by 5.6e-7 without). Then a polynomial of f in [-0.5, 0.5] of relative
  // error 9.4e-8 (minimax of degree 5 with value 1 at 0; degree 4 would err by 2.8e-6), and n in the
  // exponent's bits.
  Vector operator()(Vector d) const {
    const Vector magic = Vector::all(12582912.0F);
    const Vector shifted = Vector::fused(d, scale_, magic);
    const Vector n = shifted.minus(magic);
    const Vector rest = Vector::fused(n, minus_period_low_, Vector::fused(n, minus_period_, d));
    const Vector f = rest.times(scale_);
    Vector p = Vector::all(0x1.5bda40p-10F);
    p = Vector::fused(p, f, Vector::all(0x1.3ce8acp-7F));
    p = Vector::fused(p, f, Vector::all(0x1.c6b6d8p-5F));
    p = Vector::fused(p, f, Vector::all(0x1.ebf9c2p-3F));
    p = Vector::fused(p, f, Vector::all(0x1.62e42ap-1F));
    p = Vector::fused(p, f, Vector::all(1.0F));
    return Vector::times_power_of_two(p, shifted);
  }

  // What -inf and far logits are raised to: 2^-125 beside 1 is nothing, and no subnormal.
  Vector lowest() const { return lowest_; }

 private:
  Vector scale_;  // log2(e) / temperature
  Vector lowest_;
  Vector minus_period_;  // -1 / scale, in two parts
  Vector minus_period_low_;
};

// Pairwise summation. 16-bit logits take few values, and a sequence of equal terms rounds the same way at
// every step: 32 additions in a row cost up to 1.5e-5 nats.
template <class Vector>
class PairwiseSum {
 public:
  // `index` counts the calls from 0.
  void add(std::int64_t index, Vector term) {
    int level = 0;
    for (; (index >> level & 1) != 0; ++level) term = levels_[level].plus(term);
    levels_[level] = term;
  }
  Vector total(std::int64_t count) const {
    Vector sum = Vector::all(0);
    for (int level = 0; count >> level != 0; ++level)
      if ((count >> level & 1) != 0) sum = sum.plus(levels_[level]);
    return sum;
  }

 private:
  Vector levels_[16];  // level k holds the sum of 2^k terms
};

}  // namespace
}  // namespace pyharness::entropy_rows
