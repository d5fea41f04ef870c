// The pairs that are most frequent in a sample of the corpus, in a static table that every block of the first
// pass counts in shared memory: what they take, about half of the positions of text, is never partitioned.
// Only a pair whose ids have at most 18 bits fits a slot.
#pragma once

#include "kernels/pairs/partition/block_counts.hpp"
#include "kernels/pairs/partition/codes.hpp"
#include "kernels/pairs/rows.hpp"

namespace pyharness::kernels {

inline constexpr int kHotWays = 2;           // slots of a set: as many tags as one load of 8 bytes brings
inline constexpr unsigned kNoHotPair = ~0u;  // has more bits than any tag

struct alignas(8) HotTags {
  unsigned tag[kHotWays];
};

// The table on the device. A set is the high part of the hash, and a tag is the low bits of the hash, which
// tell the hashes of a set apart, then the base.
struct HotPairs {
  static constexpr int kLowBits = 6;

  HotTags* tags = nullptr;     // [size]
  unsigned* counts = nullptr;  // [size] of the first slots, then of the second ones: those of a round
  unsigned size = 0;           // sets, at least 2^(14 - 6); 0: there is no table

  PH_DEVICE unsigned set_of(PairCode<std::uint32_t> code) const { return code.hash * size >> kHashBits; }
  PH_DEVICE unsigned tag_of(PairCode<std::uint32_t> code) const {
    return (code.hash & ((1u << kLowBits) - 1)) << kBaseBits<std::uint32_t> | code.base;
  }
  PH_DEVICE Word key(unsigned set, int way) const {
    constexpr unsigned kMask = (1u << kBaseBits<std::uint32_t>)-1;
    const unsigned tag = tags[set].tag[way];
    const unsigned first = ((set << kHashBits) + size - 1) / size;  // hash of the set
    const unsigned above = ((tag >> kBaseBits<std::uint32_t>)-first) & ((1u << kLowBits) - 1);
    return PairCode<std::uint32_t>{first + above, tag & kMask}.key();
  }
};
static_assert(kFewestHotSlots / kHotWays >= 1 << (kHashBits - HotPairs::kLowBits),
              "low bits tell hashes apart");
static_assert(HotPairs::kLowBits + kBaseBits<std::uint32_t> < 32, "a tag and a bit to spare fit 4 bytes");

// A block's copy of the table.
class BlockHotPairs {
 public:
  static constexpr std::size_t bytes(unsigned sets) {
    return sets * sizeof(HotTags) + BlockCounts::bytes(kHotWays * sets);
  }

  PH_DEVICE BlockHotPairs(void* memory, const HotPairs& all)
      : all_(all),
        tags_(static_cast<HotTags*>(memory)),
        counts_(tags_ + all.size, kHotWays * all.size, all.counts) {}

  PH_DEVICE void* end() const { return counts_.end(); }
  // Between barriers.
  PH_DEVICE void start() {
    for (unsigned set = threadIdx.x; set < all_.size; set += blockDim.x) tags_[set] = all_.tags[set];
    counts_.start();
  }
  // Whether the pair is one of the table's: then it is counted.
  PH_DEVICE bool add(PairCode<std::uint32_t> code) {
    const unsigned set = all_.set_of(code);
    const unsigned tag = all_.tag_of(code);
    const HotTags tags = tags_[set];
    if (tags.tag[0] != tag && tags.tag[1] != tag) return false;
    counts_.add(set, tags.tag[1] == tag);
    return true;
  }
  // Between barriers.
  PH_DEVICE void finish() const { counts_.finish(); }

 private:
  HotPairs all_;
  HotTags* tags_;
  BlockCounts counts_;
};

// The most frequent pairs of every set, as count << 32 | tag, the first before the second; 0 is none. Each
// row goes to the first place, and the smaller of the two to the second.
PH_GLOBAL void rank_hot_pairs(RowsView rows, std::size_t size, HotPairs hot, Word* ranked) {
  for (std::size_t row = row_index(); row < size; row += row_stride()) {
    const Word key = rows.key_at(row);
    const auto code =
        PairCode<std::uint32_t>::of(static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key));
    Word mine = rows.count_at(row) << 32 | hot.tag_of(code);
    Word* const places = &ranked[std::size_t{kHotWays} * hot.set_of(code)];
    for (int way = 0; way < kHotWays; ++way) {
      const Word other = atomicMax(&places[way], mine);
      if (other < mine) mine = other;
    }
  }
}

// The table of these, and their count.
PH_GLOBAL void fill_hot_pairs(const Word* ranked, HotPairs hot, Word* covered) {
  for (std::size_t set = row_index(); set < hot.size; set += row_stride()) {
    for (int way = 0; way < kHotWays; ++way) {
      const Word pair = ranked[kHotWays * set + static_cast<std::size_t>(way)];
      hot.tags[set].tag[way] = pair == 0 ? kNoHotPair : static_cast<unsigned>(pair);
      if (pair != 0) atomicAdd(covered, pair >> 32);
    }
  }
}

}  // namespace pyharness::kernels
