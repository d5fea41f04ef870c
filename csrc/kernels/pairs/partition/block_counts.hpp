// Counts in 16 bits, so that a block's shared memory has room for the sizes of all buckets and for hot pairs.
#pragma once

#include "kernels/exec.hpp"

namespace pyharness::kernels {

// A block's counts of 16 bits in shared memory, which overflow to those of all blocks in global memory. A
// word has two: of a number in the lower half in its low bits, of one in the upper half in the others.
class BlockCounts {
 public:
  static constexpr std::size_t bytes(unsigned size) { return size * 2; }

  PH_DEVICE BlockCounts(void* memory, unsigned size, unsigned* all)
      : words_(static_cast<unsigned*>(memory)), half_(size / 2), all_(all) {}

  PH_DEVICE void* end() const { return words_ + half_; }
  // Between barriers.
  PH_DEVICE void start() {
    for (unsigned at = threadIdx.x; at < half_; at += blockDim.x) words_[at] = 0;
  }
  // Number half * upper + at. The thread that makes the highest bit of 16 takes it away again; until then the
  // others of a tile add less than as much.
  PH_DEVICE void add(unsigned at, bool upper) {
    const unsigned before = atomicAdd(&words_[at], upper ? 1u << 16 : 1u);
    if ((upper ? before >> 16 : before & 0xffffu) != kHighest - 1) return;
    atomicAdd(&words_[at], 0u - (upper ? kHighest << 16 : kHighest));
    atomicAdd(&all_[upper ? half_ + at : at], kHighest);
  }
  // Between barriers.
  PH_DEVICE void finish() const {
    for (unsigned at = threadIdx.x; at < half_; at += blockDim.x) {
      const unsigned low = words_[at] & 0xffffu;
      const unsigned high = words_[at] >> 16;
      if (low != 0) atomicAdd(&all_[at], low);
      if (high != 0) atomicAdd(&all_[half_ + at], high);
    }
  }

 private:
  static constexpr unsigned kHighest = 1u << 15;
  unsigned* words_;
  unsigned half_;
  unsigned* all_;
};

}  // namespace pyharness::kernels
