// The kernel of the hash and the dense counter: a cache of hot pairs per block in front of a global table.
//
// `Table` is what the block reaches through it:
//   bool reserve(Word room) const; void release(Word room) const;   room for keys that may turn out to be new
//   bool add(Word tag, Word times) const;                           whether the key was new
//   void add_untagged(Word times) const;                            for the pair without a tag
//   bool holds(Word key) const;                                     whether the ids fit the table
//   void refuse(std::int64_t position) const;                       told of the pairs that do not
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/pairs/cache.hpp"
#include "kernels/pairs/positions.hpp"

namespace pyharness::kernels {

// Per multiprocessor. A cache of 96 KiB leaves room for two on the multiprocessors of 228 KiB (sm_90, sm_100)
// and for one on the smaller ones; two of 768 threads leave every thread 42 registers, where 1,024 leave 32
// and it spills.
inline constexpr int kPairBlocks = 2;

// What the threads of a block share beside the cache.
struct CountingBlock {
  unsigned used;      // slots of the cache
  unsigned inserted;  // keys that were new to the table since the last reservation
  unsigned reserved;
  unsigned goes_on;
  Word threshold;  // pairs that the block counted less often leave a crowded cache
};

// Whole warps inside a document of one repeated token would queue at one address; adding for all lanes at
// once costs the others two shuffles and a vote. Aggregating partial matches is not worth its instructions:
// in real text the most frequent pair is far below one in 32.
PH_DEVICE bool speaks_for_warp(Word key, Word* weight) {
  const Word first = __shfl_sync(0xffffffffu, key, 0);
  const Word first_weight = __shfl_sync(0xffffffffu, *weight, 0);
  if (!__all_sync(0xffffffffu, key == first && *weight == first_weight)) return *weight != 0;
  *weight *= 32;
  return *weight != 0 && threadIdx.x % 32 == 0;
}

template <class Table>
PH_DEVICE bool reserve_tile(const Table& table, CountingBlock& block, unsigned room) {
  __syncthreads();
  if (threadIdx.x == 0) {
    block.goes_on = table.reserve(room - (block.reserved - block.inserted));
    if (block.goes_on) {
      block.reserved = room;
      block.inserted = 0;
    }
  }
  __syncthreads();
  return block.goes_on != 0;
}

// Frees the cache of what is rare once it is three quarters full, and moves the meaning of rare so that about
// half of the slots stay.
template <class Table, class Count>
PH_DEVICE void thin_cache(const Table& table, CountingBlock& block, PairCache<Count>& cache, unsigned slots) {
  if (block.used <= slots / 4 * 3) return;
  const Word threshold = block.threshold;
  __syncthreads();
  unsigned freed = 0;
  unsigned inserted = 0;
  cache.evict([=](Count count) { return count >= threshold; },
              [&](Word tag, Count count) {
                inserted += table.add(tag, count);
                ++freed;
              });
  if (freed != 0) atomicAdd(&block.used, 0u - freed);
  if (inserted != 0) atomicAdd(&block.inserted, inserted);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (block.used > slots / 2 && threshold < ~Word{0} / 2)
    block.threshold = threshold * 2;
  else if (block.used < slots / 8 * 3 && threshold > 2)
    block.threshold = threshold / 2;
}

template <bool kSegmented, bool kWeighted, class Table, class Count>
PH_DEVICE void count_tile(const PairChunk& chunk, const std::int64_t* tile_segments, std::int64_t tile,
                          const Table& table, CountingBlock& block, PairCache<Count>& cache) {
  unsigned used = 0;
  unsigned inserted = 0;
  for_each_pair<kSegmented, kWeighted>(chunk, tile_segments, tile,
                                       [&](std::int64_t position, Word key, Word weight) {
                                         if (weight != 0 && !table.holds(key)) {
                                           table.refuse(position);
                                           weight = 0;
                                         }
                                         if (!speaks_for_warp(key, &weight)) return;
                                         const Word tag = tag_of(key);
                                         if (tag == 0)
                                           table.add_untagged(weight);
                                         else if (!cache.add(tag, static_cast<Count>(weight), used))
                                           inserted += table.add(tag, weight);
                                       });
  if (used != 0) atomicAdd(&block.used, used);
  if (inserted != 0) atomicAdd(&block.inserted, inserted);
  __syncthreads();
}

// Block b takes the tiles b, b + blocks, ...; done[b] is how many of them are behind it, before and after.
template <class Table, bool kSegmented, bool kWeighted>
PH_GLOBAL void __launch_bounds__(kMostPairThreads, kPairBlocks)
    count_pairs(PairChunk chunk, const std::int64_t* tile_segments, std::int64_t tiles, Table table,
                int cache_slots, Word* done) {
  using Count = std::conditional_t<kWeighted, Word, unsigned>;
  PH_DYNAMIC_SHARED(Word, memory);
  PH_SHARED(CountingBlock, shared, 1);
  CountingBlock& block = shared[0];
  PairCache<Count> cache(memory, cache_slots);
  cache.clear();
  if (threadIdx.x == 0) block = CountingBlock{0, 0, 0, 0, 2};

  const unsigned room = static_cast<unsigned>(cache_slots) + blockDim.x * kPositionsPerThread;
  Word behind = done[blockIdx.x];
  std::int64_t tile = static_cast<std::int64_t>(blockIdx.x + behind * gridDim.x);
  for (; tile < tiles && reserve_tile(table, block, room); tile += gridDim.x, ++behind) {
    count_tile<kSegmented, kWeighted>(chunk, tile_segments, tile, table, block, cache);
    thin_cache(table, block, cache, static_cast<unsigned>(cache_slots));
  }
  unsigned inserted = 0;  // every way out of the loop has passed a barrier since the cache changed
  cache.evict([](Count) { return false; }, [&](Word tag, Count count) { inserted += table.add(tag, count); });
  if (inserted != 0) atomicAdd(&block.inserted, inserted);
  __syncthreads();
  if (threadIdx.x != 0) return;
  table.release(block.reserved - block.inserted);
  done[blockIdx.x] = behind;
}

// One launch over the tiles of a chunk. The host side that both counters share.
template <class Table>
class PairLaunch {
 public:
  PairLaunch(const PairChunk& chunk, DeviceMemory& memory, const PairTuning& tuning, Stream stream)
      : chunk_(chunk),
        tuning_(tuning),
        stream_(stream),
        tiles_(tile_count(chunk, tuning)),
        blocks_(static_cast<unsigned>(std::min<std::int64_t>(tiles_, kPairBlocks * tuning.multiprocessors))),
        done_(memory, blocks_, "progress") {
    if (chunk.offsets != nullptr) tile_segments_ = find_tile_segments(chunk, memory, tuning, stream);
    fill(done_.data(), 0, blocks_ * sizeof(Word), stream);
  }

