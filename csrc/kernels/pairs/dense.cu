// method "dense": a counter for every pair of ids below PairTuning::dense_ids, behind the same cache of hot
// pairs. 2,048 ids take 32 MB, which L2 holds. Bytes per token, estimated and not measured on a GPU: the 4 of
// the token.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/pairs/cache.hpp"
#include "kernels/pairs/positions.hpp"
#include "kernels/pairs/rows.hpp"

namespace pyharness::kernels {
namespace {

// Per multiprocessor. A cache of 96 KiB leaves room for two on the multiprocessors of 228 KiB (sm_90, sm_100)
// and for one on the smaller ones; two of 768 threads leave every thread 42 registers, where 1,024 leave 32
// and it spills.
constexpr int kDenseBlocks = 2;

// ~position of the first pair outside is kept by a maximum, 0 is none.
struct DenseTable {
  Word* counts;
  Word ids;
  Word* refused;

  PH_DEVICE bool holds(Word key) const { return key >> 32 < ids && static_cast<std::uint32_t>(key) < ids; }
  PH_DEVICE void refuse(std::int64_t position) const { atomicMax(refused, ~static_cast<Word>(position)); }
  PH_DEVICE void add(Word key, Word times) const {
    atomicAdd(&counts[(key >> 32) * ids + static_cast<std::uint32_t>(key)], times);
  }
};

// What the threads of a block share beside the cache.
struct DenseBlock {
  unsigned used;   // slots of the cache
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

// Frees the cache of what is rare once it is three quarters full, and moves the meaning of rare so that about
// half of the slots stay.
template <class Count>
PH_DEVICE void thin_cache(const DenseTable& table, DenseBlock& block, PairCache<Count>& cache,
                          unsigned slots) {
  if (block.used <= slots / 4 * 3) return;
  const Word threshold = block.threshold;
  __syncthreads();
  unsigned freed = 0;
  cache.evict([=](Count count) { return count >= threshold; },
              [&](Word key, Count count) {
                table.add(key, count);
                ++freed;
              });
  if (freed != 0) atomicAdd(&block.used, 0u - freed);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (block.used > slots / 2 && threshold < ~Word{0} / 2)
    block.threshold = threshold * 2;
  else if (block.used < slots / 8 * 3 && threshold > 2)
    block.threshold = threshold / 2;
}

template <bool kSegmented, bool kWeighted, class Count>
PH_DEVICE void count_tile(const PairChunk& chunk, const std::int64_t* tile_segments, std::int64_t tile,
                          const DenseTable& table, DenseBlock& block, PairCache<Count>& cache) {
  unsigned used = 0;
  for_each_pair<kSegmented, kWeighted>(chunk, tile_segments, tile,
                                       [&](std::int64_t position, Word key, Word weight) {
                                         if (weight != 0 && !table.holds(key)) {
                                           table.refuse(position);
                                           weight = 0;
                                         }
                                         if (!speaks_for_warp(key, &weight)) return;
                                         if (!cache.add(key, static_cast<Count>(weight), used))
                                           table.add(key, weight);
                                       });
  if (used != 0) atomicAdd(&block.used, used);
  __syncthreads();
}

template <bool kSegmented, bool kWeighted>
PH_GLOBAL void __launch_bounds__(kMostPairThreads, kDenseBlocks)
    count_dense(PairChunk chunk, const std::int64_t* tile_segments, std::int64_t tiles, DenseTable table,
                int cache_slots) {
  using Count = std::conditional_t<kWeighted, Word, unsigned>;
  PH_DYNAMIC_SHARED(Word, memory);
  PH_SHARED(DenseBlock, shared, 1);
  DenseBlock& block = shared[0];
  PairCache<Count> cache(memory, cache_slots);
  cache.clear();
  if (threadIdx.x == 0) block = DenseBlock{0, 2};
  __syncthreads();
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    count_tile<kSegmented, kWeighted>(chunk, tile_segments, tile, table, block, cache);
    thin_cache(table, block, cache, static_cast<unsigned>(cache_slots));
    __syncthreads();
  }
  cache.evict([](Count) { return false; }, [&](Word key, Count count) { table.add(key, count); });
}

struct DenseTableRows {
  const Word* counts;
  Word ids;

