// A pair of ids as the bucket that it is counted in, and the rest of it: a bijection, so that the rest says
// nothing twice and is short. With ids below 2^18 it fits 31 bits, and a pair moves as 4 bytes instead of 8.
//
// One round of a Feistel network: the low bits of the left id are added (xor) to a hash of everything else.
// Pairs that differ in those bits alone never share a bucket; the others are spread by the hash.
#pragma once

#include "kernels/exec.hpp"
#include "kernels/pairs/pair_histogram.hpp"

namespace pyharness::kernels {

inline constexpr int kMostPassBits = 8;  // of a bucket's number that one pass tells apart
inline constexpr int kFewestBucketBits = 6;

struct PairCodes {
  int bucket_bits = 0;  // at least 1, so that no rest has 64 bits: all ones is no pair
  int fine_bits = 0;    // of the bucket's number, which the second pass tells apart; 0: there is none
  int id_bits = 0;      // of the right id; ids are below 2^id_bits
  int left_bits = 0;    // of the left id above its lowest bucket_bits
  unsigned mask = 0;    // of a bucket's number

  PH_DEVICE unsigned bucket(std::uint32_t left, std::uint32_t right) const {
    return (left ^ spread(left >> bucket_bits, right)) & mask;
  }
  PH_DEVICE unsigned coarse(unsigned bucket) const { return bucket >> fine_bits; }

  // What the first pass leaves of a pair: the bucket within its coarse one, then the rest.
  template <class Rest>
  PH_DEVICE Rest rest(unsigned bucket, std::uint32_t left, std::uint32_t right) const {
    const Rest fine = bucket & ((1u << fine_bits) - 1);
    return (fine << left_bits | static_cast<Rest>(left >> bucket_bits)) << id_bits | static_cast<Rest>(right);
  }
  template <class Rest>
  PH_DEVICE unsigned fine(Rest rest) const {
    return static_cast<unsigned>(rest >> left_bits >> id_bits);
  }
  // left << 32 | right.
  PH_DEVICE Word key(unsigned bucket, Word rest) const {
    const auto right = static_cast<std::uint32_t>(rest & ((Word{1} << id_bits) - 1));
    const auto above = static_cast<std::uint32_t>(rest >> id_bits & ((Word{1} << left_bits) - 1));
    const std::uint32_t low = (bucket ^ spread(above, right)) & mask;
    return static_cast<Word>(above << bucket_bits | low) << 32 | right;
  }

 private:
  PH_DEVICE static std::uint32_t spread(std::uint32_t above, std::uint32_t right) {
    std::uint32_t hash = right * 0x9E3779B1u + above * 0x85EBCA77u;
    hash = (hash ^ hash >> 15) * 0x2C1B3C6Du;
    return hash >> 16 ^ hash >> 8;
  }
};

// `ids` has at least as many bits as the largest id. One pass tells 2^kMostPassBits buckets apart.
constexpr PairCodes codes_for(int bucket_bits, Word ids) {
  PairCodes codes;
  codes.bucket_bits = bucket_bits;
  codes.mask = (1u << bucket_bits) - 1;
  codes.fine_bits = bucket_bits <= kMostPassBits ? 0 : bucket_bits / 2;
  while (codes.id_bits < 32 && ids >> codes.id_bits != 0) ++codes.id_bits;
  codes.left_bits = codes.id_bits > bucket_bits ? codes.id_bits - bucket_bits : 0;
  return codes;
}
constexpr int rest_bits(const PairCodes& codes) { return codes.fine_bits + codes.left_bits + codes.id_bits; }
constexpr int most_rest_bits(Word ids) {
  int most = 0;
  for (int bits = kFewestBucketBits; bits <= kMostBucketBits; ++bits) {
    const int rest = rest_bits(codes_for(bits, ids));
    most = rest > most ? rest : most;
  }
  return most;
}
static_assert(most_rest_bits((1u << 18) - 1) == 31, "a pair of such ids moves as 4 bytes");

// The lanes of a warp that have what its first lane has: they add as one, for thousands of additions to one
// address of shared memory would queue. Where a pair is frequent, the first lane has it.
struct Crowd {
  unsigned lanes;
  bool has_me;

  template <class Value>
  PH_DEVICE static Crowd of(Value value) {
    const bool has_me = value == __shfl_sync(0xffffffffu, value, 0);
    return {__ballot_sync(0xffffffffu, has_me), has_me};
  }
  PH_DEVICE bool speaks() const { return !has_me || threadIdx.x % 32 == 0; }
  PH_DEVICE unsigned size() const { return has_me ? static_cast<unsigned>(__popc(lanes)) : 1; }
  // Of a lane in the crowd.
  PH_DEVICE unsigned rank() const {
    return static_cast<unsigned>(__popc(lanes & ((1u << threadIdx.x % 32) - 1)));
  }
};

}  // namespace pyharness::kernels
