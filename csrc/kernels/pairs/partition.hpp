// The kernels that bring the pairs of a bucket together: sizes of buckets, then one pass or two that scatter.
// Each reads what it takes and writes what it gives in runs: a tile is sorted by bin in shared memory first,
// and one addition per bin reserves its places.
#pragma once

#include "kernels/pairs/codes.hpp"
#include "kernels/pairs/positions.hpp"
#include "kernels/pairs/rows.hpp"

namespace pyharness::kernels {

inline constexpr int kMostPartitionThreads = 512;
inline constexpr unsigned kNoBin = ~0u;  // of positions where no pair starts, or one that counts zero times

// Pairs to count: those of a chunk, or rows that were counted before.
template <bool kSegmented, bool kHasWeights>
struct ChunkPairs {
  static constexpr bool kWeighted = kHasWeights;
  PairChunk chunk;
  const std::int64_t* tile_segments;
  std::int64_t tiles;

  template <class Visit>
  PH_DEVICE void for_each(std::int64_t tile, Visit&& visit) const {
    for_each_pair<kSegmented, kHasWeights>(chunk, tile_segments, tile,
                                           [&](std::int64_t, Word key, Word weight) { visit(key, weight); });
  }
};

struct RowPairs {
  static constexpr bool kWeighted = true;
  RowsView rows;
  std::int64_t size;
  std::int64_t tiles;

  template <class Visit>
  PH_DEVICE void for_each(std::int64_t tile, Visit&& visit) const {
    const std::int64_t first = tile * blockDim.x * kPositionsPerThread + threadIdx.x;
#pragma unroll
    for (int item = 0; item < kPositionsPerThread; ++item) {
      const std::int64_t at = first + item * static_cast<std::int64_t>(blockDim.x);
      const auto row = static_cast<std::size_t>(at);
      visit(at < size ? rows.key_at(row) : 0, at < size ? rows.count_at(row) : 0);
    }
  }
};

// sizes[bucket] += the pairs in it; ids |= every id. Shared memory: a count per bucket.
template <class Pairs>
PH_GLOBAL void __launch_bounds__(kMostPartitionThreads, 2)
    measure_buckets(Pairs pairs, PairCodes codes, unsigned* sizes, unsigned* ids) {
  PH_DYNAMIC_SHARED(unsigned, counts);
  const unsigned buckets = codes.mask + 1;
  for (unsigned bucket = threadIdx.x; bucket < buckets; bucket += blockDim.x) counts[bucket] = 0;
  __syncthreads();
  unsigned seen = 0;
  for (std::int64_t tile = blockIdx.x; tile < pairs.tiles; tile += gridDim.x) {
    pairs.for_each(tile, [&](Word key, Word weight) {
      const auto left = static_cast<std::uint32_t>(key >> 32);
      const auto right = static_cast<std::uint32_t>(key);
      const unsigned bucket = weight != 0 ? codes.bucket(left, right) : kNoBin;
      if (weight != 0) seen |= left | right;
      const Crowd crowd = Crowd::of(bucket);
      if (bucket != kNoBin && crowd.speaks()) atomicAdd(&counts[bucket], crowd.size());
    });
  }
  for (int flip = 16; flip > 0; flip /= 2) seen |= __shfl_xor_sync(0xffffffffu, seen, flip);
  if (threadIdx.x % 32 == 0) atomicOr(ids, seen);
  __syncthreads();
  for (unsigned bucket = threadIdx.x; bucket < buckets; bucket += blockDim.x)
    if (counts[bucket] != 0) atomicAdd(&sizes[bucket], counts[bucket]);
}

// Pairs of which a pass has made rests: [pairs] each, weights only where pairs have them.
template <class Rest>
struct Rests {
  Rest* rest;
  Word* weight;
};

// What the first pass scatters by the coarse bucket: every pair.
template <class Pairs, class Rest_>
struct FirstPass {
  using Rest = Rest_;
  static constexpr bool kWeighted = Pairs::kWeighted;
  Pairs pairs;
  PairCodes codes;