  PH_DEVICE Word key(std::size_t entry) const { return entry / ids << 32 | entry % ids; }
  PH_DEVICE Word count(std::size_t entry) const { return counts[entry]; }
};

class DensePairCounter final : public PairCounter {
 public:
  DensePairCounter(DeviceMemory& memory, const PairTuning& tuning) : memory_(memory), tuning_(tuning) {}

  void add(const PairChunk& chunk, Stream stream) override {
    make_table(stream);
    // A block's cache counts in 32 bits.
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    for (std::int64_t first = chunk.first; first < chunk.last; first += kMost) {
      const PairChunk round = slice(chunk, first, std::min(chunk.last, first + kMost));
      with_chunk_kind(round, [&](auto segmented, auto weighted) {
        start<decltype(segmented)::value, decltype(weighted)::value>(round, stream);
      });
    }
    if (const Word refused = read_back(refused_.data(), stream); refused != 0)
      refuse(chunk, static_cast<std::int64_t>(~refused), stream);
  }

  PairRows collect(Stream stream) override {
    if (counts_.size() == 0) return {};
    PairRows rows = collect_pairs(DenseTableRows{counts_.data(), tuning_.dense_ids}, counts_.size(),
                                  counts_.size(), memory_, tuning_, stream);
    counts_ = {};
    return rows;
  }

 private:
  DenseTable table() const { return {counts_.data(), tuning_.dense_ids, refused_.data()}; }

  void make_table(Stream stream) {
    if (counts_.size() != 0) return;
    counts_ = DeviceArray<Word>(memory_, std::size_t{tuning_.dense_ids} * tuning_.dense_ids,
                                "the counter of every pair");
    refused_ = DeviceArray<Word>(memory_, 1, "the first id that is too large");
    fill(counts_.data(), 0, counts_.size() * sizeof(Word), stream);
    fill(refused_.data(), 0, sizeof(Word), stream);
  }

  template <bool kSegmented, bool kWeighted>
  void start(const PairChunk& chunk, Stream stream) {
    using Count = std::conditional_t<kWeighted, Word, unsigned>;
    const int slots = tuning_.cache_slots != 0 ? tuning_.cache_slots : kWeighted ? 4096 : 8192;
    const std::size_t bytes = PairCache<Count>::bytes(slots);
    const std::int64_t tiles = tile_count(chunk, tuning_);
    const auto blocks =
        static_cast<unsigned>(std::min<std::int64_t>(tiles, kDenseBlocks * tuning_.multiprocessors));
    DeviceArray<std::int64_t> tile_segments;
    if (kSegmented) tile_segments = find_tile_segments(chunk, memory_, tuning_, stream);
    allow_shared(&count_dense<kSegmented, kWeighted>, bytes);
    PH_LAUNCH((count_dense<kSegmented, kWeighted>), blocks, tuning_.threads, bytes, stream, chunk,
              tile_segments.data(), tiles, table(), slots);
  }

  [[noreturn]] void refuse(const PairChunk& chunk, std::int64_t position, Stream stream) const {
    const std::uint32_t* const token = chunk.tokens + (position - chunk.first);
    const std::uint32_t left = read_back(token, stream);
    const bool is_left = left >= tuning_.dense_ids;
    throw std::invalid_argument("tokens[" + std::to_string(position + (is_left ? 0 : 1)) +
                                "] = " + std::to_string(is_left ? left : read_back(token + 1, stream)) +
                                ": method 'dense' counts ids below " + std::to_string(tuning_.dense_ids) +
                                "; use method 'partition'");
  }

  DeviceMemory& memory_;
  PairTuning tuning_;
  DeviceArray<Word> counts_;
  DeviceArray<Word> refused_;
};

}  // namespace

std::unique_ptr<PairCounter> make_dense_pair_counter(DeviceMemory& memory, const PairTuning& tuning) {
  return std::make_unique<DensePairCounter>(memory, tuning);
}

}  // namespace pyharness::kernels