  // Slots that its blocks may have reserved at one time.
  std::size_t room() const {
    const auto cached = static_cast<std::size_t>(cache_slots(chunk_.weights != nullptr));
    return blocks_ * (cached + static_cast<std::size_t>(tile_positions(tuning_)));
  }

  // Starts the kernel, or goes on where blocks stopped.
  void run(const Table& table) {
    with_chunk_kind(chunk_, [&](auto segmented, auto weighted) {
      start<decltype(segmented)::value, decltype(weighted)::value>(table);
    });
  }

 private:
  int cache_slots(bool weighted) const {
    return tuning_.cache_slots != 0 ? tuning_.cache_slots : weighted ? 4096 : 8192;
  }

  template <bool kSegmented, bool kWeighted>
  void start(const Table& table) {
    using Count = std::conditional_t<kWeighted, Word, unsigned>;
    const int slots = cache_slots(kWeighted);
    const std::size_t bytes = PairCache<Count>::bytes(slots);
#if defined(__CUDACC__)
    PH_CHECK(cudaFuncSetAttribute(count_pairs<Table, kSegmented, kWeighted>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
#endif
    PH_LAUNCH((count_pairs<Table, kSegmented, kWeighted>), blocks_, tuning_.threads, bytes, stream_, chunk_,
              tile_segments_.data(), tiles_, table, slots, done_.data());
  }

  PairChunk chunk_;
  PairTuning tuning_;
  Stream stream_;
  std::int64_t tiles_;
  unsigned blocks_;
  DeviceArray<Word> done_;
  DeviceArray<std::int64_t> tile_segments_;
};

}  // namespace pyharness::kernels