  PH_DEVICE std::int64_t tiles() const { return pairs.tiles; }
  PH_DEVICE unsigned bins() const { return 1u << (codes.bucket_bits - codes.fine_bits); }
  PH_DEVICE unsigned first_bin(std::int64_t) const { return 0; }

  template <class Visit>
  PH_DEVICE void for_each(std::int64_t tile, Visit&& visit) const {
    pairs.for_each(tile, [&](Word key, Word weight) {
      const auto left = static_cast<std::uint32_t>(key >> 32);
      const auto right = static_cast<std::uint32_t>(key);
      const unsigned bucket = codes.bucket(left, right);
      visit(weight != 0 ? codes.coarse(bucket) : kNoBin, codes.rest<Rest>(bucket, left, right), weight);
    });
  }
};

// A coarse bucket in the second pass. Its rests are at begin..end-1; the last one of all has no tile.
struct CoarseBucket {
  std::int64_t first_tile;
  std::int64_t begin;
  std::int64_t end;
};

// The coarse bucket of every tile of the second pass: a tile lies within one.
PH_GLOBAL void find_coarse_buckets(const CoarseBucket* buckets, unsigned size, std::int64_t tiles,
                                   unsigned* of_tile) {
  for (auto tile = static_cast<std::int64_t>(row_index()); tile < tiles;
       tile += static_cast<std::int64_t>(row_stride())) {
    unsigned low = 0;
    unsigned high = size - 1;
    while (low < high) {  // the last that starts at or before the tile: empty ones start there too
      const unsigned middle = low + (high - low + 1) / 2;
      if (buckets[middle].first_tile <= tile)
        low = middle;
      else
        high = middle - 1;
    }
    of_tile[tile] = low;
  }
}

// What the second pass scatters by bucket: the rests of the first.
template <class Rest_, bool kHasWeights>
struct SecondPass {
  using Rest = Rest_;
  static constexpr bool kWeighted = kHasWeights;
  Rests<Rest> from;
  PairCodes codes;
  const CoarseBucket* buckets;
  const unsigned* bucket_of_tile;
  std::int64_t tile_count;

  PH_DEVICE std::int64_t tiles() const { return tile_count; }
  PH_DEVICE unsigned bins() const { return 1u << codes.fine_bits; }
  PH_DEVICE unsigned first_bin(std::int64_t tile) const { return bucket_of_tile[tile] << codes.fine_bits; }

  template <class Visit>
  PH_DEVICE void for_each(std::int64_t tile, Visit&& visit) const {
    const CoarseBucket bucket = buckets[bucket_of_tile[tile]];
    const int positions = static_cast<int>(blockDim.x) * kPositionsPerThread;
    const std::int64_t first = bucket.begin + (tile - bucket.first_tile) * positions;
    const int end = bucket.end - first < positions ? static_cast<int>(bucket.end - first) : positions;
#pragma unroll
    for (int item = 0; item < kPositionsPerThread; ++item) {
      const int at = item * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
      const bool is_pair = at < end;
      const Rest rest = is_pair ? (from.rest + first)[at] : 0;
      visit(is_pair ? codes.fine(rest) : kNoBin, rest, kWeighted && is_pair ? (from.weight + first)[at] : 0);
    }
  }
};

// Where the pairs of a tile go within it: starts of bins, and what to add for their places in the result.
struct TileBins {
  unsigned counts[1 << kMostPassBits];
  unsigned starts[1 << kMostPassBits];
  unsigned places[1 << kMostPassBits];
  unsigned total;
};

// Starts from counts. By the first warp; between barriers.
PH_DEVICE void start_bins(TileBins& tile, unsigned bins) {
  if (threadIdx.x >= 32) return;
  const unsigned each = (bins + 31) / 32;
  const unsigned first = threadIdx.x * each;
  const unsigned last = first + each < bins ? first + each : bins;
  unsigned sum = 0;
  for (unsigned bin = first; bin < last; ++bin) sum += tile.counts[bin];
  unsigned up_to = sum;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned lower = __shfl_up_sync(0xffffffffu, up_to, step);
    if (threadIdx.x >= step) up_to += lower;
  }
  if (threadIdx.x == 31) tile.total = up_to;
  unsigned start = up_to - sum;
  for (unsigned bin = first; bin < last; ++bin) {
    tile.starts[bin] = start;
    start += tile.counts[bin];
  }
}

