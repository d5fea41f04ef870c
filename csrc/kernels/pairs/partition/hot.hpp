// The pairs that are most frequent in a sample of the corpus, in a static table that every block of the first
// pass counts in shared memory: what they take, about half of the positions of text, is never partitioned.
// Only a pair whose ids have at most 18 bits fits a slot.
#pragma once

#include "kernels/pairs/partition/codes.hpp"
#include "kernels/pairs/rows.hpp"

namespace pyharness::kernels {

inline constexpr int kHotWays = 2;           // slots of a set: as many as one load of 8 bytes brings
inline constexpr unsigned kNoHotPair = ~0u;  // has more bits than any tag

struct alignas(8) HotTags {
  unsigned tag[kHotWays];
};
struct HotSet {
  HotTags tags;
  unsigned counts[kHotWays];
};

// The table on the device: blocks copy its tags and add up their counts. A set is the high bits of the hash,
// and a tag is the others, then the base.
struct HotPairs {
  HotSet* sets = nullptr;
  unsigned size = 0;  // sets, a power of two; 0: there is no table
  int shift = 0;      // hash >> shift is the set

  PH_DEVICE unsigned set_of(PairCode<std::uint32_t> code) const { return code.hash >> shift; }
  PH_DEVICE unsigned tag_of(PairCode<std::uint32_t> code) const {
    return (code.hash & ((1u << shift) - 1)) << kBaseBits<std::uint32_t> | code.base;
  }
  PH_DEVICE Word key(unsigned set, int way) const {
    constexpr unsigned kMask = (1u << kBaseBits<std::uint32_t>)-1;
    const unsigned tag = sets[set].tags.tag[way];
    return PairCode<std::uint32_t>{set << shift | tag >> kBaseBits<std::uint32_t>, tag & kMask}.key();
  }
};

constexpr int hot_shift(int sets) {
  int shift = kHashBits;
  for (; sets > 1; sets /= 2) --shift;
  return shift;
}
static_assert(hot_shift(kFewestHotSlots / kHotWays) + kBaseBits<std::uint32_t> < 32,
              "a tag and a bit to spare fit 4 bytes");

// A block's copy of the table.
class BlockHotPairs {
 public:
  PH_DEVICE BlockHotPairs(void* memory, const HotPairs& all)
      : all_(all), sets_(static_cast<HotSet*>(memory)) {}

  PH_DEVICE void* end() const { return sets_ + all_.size; }
  // Between barriers.
  PH_DEVICE void start() {
    for (unsigned set = threadIdx.x; set < all_.size; set += blockDim.x)
      sets_[set] = {all_.sets[set].tags, {0, 0}};
  }
  // Whether the pair is one of the table's: then it is counted.
  PH_DEVICE bool add(PairCode<std::uint32_t> code) {
    HotSet& set = sets_[all_.set_of(code)];
    const HotTags tags = set.tags;
    const unsigned tag = all_.tag_of(code);
    if (tags.tag[0] != tag && tags.tag[1] != tag) return false;
    atomicAdd(&set.counts[tags.tag[0] == tag ? 0 : 1], 1u);
    return true;
  }
  // Between barriers.
  PH_DEVICE void finish() const {
    for (unsigned set = threadIdx.x; set < all_.size; set += blockDim.x)
      for (int way = 0; way < kHotWays; ++way)
        if (sets_[set].counts[way] != 0) atomicAdd(&all_.sets[set].counts[way], sets_[set].counts[way]);
  }

 private:
  HotPairs all_;
  HotSet* sets_;
};

// Fills an empty table with the first of `size` ordered rows: those of a full set have none. `covered`
// becomes their count.
PH_GLOBAL void fill_hot_pairs(RowsView rows, std::size_t size, HotPairs hot, Word* covered) {
  for (std::size_t row = row_index(); row < size; row += row_stride()) {
    const Word key = rows.key_at(row);
    const auto code =
        PairCode<std::uint32_t>::of(static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key));
    HotTags& tags = hot.sets[hot.set_of(code)].tags;
    for (int way = 0; way < kHotWays; ++way) {
      if (atomicCAS(&tags.tag[way], kNoHotPair, hot.tag_of(code)) != kNoHotPair) continue;
      atomicAdd(covered, rows.count_at(row));
      break;
    }
  }
}

// Before a round. The tags stay.
PH_GLOBAL void clear_hot_counts(HotPairs hot) {
  for (std::size_t set = row_index(); set < hot.size; set += row_stride())
    for (int way = 0; way < kHotWays; ++way) hot.sets[set].counts[way] = 0;
}

}  // namespace pyharness::kernels
