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

// Positions before the first that tiles start at, so that a thread's ids lie in whole 16-byte words.
PH_HOST_DEVICE std::int64_t skew_of(const PairChunk& chunk) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(chunk.tokens) / sizeof(std::uint32_t) %
                                   4);
}
// The position that a tile of so many starts at: that of the first tile may lie before the chunk.
PH_DEVICE std::int64_t tile_begin(const PairChunk& chunk, std::int64_t tile, std::int64_t positions) {
  return chunk.first - skew_of(chunk) + tile * positions;
}
inline std::int64_t tile_count(const PairChunk& chunk, const PairTuning& tuning) {
  const std::int64_t positions = tile_positions(tuning);
  return (chunk.last - chunk.first + skew_of(chunk) + positions - 1) / positions;
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

// The ids of a thread's positions and of the one behind them. Whole words are read where all of them belong
// to the chunk; at its ends single ids are, and others are 0.
PH_DEVICE void read_ids(const PairChunk& chunk, std::int64_t begin,
                        std::uint32_t (&ids)[kPositionsPerThread + 1]) {
  const std::uint32_t* const tokens = chunk.tokens + (begin - chunk.first);
  if (begin >= chunk.first && begin + kPositionsPerThread <= chunk.last) {
    const uint4* const words = reinterpret_cast<const uint4*>(tokens);
#pragma unroll
    for (int word = 0; word < kPositionsPerThread / 4; ++word) {
      const uint4 four = words[word];
      ids[4 * word] = four.x;
      ids[4 * word + 1] = four.y;
      ids[4 * word + 2] = four.z;
      ids[4 * word + 3] = four.w;
    }
    ids[kPositionsPerThread] = tokens[kPositionsPerThread];
    return;
  }
#pragma unroll
  for (int item = 0; item <= kPositionsPerThread; ++item) {
    const std::int64_t position = begin + item;
    ids[item] = position >= chunk.first && position <= chunk.last ? tokens[item] : 0;
  }
}

// Calls visit(position, key, weight) for each position of a tile on every thread of the block, all threads
// together: weight is 0 where no pair starts, or one that counts zero times. A thread takes neighbouring
// positions: it reads each id once, and one search finds its segments.
template <bool kSegmented, bool kWeighted, class Visit>
PH_DEVICE void for_each_pair(const PairChunk& chunk, const std::int64_t* tile_segments, std::int64_t tile,
                             Visit&& visit) {
  const std::int64_t tile_first = tile_begin(chunk, tile, std::int64_t{blockDim.x} * kPositionsPerThread);
  const std::int64_t begin = tile_first + std::int64_t{threadIdx.x} * kPositionsPerThread;
  std::uint32_t ids[kPositionsPerThread + 1];
  read_ids(chunk, begin, ids);
  // Items first..last-1 are positions of the chunk, which 32 bits say: 64 would take more instructions than
  // all else that is done to an item.
  const int first = begin >= chunk.first ? 0 : static_cast<int>(chunk.first - begin);
  const std::int64_t ahead = chunk.last - begin;
  const int last =
      ahead >= kPositionsPerThread ? kPositionsPerThread : static_cast<int>(ahead > 0 ? ahead : 0);
  const unsigned live = last > first ? (1u << last) - (1u << first) : 0;
  std::int64_t segment = 0;
  int segment_end = 0;  // as an item; far ones are just behind the items
  const auto enter = [&](int item) {
    while (chunk.offsets[segment + 1] <= begin + item) ++segment;
    const std::int64_t end = chunk.offsets[segment + 1] - begin;
    segment_end = end <= kPositionsPerThread ? static_cast<int>(end) : kPositionsPerThread + 1;
  };
  if (kSegmented && live != 0) {
    segment = segment_of(chunk.offsets, tile_segments[tile], tile_segments[tile + 1], begin + first);
    enter(first);
  }
#pragma unroll  // what visitors keep per item stays in registers
  for (int item = 0; item < kPositionsPerThread; ++item) {
    Word weight = live >> item & 1;
    if (kSegmented && weight != 0) {
      if (item == segment_end) enter(item);
      if (kWeighted) weight = chunk.weights[segment];
      if (item + 1 == segment_end) weight = 0;  // the last of its segment
    }
    visit(begin + item, static_cast<Word>(ids[item]) << 32 | ids[item + 1], weight);
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
