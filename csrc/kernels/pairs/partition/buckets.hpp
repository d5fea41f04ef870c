// The kernel that counts the pairs of a bucket in shared memory, and writes their rows.
#pragma once

#include <type_traits>

#include "kernels/pairs/partition/passes.hpp"

namespace pyharness::kernels {

// Where rows go: those of whole buckets from the first place on, those of parts from the last one down.
struct RowPlaces {
  Word* key;
  Word* count;
  std::size_t places;
  RowBits bits;
  unsigned* taken;  // of parts, of whole buckets

  PH_DEVICE void put(std::size_t place, bool whole, Word its_key, Word its_count) const {
    const std::size_t at = whole ? place : places - 1 - place;
    if (bits.counts != 0) {
      key[at] = pack(bits, its_key, its_count);
    } else {
      key[at] = its_key;
      count[at] = its_count;
    }
  }
};

// Rests and counts of a part in shared memory: open addressing with linear probing.
template <class Rest, class Count>
class BucketTable {
 public:
  static constexpr Rest kFree = static_cast<Rest>(~Rest{0});  // has a bit more than any rest
  static constexpr unsigned kProbes = 64;
  static constexpr std::size_t bytes(int slots) { return slots * (sizeof(Rest) + sizeof(Count)); }

  PH_DEVICE BucketTable(Word* memory, int slots)
      : counts_(reinterpret_cast<Count*>(memory)),
        rests_(reinterpret_cast<Rest*>(counts_ + slots)),
        slots_(static_cast<unsigned>(slots)) {}

  PH_DEVICE void clear() {
    for (unsigned at = threadIdx.x; at < slots_; at += blockDim.x) {
      rests_[at] = kFree;
      counts_[at] = 0;
    }
  }

  // False when neither the rest nor a free slot is within kProbes: never with that many rests or fewer.
  PH_DEVICE bool add(Rest rest, Count times) {
    unsigned at =
        static_cast<unsigned>(rest * static_cast<Rest>(0x9E3779B97F4A7C15u) >> (8 * sizeof(Rest) - 20)) &
        (slots_ - 1);
#pragma unroll 1
    for (unsigned probe = 0; probe < kProbes; ++probe, at = (at + 1) & (slots_ - 1)) {
      Rest held = ph_relaxed_load_shared(&rests_[at]);
      if (held == kFree) held = atomicCAS(&rests_[at], kFree, rest);
      if (held != kFree && held != rest) continue;
      atomicAdd(&counts_[at], times);
      return true;
    }
    return false;
  }

  PH_DEVICE unsigned slots() const { return slots_; }
  PH_DEVICE bool taken(unsigned at) const { return rests_[at] != kFree; }
  PH_DEVICE Rest rest(unsigned at) const { return rests_[at]; }
  PH_DEVICE Count count(unsigned at) const { return counts_[at]; }

 private:
  Count* counts_;
  Rest* rests_;
  unsigned slots_;
};

// Which rests a table takes at a time: all of them, or one of 2^bits shares, by a hash that loses nothing, so
// that a share halves until it fits, at last to one rest. What comes behind it is taken in shares as large as
// possible again: rests whose hashes are alike cost one share of each size, and not 2^bits.
struct Share {
  int bits = 0;
  Word number = 0;

