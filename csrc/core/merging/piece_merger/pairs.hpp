// The pairs that merge in a byte-level BPE model, reduced to those that can ever be applied.
//
// Whatever bytes a symbol covers, no merge crossed their ends before it was made, so it was made by the
// merges that those bytes alone go through. Their last one is always the same: per byte string at most one
// pair is ever applied, and a token whose bytes do not encode to itself never appears. A pair that is never
// applied is never the best one either, so leaving it out changes nothing.
//
// Symbols are numbered so that their order is the order of the merges: 0..255 are the bytes, 256 + i is what
// the i-th merge makes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/machine/zeroed_pages.hpp"

namespace pyharness {

class PairTable {
 public:
  static constexpr std::uint32_t kBytes = 256;
  static constexpr unsigned kSymbolBits = 21;  // left, right and result in one word
  static constexpr std::uint32_t kNoMerge = (1u << kSymbolBits) - 1;
  static constexpr std::uint32_t kNoSymbol = kNoMerge;  // merges with nothing
  static constexpr std::uint32_t kMostSymbols = kNoSymbol;

  // `merges`: how many pairs will be added at most.
  explicit PairTable(std::size_t merges);

  // The pair is new.
  void add(std::uint32_t left, std::uint32_t right, std::uint32_t result);

  // Where a pair is looked for. Made and asked for early, it has come when find() looks at it.
  struct Query {
    std::uint64_t key;  // as it stands in a slot, with 0 for the result
    std::size_t bucket;
  };
  Query query(std::uint32_t left, std::uint32_t right) const {
    const std::uint64_t key = key_of(left, right);
    return {key << kSymbolBits, bucket_of(key)};
  }
  void prefetch(const Query& wanted) const { __builtin_prefetch(&buckets()[wanted.bucket]); }

  // What the pair makes, or kNoMerge. Looks at all slots of a bucket without a branch: where a pair is, and
  // whether it is there at all, nothing predicts.
  std::uint32_t find(const Query& wanted) const {
    for (std::size_t at = wanted.bucket;; at = (at + 1) & mask_) {
      const Bucket& bucket = buckets()[at];
      std::uint64_t result = kNoMerge;
      // Other pairs differ in the bits above, which makes them larger than any result.
      for (const std::uint64_t slot : bucket.slots) result = std::min(result, slot ^ wanted.key);
      if (result != kNoMerge || bucket.slots[kSlots - 1] == kFree) [[likely]]
        return static_cast<std::uint32_t>(result);
    }
  }
  std::uint32_t find(std::uint32_t left, std::uint32_t right) const {
    // The first merges of most pieces, most of them from few cache lines.
    if ((left | right) < kBytes) return byte_pairs_[left << 8 | right];
    return find(query(left, right));
  }

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::uint64_t kFree = 0;  // no key is 0
  struct alignas(kSlots * 8) Bucket {
    std::array<std::uint64_t, kSlots> slots;  // key | result
  };

  Bucket* buckets() const { return static_cast<Bucket*>(pages_.data()); }

  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
    return (static_cast<std::uint64_t>(left) << kSymbolBits | right) + 1;
  }
  std::size_t bucket_of(std::uint64_t key) const { return key * 0x9E3779B97F4A7C15u >> shift_; }

  std::size_t mask_;
  unsigned shift_;
  ZeroedPages pages_;
  std::vector<std::uint32_t> byte_pairs_;
};

}  // namespace pyharness