// Bytes of shared memory that a tile is sorted in.
template <class Rest>
std::size_t tile_bytes(std::size_t positions, bool weighted) {
  return positions * ((weighted ? sizeof(Word) : 0) + sizeof(Rest) + 1);
}

// Blocks per multiprocessor: two leave a thread 64 registers, which weights and wide rests do not fit.
template <class Pass>
inline constexpr int kScatterBlocks = Pass::kWeighted && sizeof(typename Pass::Rest) == sizeof(Word) ? 1 : 2;

// Brings the pairs of each bin together: those of bin b lie from cursors[b] on, which ends behind them.
template <class Pass>
PH_GLOBAL void __launch_bounds__(kMostPartitionThreads, kScatterBlocks<Pass>)
    scatter(Pass pass, unsigned* cursors, Rests<typename Pass::Rest> to) {
  using Rest = typename Pass::Rest;
  PH_SHARED(TileBins, shared, 1);
  PH_DYNAMIC_SHARED(Word, memory);
  TileBins& bins = shared[0];
  const unsigned positions = blockDim.x * kPositionsPerThread;
  Word* const weights = memory;
  Rest* const rests = reinterpret_cast<Rest*>(memory + (Pass::kWeighted ? positions : 0));
  unsigned char* const bin_of = reinterpret_cast<unsigned char*>(rests + positions);

  for (std::int64_t tile = blockIdx.x; tile < pass.tiles(); tile += gridDim.x) {
    for (unsigned bin = threadIdx.x; bin < pass.bins(); bin += blockDim.x) bins.counts[bin] = 0;
    __syncthreads();
    Rest rest[kPositionsPerThread];
    Word weight[Pass::kWeighted ? kPositionsPerThread : 1];
    unsigned place[kPositionsPerThread];  // the bin, and the rank within it
    int item = 0;
    pass.for_each(tile, [&](unsigned bin, Rest its_rest, Word its_weight) {
      const Crowd crowd = Crowd::of(bin);
      unsigned rank = 0;
      if (bin != kNoBin && crowd.speaks()) rank = atomicAdd(&bins.counts[bin], crowd.size());
      const unsigned shared_rank = __shfl_sync(0xffffffffu, rank, 0);
      if (crowd.has_me) rank = shared_rank + crowd.rank();
      rest[item] = its_rest;
      if constexpr (Pass::kWeighted) weight[item] = its_weight;
      place[item++] = bin != kNoBin ? bin << 16 | rank : kNoBin;
    });
    __syncthreads();
    start_bins(bins, pass.bins());
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kPositionsPerThread; ++k) {
      if (place[k] == kNoBin) continue;
      const unsigned bin = place[k] >> 16;
      const unsigned at = bins.starts[bin] + (place[k] & 0xffffu);
      rests[at] = rest[k];
      if constexpr (Pass::kWeighted) weights[at] = weight[k];
      bin_of[at] = static_cast<unsigned char>(bin);
    }
    const unsigned first_bin = pass.first_bin(tile);
    for (unsigned bin = threadIdx.x; bin < pass.bins(); bin += blockDim.x) {
      const unsigned count = bins.counts[bin];
      if (count != 0) bins.places[bin] = atomicAdd(&cursors[first_bin + bin], count) - bins.starts[bin];
    }
    __syncthreads();
    for (unsigned at = threadIdx.x; at < bins.total; at += blockDim.x) {
      const unsigned target = bins.places[bin_of[at]] + at;
      to.rest[target] = rests[at];
      if constexpr (Pass::kWeighted) to.weight[target] = weights[at];
    }
    // The next tile's counts are not read here, and whatever else it writes lies behind a barrier.
  }
}

}  // namespace pyharness::kernels
