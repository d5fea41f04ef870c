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

// `Source`: Word key(std::size_t) and Word count(std::size_t) of entries 0..entries-1.
template <class Source>
PH_GLOBAL void collect_rows(Source source, std::size_t entries, Word* key, Word* count, Word* size) {
  const std::size_t whole_warps = (entries + 31) / 32 * 32;
  for (std::size_t entry = row_index(); entry < whole_warps; entry += row_stride()) {
    const Word times = entry < entries ? source.count(entry) : 0;
    const unsigned taken = __ballot_sync(0xffffffffu, times != 0);
    const unsigned lane = threadIdx.x % 32;
    Word at = 0;
    if (lane == 0 && taken != 0) at = atomicAdd(size, static_cast<Word>(__popc(taken)));
    at = __shfl_sync(0xffffffffu, at, 0) + static_cast<Word>(__popc(taken & ((1u << lane) - 1)));
    if (times == 0) continue;
    key[at] = source.key(entry);
    count[at] = times;
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
