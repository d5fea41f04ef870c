// A tile of pairs, sorted by bin in shared memory and written in runs.
#pragma once

#include "kernels/pairs/partition/codes.hpp"
#include "kernels/pairs/positions.hpp"

namespace pyharness::kernels {

inline constexpr unsigned kNoBin = ~0u;  // of positions that are not scattered

// Pairs of which a pass has made rests: [pairs] each, weights only where pairs have them.
template <class Rest>
struct Rests {
  Rest* rest;
  Word* weight;
};

// Where the pairs of a tile go: those of a bin are `size` from `start` on of the sorted tile. The first
// `room` of them go to `first` and behind it, and number j >= room to next + j.
struct BinRange {
  std::uint16_t start;
  std::uint16_t size;
};
struct BinPlaces {
  unsigned first;
  unsigned next;
};
struct TileBins {
  BinPlaces places[kMostBins];
  unsigned counts[kMostBins];
  BinRange ranges[kMostBins];
  std::uint16_t room[kMostBins];
};

// The sum of the lanes of a warp up to this one. All lanes together.
PH_DEVICE unsigned sum_up_to(unsigned value) {
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned lower = __shfl_up_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 >= step) value += lower;
  }
  return value;
}

// Ranges from counts. By the first warp; between barriers.
PH_DEVICE void start_bins(TileBins& tile, unsigned bins) {
  if (threadIdx.x >= 32) return;
  const unsigned each = (bins + 31) / 32;
  const unsigned first = threadIdx.x * each;
  const unsigned last = first + each < bins ? first + each : bins;
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned bin = first; bin < last; ++bin) sum += tile.counts[bin];
  unsigned start = sum_up_to(sum) - sum;
#pragma unroll 1
  for (unsigned bin = first; bin < last; ++bin) {
    const unsigned size = tile.counts[bin];
    tile.ranges[bin] = {static_cast<std::uint16_t>(start), static_cast<std::uint16_t>(size)};
    start += size;
  }
}

// Scatters one tile. for_each(put) calls put(bin, rest, weight) kPositionsPerThread times on every thread;
// reserve(bin, count) says in `bins` where they go. `rests` and `weights` are of shared memory, as many as a
// tile has positions.
template <bool kWeighted, class Rest, class ForEach, class Reserve>
PH_DEVICE void scatter_tile(TileBins& bins, unsigned size, Rest* rests, Word* weights, const Rests<Rest>& to,
                            ForEach&& for_each, Reserve&& reserve) {
  for (unsigned bin = threadIdx.x; bin < size; bin += blockDim.x) bins.counts[bin] = 0;
  __syncthreads();
  Rest rest[kPositionsPerThread];
  Word weight[kWeighted ? kPositionsPerThread : 1];
  unsigned place[kPositionsPerThread];  // the bin, and the rank within it
  int item = 0;
  for_each([&](unsigned bin, Rest its_rest, Word its_weight) {
    rest[item] = its_rest;
    if constexpr (kWeighted) weight[item] = its_weight;
    place[item++] = bin != kNoBin ? bin << 16 | atomicAdd(&bins.counts[bin], 1u) : kNoBin;
  });
  __syncthreads();
  start_bins(bins, size);
  for (unsigned bin = threadIdx.x; bin < size; bin += blockDim.x)
    if (bins.counts[bin] != 0) reserve(bin, bins.counts[bin]);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kPositionsPerThread; ++k) {
    if (place[k] == kNoBin) continue;
    const unsigned at = bins.ranges[place[k] >> 16].start + (place[k] & 0xffffu);
    rests[at] = rest[k];
    if constexpr (kWeighted) weights[at] = weight[k];
  }
  __syncthreads();
  // A warp writes a bin. The next tile's counts are not read here; what else it writes lies behind a barrier.
  for (unsigned bin = threadIdx.x / 32; bin < size; bin += blockDim.x / 32) {
    const BinRange range = bins.ranges[bin];
    const BinPlaces places = bins.places[bin];
    const unsigned room = bins.room[bin];
#pragma unroll 1  // most bins have 20 to 40 pairs
    for (unsigned at = threadIdx.x % 32; at < range.size; at += 32) {
      const unsigned target = at + (at < room ? places.first : places.next);
      to.rest[target] = rests[range.start + at];
      if constexpr (kWeighted) to.weight[target] = weights[range.start + at];
    }
  }
}

}  // namespace pyharness::kernels