  template <class Rest>
  PH_DEVICE bool has(Rest rest) const {
    constexpr int kWidth = 8 * sizeof(Rest);
    if (bits == 0) return true;
    return rest * static_cast<Rest>(0xD6E8FEB86659FD93u) >> (kWidth - bits) == number;
  }
  PH_DEVICE void halve() {
    ++bits;
    number *= 2;
  }
  // Whether there is a next one.
  PH_DEVICE bool advance() {
    for (++number; bits > 0 && number % 2 == 0; --bits) number /= 2;
    return bits > 0;
  }
};

// What a block shares beside the table.
struct CountingPart {
  unsigned overflows;
  unsigned rows;   // in the table
  unsigned place;  // of the first of them
  unsigned put;    // of them
};

// Adds the rests of a part that are in the share; ends early where the table overflows.
template <class Rest, class Count, bool kWeighted>
PH_DEVICE void fill_table(const BucketPart& part, const Rests<Rest>& from, const Share& share,
                          BucketTable<Rest, Count>& table, CountingPart& block) {
  constexpr int kInFlight = 4;
  const unsigned step = blockDim.x;
  for (unsigned first = part.begin; first < part.end; first += kInFlight * step) {
    Rest rest[kInFlight];
    Count weight[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const unsigned at = first + static_cast<unsigned>(k) * step + threadIdx.x;
      const bool is_pair = at < part.end;
      rest[k] = is_pair ? from.rest[at] : table.kFree;
      weight[k] = kWeighted && is_pair ? static_cast<Count>(from.weight[at]) : Count{1};
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (rest[k] == table.kFree || !share.has(rest[k])) continue;
      if (!table.add(rest[k], weight[k])) atomicExch(&block.overflows, 1u);
    }
    if (__any_sync(0xffffffffu, ph_relaxed_load_shared(&block.overflows) != 0)) break;
  }
}

// The rows of the table, behind those that other tables have put there.
template <class Rest, class Count>
PH_DEVICE void empty_table(const BucketPart& part, const PairBuckets& buckets,
                           const BucketTable<Rest, Count>& table, CountingPart& block, const RowPlaces& to) {
  unsigned rows = 0;
  for (unsigned at = threadIdx.x; at < table.slots(); at += blockDim.x) rows += table.taken(at);
  for (int flip = 16; flip > 0; flip /= 2) rows += __shfl_xor_sync(0xffffffffu, rows, flip);
  if (threadIdx.x % 32 == 0) atomicAdd(&block.rows, rows);
  __syncthreads();
  if (threadIdx.x == 0) block.place = atomicAdd(&to.taken[part.whole], block.rows);
  __syncthreads();
  for (unsigned first = 0; first < table.slots(); first += blockDim.x) {
    const unsigned at = first + threadIdx.x;
    const bool taken = at < table.slots() && table.taken(at);
    const std::size_t place = std::size_t{block.place} + place_among(taken, &block.put);
    if (taken)
      to.put(place, part.whole != 0, buckets.code(part.bucket, table.rest(at)).key(), table.count(at));
  }
}

// Counts every part, and writes its rows. A part whose pairs overflow the table is read again, a share of
// them at a time.
template <class Rest, bool kWeighted, class Count = std::conditional_t<kWeighted, Word, unsigned>>
PH_GLOBAL void __launch_bounds__(kMostPartitionThreads, 2)
    count_parts(const BucketPart* parts, const RoundTotals* totals, PairBuckets buckets, Rests<Rest> from,
                int slots, RowPlaces to) {
  PH_DYNAMIC_SHARED(Word, memory);
  PH_SHARED(CountingPart, shared, 1);
  CountingPart& block = shared[0];
  BucketTable<Rest, Count> table(memory, slots);
  for (unsigned number = blockIdx.x; number < totals->parts; number += gridDim.x) {
    const BucketPart part = parts[number];
    Share share;
    for (bool more = true; more;) {
      table.clear();
      if (threadIdx.x == 0) block = {};
      __syncthreads();
      fill_table<Rest, Count, kWeighted>(part, from, share, table, block);
      __syncthreads();
      if (block.overflows != 0) {
        share.halve();
      } else {
        empty_table(part, buckets, table, block, to);
        more = share.advance();
      }
      __syncthreads();
    }
  }
}

// The rows of the hot pairs that a round has met: all there is of their pairs. Threads come in whole warps.
PH_GLOBAL void put_hot_rows(HotPairs hot, RowPlaces to) {
  const unsigned set = static_cast<unsigned>(row_index());
  for (int way = 0; way < kHotWays; ++way) {
    const unsigned count = set < hot.size ? hot.counts[static_cast<unsigned>(way) * hot.size + set] : 0;
    const unsigned place = place_among(count != 0, &to.taken[1]);
    if (count != 0) to.put(place, true, hot.key(set, way), count);
  }
}

}  // namespace pyharness::kernels
