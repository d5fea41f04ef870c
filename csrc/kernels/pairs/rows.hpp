// Tables of any kind -> rows: what counts more than zero, in any order.
#pragma once

#include <algorithm>

#include "kernels/exec.hpp"
#include "kernels/pairs/pair_histogram.hpp"

namespace pyharness::kernels {

// Block size of the kernels that need no shared memory.
inline constexpr unsigned kRowThreads = 256;

// Enough blocks to fill the device, and no more: every kernel strides over the other items.
inline unsigned row_blocks(std::size_t items, const PairTuning& tuning) {
  const std::size_t blocks = (items + kRowThreads - 1) / kRowThreads;
  const std::size_t most = static_cast<std::size_t>(tuning.multiprocessors) * 8;
  return static_cast<unsigned>(std::max<std::size_t>(1, std::min(blocks, most)));
}

// A value of the device, once the stream has come to it.
template <class Value>
Value read_back(const Value* address, Stream stream) {
  Value value;
  copy(&value, address, sizeof value, stream);
  synchronize(stream);
  return value;
}

PH_DEVICE std::size_t row_index() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
PH_DEVICE std::size_t row_stride() { return std::size_t{gridDim.x} * blockDim.x; }

// A place for each thread that takes one, by one addition per warp to a counter that the block shares. All
// lanes of a warp together.
PH_DEVICE unsigned place_among(bool takes, unsigned* taken) {
  const unsigned lanes = __ballot_sync(0xffffffffu, takes);
  const unsigned lane = threadIdx.x % 32;
  unsigned first = 0;
  if (lane == 0 && lanes != 0) first = atomicAdd(taken, static_cast<unsigned>(__popc(lanes)));
  return __shfl_sync(0xffffffffu, first, 0) + static_cast<unsigned>(__popc(lanes & ((1u << lane) - 1)));
}

inline constexpr unsigned kEntriesPerThread = 8;

// One addition to `size` for 2,048 entries. `Source`: Word key(std::size_t) and Word count(std::size_t) of
// entries 0..entries-1.
template <class Source>
PH_GLOBAL void collect_rows(Source source, std::size_t entries, Word* key, Word* count, Word* size) {
  PH_SHARED(Word, first, 1);
  PH_SHARED(unsigned, rows, 1);
  const std::size_t step = std::size_t{blockDim.x} * kEntriesPerThread;
  for (std::size_t begin = blockIdx.x * step; begin < entries; begin += gridDim.x * step) {
    if (threadIdx.x == 0) rows[0] = 0;
    __syncthreads();
    Word times[kEntriesPerThread];
    unsigned place[kEntriesPerThread];
#pragma unroll
    for (unsigned k = 0; k < kEntriesPerThread; ++k) {
      const std::size_t entry = begin + k * blockDim.x + threadIdx.x;
      times[k] = entry < entries ? source.count(entry) : 0;
      place[k] = place_among(times[k] != 0, &rows[0]);
    }
    __syncthreads();
    if (threadIdx.x == 0) first[0] = atomicAdd(size, static_cast<Word>(rows[0]));
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < kEntriesPerThread; ++k) {
      if (times[k] == 0) continue;
      key[first[0] + place[k]] = source.key(begin + k * blockDim.x + threadIdx.x);
      count[first[0] + place[k]] = times[k];
    }
    __syncthreads();
  }
}

// `most` bounds the number of rows.
template <class Source>
PairRows collect_pairs(const Source& source, std::size_t entries, std::size_t most, DeviceMemory& memory,
                       const PairTuning& tuning, Stream stream) {
  PairRows rows{DeviceArray<Word>(memory, most, "rows"), DeviceArray<Word>(memory, most, "rows"), 0};
  const DeviceArray<Word> size(memory, 1, "the number of rows");
  fill(size.data(), 0, sizeof(Word), stream);
  PH_LAUNCH((collect_rows<Source>), row_blocks(entries, tuning), kRowThreads, 0, stream, source, entries,
            rows.key.data(), rows.count.data(), size.data());
  rows.size = static_cast<std::size_t>(read_back(size.data(), stream));
  return rows;
}

}  // namespace pyharness::kernels
