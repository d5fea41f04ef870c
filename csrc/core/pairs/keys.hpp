// A pair as one mixed integer: the top bits choose its partition, the rest is what a partition stores.
//
// The mix is a bijection, so nothing is compared but the remainder (26 bits instead of 64 for ids below 2^18)
// and the pair is recovered from it; and it spreads pairs evenly over partitions and table slots.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pyharness {

// Inverse of an odd number modulo 2^64 by Newton's iteration; every step doubles the number of right bits.
constexpr std::uint64_t odd_inverse(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int step = 0; step < 6; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

inline constexpr std::uint64_t kMixFactor = 0x9E3779B97F4A7C15u;
inline constexpr std::uint64_t kUnmixFactor = odd_inverse(kMixFactor);

// Ids below 2^18 and fewer than 2^32 pairs.
struct NarrowKeys {
  using Remainder = std::uint32_t;
  using Count = std::uint32_t;
  static constexpr int kBits = 36;  // of a mixed key
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;

  static std::uint64_t mix(std::uint32_t left, std::uint32_t right) {
    return ((static_cast<std::uint64_t>(left) << 18 | right) * kMixFactor) & kMask;
  }
  static std::uint64_t unmix(std::uint64_t mixed) {
    const std::uint64_t key = (mixed * kUnmixFactor) & kMask;
    return key >> 18 << 32 | (key & 0x3FFFF);
  }
};

// Any ids, any counts.
struct WideKeys {
  using Remainder = std::uint64_t;
  using Count = std::uint64_t;
  static constexpr int kBits = 64;

  static std::uint64_t mix(std::uint32_t left, std::uint32_t right) {
    const std::uint64_t key = (static_cast<std::uint64_t>(left) << 32 | right) * kMixFactor;
    return key ^ key >> 32;
  }
  static std::uint64_t unmix(std::uint64_t mixed) { return (mixed ^ mixed >> 32) * kUnmixFactor; }
};

// How mixed keys are cut: into 32 to 1,024 partitions, so that a short input does not touch 1,024 pages.
// (For 60.5 million tokens with 5.2 million distinct pairs, 512 and 2,048 took the same time within 2 %.)
template <class Keys>
class PairPartitioning {
 public:
  using Remainder = typename Keys::Remainder;

  explicit PairPartitioning(std::size_t pairs)
      : partition_bits_(std::clamp(static_cast<int>(std::bit_width(pairs / 4096)), kFewestBits, 10)) {}

  std::size_t size() const { return std::size_t{1} << partition_bits_; }
  int remainder_bits() const { return Keys::kBits - partition_bits_; }

  std::size_t partition(std::uint64_t mixed) const {
    return static_cast<std::size_t>(mixed >> remainder_bits());
  }
  Remainder remainder(std::uint64_t mixed) const {
    return static_cast<Remainder>(mixed & ((std::uint64_t{1} << remainder_bits()) - 1));
  }
  std::uint64_t mixed(std::size_t partition, Remainder remainder) const {
    return static_cast<std::uint64_t>(partition) << remainder_bits() | remainder;
  }

 private:
  static constexpr int kFewestBits = 5;
  static_assert(Keys::kBits - kFewestBits < 8 * static_cast<int>(sizeof(Remainder)),
                "no remainder has all bits set: PairTable marks free slots so");

  int partition_bits_;
};

}  // namespace pyharness
