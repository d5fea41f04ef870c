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

// ---- rows of one word: the complement of the count, the left id, the right id, so that it rises as rows do

inline int bit_width(Word value) {
  int width = 0;
  for (; value != 0; value >>= 1) ++width;
  return width;
}
inline bool fit_one_word(RowBits bits) { return bits.counts + 2 * bits.ids <= 64; }

PH_DEVICE Word pack(RowBits bits, Word key, Word count) {
  const Word falling = ((Word{1} << bits.counts) - 1) & ~count;
  return (falling << bits.ids | key >> 32) << bits.ids | static_cast<std::uint32_t>(key);
}

// Rows of either kind, to read.
struct RowsView {
  const Word* key;
  const Word* count;
  RowBits bits;

  PH_DEVICE Word key_at(std::size_t row) const {
    const Word mask = (Word{1} << bits.ids) - 1;
    return bits.counts == 0 ? key[row] : (key[row] >> bits.ids & mask) << 32 | (key[row] & mask);
  }
  PH_DEVICE Word count_at(std::size_t row) const {
    return bits.counts == 0 ? count[row]
                            : ((Word{1} << bits.counts) - 1) & ~(key[row] >> bits.ids >> bits.ids);
  }
};
inline RowsView view(const PairRows& rows, std::size_t first = 0) {
  return {rows.key.data() + first, rows.packed() ? nullptr : rows.count.data() + first, rows.bits};
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

inline PairRows rows_for(std::size_t size, DeviceMemory& memory) {
  return {{memory, size, "rows"}, {memory, size, "rows"}, size, {}};
}

template <bool kOneWord>
PH_GLOBAL void copy_rows(RowsView from, std::size_t size, Word* key, Word* count, RowBits bits) {
  for (std::size_t row = row_index(); row < size; row += row_stride()) {
    const Word its_key = from.key_at(row);
    const Word its_count = from.count_at(row);
    key[row] = kOneWord ? pack(bits, its_key, its_count) : its_key;
    if (!kOneWord) count[row] = its_count;
  }
}

// Rows of either kind as those of `to`, from its row `at` on.
inline void put_rows(const PairRows& from, const PairRows& to, std::size_t at, const PairTuning& tuning,
                     Stream stream) {
  if (from.size == 0) return;
  const unsigned blocks = row_blocks(from.size, tuning);
  Word* const key = to.key.data() + at;
  if (to.packed())
    PH_LAUNCH((copy_rows<true>), blocks, kRowThreads, 0, stream, view(from), from.size, key, nullptr,
              to.bits);
  else
    PH_LAUNCH((copy_rows<false>), blocks, kRowThreads, 0, stream, view(from), from.size, key,
              to.count.data() + at, to.bits);
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
  PairRows rows = rows_for(most, memory);
  const DeviceArray<Word> size(memory, 1, "the number of rows");
  fill(size.data(), 0, sizeof(Word), stream);
  PH_LAUNCH((collect_rows<Source>), row_blocks(entries, tuning), kRowThreads, 0, stream, source, entries,
            rows.key.data(), rows.count.data(), size.data());
  rows.size = static_cast<std::size_t>(read_back(size.data(), stream));
  return rows;
}

}  // namespace pyharness::kernels
