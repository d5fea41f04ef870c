// The global table of pairs: open addressing with linear probing over 16-byte slots, key and count in one
// sector.
//
// No count is ever lost, because no insertion can fail: a block takes a tile only after it has reserved a
// slot for every key that it may insert until its next reservation. Slots in use and slots reserved together
// never pass half of the table; a block that gets no reservation empties its cache (which its last
// reservation covers), notes which tile it would have taken, and ends. The host then moves the table to a
// larger one and starts the kernel again from there.
#pragma once

#include "kernels/exec.hpp"
#include "kernels/pairs/pair_histogram.hpp"

namespace pyharness::kernels {

// Keys are stored complemented, so that a free slot is zero and clearing is a memset. One pair has no tag
// then, (2^32 - 1, 2^32 - 1): it is counted apart.
PH_DEVICE Word tag_of(Word key) { return ~key; }

PH_DEVICE Word mix(Word tag) {
  tag *= 0x9E3779B97F4A7C15u;
  return tag ^ tag >> 32;
}

struct PairSlot {
  Word tag;  // 0: free
  Word count;
};

struct HashTableState {
  Word promised;  // slots in use and reserved; between launches, slots in use
  Word stopped;   // blocks that ended for want of room
  Word untagged;  // count of the pair without a tag
};

struct HashTable {
  PairSlot* slots;
  Word mask;  // slots - 1
  HashTableState* state;

  PH_DEVICE bool reserve(Word room) const {
    if (atomicAdd(&state->promised, room) + room <= (mask + 1) / 2) return true;
    atomicAdd(&state->promised, Word{0} - room);
    atomicAdd(&state->stopped, Word{1});
    return false;
  }
  PH_DEVICE void release(Word room) const { atomicAdd(&state->promised, Word{0} - room); }

  // Whether the key is new.
  PH_DEVICE bool add(Word tag, Word times) const {
    for (Word at = mix(tag) & mask;; at = (at + 1) & mask) {
      PairSlot& slot = slots[at];
      Word held = ph_relaxed_load(&slot.tag);
      if (held == 0) held = atomicCAS(&slot.tag, Word{0}, tag);
      if (held != 0 && held != tag) continue;
      atomicAdd(&slot.count, times);
      return held == 0;
    }
  }
  PH_DEVICE bool holds(Word) const { return true; }
  PH_DEVICE void refuse(std::int64_t) const {}
  PH_DEVICE void add_untagged(Word times) const { atomicAdd(&state->untagged, times); }
};

}  // namespace pyharness::kernels
