#include "core/merging/piece_merger/pairs.hpp"

#include <algorithm>
#include <bit>

namespace pyharness {

// A third full on average: a bucket in fifteen is full, and a search goes on to the next one.
PairTable::PairTable(std::size_t merges)
    : mask_(std::bit_ceil(2 * merges / kSlots + 2) - 1),
      shift_(static_cast<unsigned>(std::countl_zero(mask_))),
      pages_((mask_ + 1) * sizeof(Bucket)),
      byte_pairs_(kBytes * kBytes, kNoMerge) {}

void PairTable::add(std::uint32_t left, std::uint32_t right, std::uint32_t result) {
  const std::uint64_t key = key_of(left, right);
  std::size_t at = bucket_of(key);
  while (buckets()[at].slots[kSlots - 1] != kFree) at = (at + 1) & mask_;
  *std::find(buckets()[at].slots.begin(), buckets()[at].slots.end(), kFree) = key << kSymbolBits | result;
  if (left < kBytes && right < kBytes) byte_pairs_[left << 8 | right] = result;
}

}  // namespace pyharness
