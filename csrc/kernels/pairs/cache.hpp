// A block's shared-memory table of the pairs that it meets often, in front of the counters of method "dense".
//
// First come, first kept absorbs 8 to 21 % of the pairs of real text (11,953,344 pairs of GPT-2 tokens,
// English and code, 2,048 to 16,384 slots): the slots fill with what is rare. Dropping the rare when the
// cache is crowded raises that to 45, 50, 55, 58 % at 2,048, 4,096, 8,192, 16,384 slots; the hottest pairs of
// the whole corpus, known beforehand, would take 38, 44, 50, 57 %. (Counted on a CPU model of one block's
// share, 8 probes.)
#pragma once

#include "kernels/exec.hpp"
#include "kernels/pairs/pair_histogram.hpp"

namespace pyharness::kernels {

PH_DEVICE Word mix(Word tag) {
  tag *= 0x9E3779B97F4A7C15u;
  return tag ^ tag >> 32;
}

// A free slot has tag 0, so that clearing is cheap: keys are stored complemented. Two ids of 2^32 - 1 have no
// tag; they are above what "dense" counts. Count is unsigned where every pair counts once: shared memory adds
// 32 bits in one instruction and 64 in a loop, and a launch counts fewer than 2^32 positions.
template <class Count>
class PairCache {
 public:
  static constexpr unsigned kProbes = 8;
  static constexpr std::size_t bytes(int slots) { return slots * (sizeof(Word) + sizeof(Count)); }

  PH_DEVICE PairCache(Word* memory, int slots)
      : tags_(memory),
        counts_(reinterpret_cast<Count*>(memory + slots)),
        slots_(static_cast<unsigned>(slots)) {}

  PH_DEVICE void clear() {
    for (unsigned at = threadIdx.x; at < slots_; at += blockDim.x) {
      tags_[at] = 0;
      counts_[at] = 0;
    }
  }

  // False when neither the key nor a free slot is near. A key may come to stand in two slots once eviction
  // has freed one before it; both counts reach the table. `used` counts the slots that the calling thread
  // takes.
  PH_DEVICE bool add(Word key, Count times, unsigned& used) {
    const Word tag = ~key;
    unsigned at = static_cast<unsigned>(mix(tag) >> 40) & (slots_ - 1);
    for (unsigned probe = 0; probe < kProbes; ++probe, at = (at + 1) & (slots_ - 1)) {
      Word held = ph_relaxed_load_shared(&tags_[at]);
      if (held == 0) {
        held = atomicCAS(&tags_[at], Word{0}, tag);
        used += held == 0;
      }
      if (held != 0 && held != tag) continue;
      atomicAdd(&counts_[at], times);
      return true;
    }
    return false;
  }

  // Hands every slot whose count is not to be kept to flush(key, count), and frees it. Between barriers.
  template <class Keep, class Flush>
  PH_DEVICE void evict(Keep&& keep, Flush&& flush) {
    for (unsigned at = threadIdx.x; at < slots_; at += blockDim.x) {
      if (tags_[at] == 0 || keep(counts_[at])) continue;
      flush(~tags_[at], counts_[at]);
      tags_[at] = 0;
      counts_[at] = 0;
    }
  }

 private:
  Word* tags_;
  Count* counts_;
  unsigned slots_;
};

}  // namespace pyharness::kernels
