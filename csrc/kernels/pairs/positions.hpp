// From positions of a corpus to pairs with weights, tile by tile.
#pragma once

#include <type_traits>

#include "kernels/exec.hpp"
#include "kernels/pairs/pair_histogram.hpp"

namespace pyharness::kernels {

inline constexpr int kPositionsPerThread = 8;

inline std::int64_t tile_positions(const PairTuning& tuning) {
  return std::int64_t{tuning.threads} * kPositionsPerThread;
}
inline std::int64_t tile_count(const PairChunk& chunk, const PairTuning& tuning) {
  return (chunk.last - chunk.first + tile_positions(tuning) - 1) / tile_positions(tuning);
}

// The part of a chunk that starts at first..last-1.
inline PairChunk slice(PairChunk chunk, std::int64_t first, std::int64_t last) {
  chunk.tokens += first - chunk.first;
  chunk.first = first;
  chunk.last = last;
  return chunk;
}

// Among segments low..high, the one that holds `position`: the last that starts at or before it, for empty
// ones start there too.
PH_DEVICE std::int64_t segment_of(const std::int64_t* offsets, std::int64_t low, std::int64_t high,
                                  std::int64_t position) {
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (offsets[middle] <= position)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// The segment of the first position of every tile, and of the last position at the end: [tiles + 1]. Found
// here for all tiles at once, where 27 dependent reads at the head of every tile would stall its block.
DeviceArray<std::int64_t> find_tile_segments(const PairChunk& chunk, DeviceMemory& memory,
                                             const PairTuning& tuning, Stream stream);

// Calls visit(position, key, weight) for each position of a tile on every thread of the block, all threads
// together: weight is 0 where no pair starts, or one that counts zero times.
template <bool kSegmented, bool kWeighted, class Visit>
PH_DEVICE void for_each_pair(const PairChunk& chunk, const std::int64_t* tile_segments, std::int64_t tile,
                             Visit&& visit) {
  const int threads = static_cast<int>(blockDim.x);
  const std::int64_t begin = chunk.first + tile * threads * kPositionsPerThread;
  const std::int64_t ahead = chunk.last - begin;
  // Within the tile, 32 bits do: 64 would take more instructions than all else that is done to a position.
  const int end =
      ahead < threads * kPositionsPerThread ? static_cast<int>(ahead) : threads * kPositionsPerThread;
  // With segments a thread takes neighbouring positions, so that one search serves them all; without,
  // neighbouring threads do, and reads coalesce.
  const int step = kSegmented ? 1 : threads;
  const int start = static_cast<int>(threadIdx.x) * (kSegmented ? kPositionsPerThread : 1);
  const std::uint32_t* const tokens = chunk.tokens + (begin - chunk.first) + start;
  const auto key_at = [&](int item) -> Word {  // 0 past the end
    if (start + item * step >= end) return 0;
    return static_cast<Word>(tokens[item * step]) << 32 | tokens[item * step + 1];
  };
  std::int64_t segment = 0;
  if (kSegmented && start < end)
    segment = segment_of(chunk.offsets, tile_segments[tile], tile_segments[tile + 1], begin + start);
  Word next_key = key_at(0);
#pragma unroll  // what visitors keep per item stays in registers
  for (int item = 0; item < kPositionsPerThread; ++item) {
    const std::int64_t position = begin + start + item * step;
    const Word key = next_key;
    // Read before the visit, whose atomics no later read may pass: each would be waited for.
    if (item + 1 < kPositionsPerThread) next_key = key_at(item + 1);
    Word weight = 0;
    if (start + item * step < end) {
      weight = 1;
      if (kSegmented) {
        while (chunk.offsets[segment + 1] <= position) ++segment;
        if (kWeighted) weight = chunk.weights[segment];
        if (chunk.offsets[segment + 1] == position + 1) weight = 0;  // the last of its segment
      }
    }
    visit(position, key, weight);
  }
}

// Calls run(segmented, weighted) with the two flags of the chunk as constants.
template <class Run>
void with_chunk_kind(const PairChunk& chunk, Run&& run) {
  using Yes = std::true_type;
  using No = std::false_type;
  if (chunk.offsets == nullptr)
    run(No{}, No{});
  else if (chunk.weights == nullptr)
    run(Yes{}, No{});
  else
    run(Yes{}, Yes{});
}

}  // namespace pyharness::kernels
