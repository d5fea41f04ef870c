#include "core/piece_merger_pairs.hpp"

#include <algorithm>
#include <bit>

namespace pyharness {

// A third full on average: a bucket in fifteen is full, and a search goes on to the next one.
PairTable::PairTable(std::size_t merges)
    : buckets_(std::bit_ceil(2 * merges / kSlots + 2)),
      mask_(buckets_.size() - 1),
      shift_(64 - static_cast<unsigned>(std::countr_zero(buckets_.size()))),
      byte_pairs_(kBytes * kBytes, kNoMerge) {}

void PairTable::add(std::uint32_t left, std::uint32_t right, std::uint32_t result) {
  const std::uint64_t key = key_of(left, right);
  std::size_t at = bucket_of(key);
  while (buckets_[at].slots[kSlots - 1] != kFree) at = (at + 1) & mask_;
  *std::find(buckets_[at].slots.begin(), buckets_[at].slots.end(), kFree) = key << kSymbolBits | result;
  if (left < kBytes && right < kBytes) byte_pairs_[left << 8 | right] = result;
}

}  // namespace pyharness
