// A pair of ids as 14 bits of a hash and a base: a bijection, so that the bits of the hash that a bucket's
// number holds need not be stored. With ids below 2^18 what is left of a pair fits 31 bits, and it moves as 4
// bytes instead of 8.
//
// One round of a Feistel network: the low bits of the left id are added (xor) to a hash of everything else.
// Pairs that differ in those bits alone never share a bucket; the others are spread by the hash.
#pragma once

#include "kernels/exec.hpp"
#include "kernels/pairs/pair_histogram.hpp"

namespace pyharness::kernels {

inline constexpr int kHashBits = kMostBucketBits;
inline constexpr unsigned kMostBins = 1u << kHashBits / 2;  // that a pass tells apart

// Bits of ids whose pairs leave a Rest, and of a pair's base: both ids without the bits that the hash holds.
template <class Rest>
inline constexpr int kIdBits = sizeof(Rest) == 4 ? 18 : 32;
template <class Rest>
inline constexpr int kBaseBits = 2 * kIdBits<Rest> - kHashBits;

PH_DEVICE std::uint32_t spread(std::uint32_t above, std::uint32_t right) {
  std::uint32_t hash = right * 0x9E3779B1u + above * 0x85EBCA77u;
  hash = (hash ^ hash >> 15) * 0x2C1B3C6Du;
  return (hash >> 16 ^ hash >> 8) & ((1u << kHashBits) - 1);
}

template <class Rest>
struct PairCode {
  unsigned hash;
  Rest base;

  // Of ids with more bits it is a code of another pair: the caller has to look at the ids.
  PH_DEVICE static PairCode of(std::uint32_t left, std::uint32_t right) {
    constexpr Rest kMask = static_cast<Rest>(~Rest{0}) >> (8 * sizeof(Rest) - kBaseBits<Rest>);
    const std::uint32_t above = left >> kHashBits;
    return {(left & ((1u << kHashBits) - 1)) ^ spread(above, right),
            (static_cast<Rest>(above) << kIdBits<Rest> | static_cast<Rest>(right)) & kMask};
  }
  // left << 32 | right.
  PH_DEVICE Word key() const {
    constexpr Rest kMask = static_cast<Rest>(~Rest{0}) >> (8 * sizeof(Rest) - kIdBits<Rest>);
    const auto above = static_cast<std::uint32_t>(base >> kIdBits<Rest>);
    const auto right = static_cast<std::uint32_t>(base & kMask);
    return static_cast<Word>(above << kHashBits | (hash ^ spread(above, right))) << 32 | right;
  }
};

// How the passes of a round tell buckets apart. A bucket's number is the high bits of the hash: those of its
// coarse bucket, by which the first pass scatters, then those by which the second does. What the first leaves
// of a pair, its rest, is the low bits of the hash, then the base.
struct PairBuckets {
  int coarse_shift;  // hash >> coarse_shift is the coarse bucket
  int shift;         // hash >> shift is the bucket

  PH_HOST_DEVICE unsigned size() const { return 1u << (kHashBits - shift); }
  PH_HOST_DEVICE unsigned coarse_size() const { return 1u << (kHashBits - coarse_shift); }
  PH_HOST_DEVICE unsigned fine_size() const { return 1u << (coarse_shift - shift); }

  template <class Rest>
  PH_DEVICE Rest rest(PairCode<Rest> code) const {
    return static_cast<Rest>(code.hash & ((1u << coarse_shift) - 1)) << kBaseBits<Rest> | code.base;
  }
  template <class Rest>
  PH_DEVICE unsigned fine(Rest rest) const {
    return static_cast<unsigned>(rest >> kBaseBits<Rest>) >> shift;
  }
  template <class Rest>
  PH_DEVICE PairCode<Rest> code(unsigned bucket, Rest rest) const {
    constexpr Rest kMask = static_cast<Rest>(~Rest{0}) >> (8 * sizeof(Rest) - kBaseBits<Rest>);
    const unsigned coarse = bucket >> (coarse_shift - shift);
    return {coarse << coarse_shift | static_cast<unsigned>(rest >> kBaseBits<Rest>), rest & kMask};
  }
};

constexpr PairBuckets buckets_for(int bits) { return {kHashBits - (bits - bits / 2), kHashBits - bits}; }

constexpr bool has_a_bit_to_spare(int bits) {  // all ones is then no rest
  return buckets_for(bits).coarse_shift + kBaseBits<std::uint32_t> < 32;
}
static_assert(has_a_bit_to_spare(kFewestBucketBits) && has_a_bit_to_spare(kMostBucketBits),
              "a pair of ids below 2^18 moves as 4 bytes");

}  // namespace pyharness::kernels
