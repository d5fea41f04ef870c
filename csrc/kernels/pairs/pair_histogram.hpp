// Counts of adjacent pairs of ids on a device: the rows of core/pairs/pair_histogram.hpp, to the last integer
// and in the same order. Three counters behind one interface, each described in its file:
// partition/by_partition.cu, by_sorting.cu, dense.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/machine/device.hpp"
#include "kernels/machine/memory.hpp"
#include "shared/pairs.hpp"

namespace pyharness::kernels {

using Word = unsigned long long;  // CUDA's 64-bit atomics take this type, and std::uint64_t is another one

// The pairs that start at positions first..last-1 of a corpus: tokens[i] is the id at position first + i, and
// there are last - first + 1 of them. Segment s is offsets[s]..offsets[s + 1] in positions of the corpus; the
// segments given here hold every position that is counted.
struct PairChunk {
  const std::uint32_t* tokens = nullptr;
  std::int64_t first = 0;
  std::int64_t last = 0;
  const std::int64_t* offsets = nullptr;  // null: one segment
  std::int64_t segments = 0;
  const Word* weights = nullptr;  // [segments]; null: every segment counts once. Needs offsets.
};

inline constexpr int kMostPairThreads = 768;
inline constexpr int kFewestBucketBits = 10;  // with fewer, what is left of a narrow pair would need 32 bits
inline constexpr int kMostBucketBits = 14;
inline constexpr int kFewestHotSlots = 512;  // with fewer, a tag would need 32 bits
inline constexpr int kMostHotSlots = 1 << 15;

// Sizes of launches and tables. Results do not depend on them.
struct PairTuning {
  int multiprocessors = 1;
  std::size_t shared_bytes = 227 * 1024;  // that a block may have
  int threads = kMostPairThreads;         // per block, a multiple of 32
  // sort, partition: bounds their memory, which the heads of their files give.
  std::int64_t positions_per_round = std::int64_t{1} << 27;
  int bucket_bits = 0;           // partition: of the number of buckets, 10 to 14; 0: by the size of the round
  int bucket_slots = 0;          // partition: of a block's table, a power of two from 2 on; 0: what fits best
  int part_positions = 1 << 17;  // partition: of a bucket, beyond which several blocks count it
  int hot_slots = kMostHotSlots;   // partition: of the table of frequent pairs, as far as it fits; 0: none
  std::int64_t sampled_part = 32;  // partition: one tile in so many, or in more, is the sample of these
  std::int64_t most_sampled = 1 << 21;  // partition: positions of the sample
  int cache_slots = 0;             // dense: of a block's shared memory, a power of two; 0: what fits best
  std::uint32_t dense_ids = 2048;  // dense: ids must be below
};

// Bits of an id and of a count in rows of one word (rows.hpp); none: rows have two.
struct RowBits {
  int ids = 0;
  int counts = 0;
};

// Distinct pairs in any order: key = left << 32 | right, count > 0; or both in one word, in `key`. The arrays
// may be longer than `size`.
struct PairRows {
  DeviceArray<Word> key;
  DeviceArray<Word> count;  // of rows of one word none
  std::size_t size = 0;
  RowBits bits{};

  bool packed() const { return bits.counts != 0; }
};

class PairCounter {
 public:
  virtual ~PairCounter() = default;
  // Counts a chunk. Everything of one counter goes to one stream, which the call waits for.
  virtual void add(const PairChunk& chunk, Stream stream) = 0;
  // The rows so far. Ends the counter: its memory goes back.
  virtual PairRows collect(Stream stream) = 0;
};

std::unique_ptr<PairCounter> make_partition_pair_counter(DeviceMemory& memory, const PairTuning& tuning);
std::unique_ptr<PairCounter> make_sort_pair_counter(DeviceMemory& memory, const PairTuning& tuning);
std::unique_ptr<PairCounter> make_dense_pair_counter(DeviceMemory& memory, const PairTuning& tuning);

// Rows with falling count, ties in order of (left, right).
PairRows order_pairs(PairRows rows, DeviceMemory& memory, const PairTuning& tuning, Stream stream);
// Ordered rows as columns of rows.size values each. Waits for the stream.
void write_pairs(const PairRows& rows, const PairColumns& columns, const PairTuning& tuning, Stream stream);

// Between the host and the device, or within either; waits for the stream.
void copy_and_wait(void* to, const void* from, std::size_t bytes, Stream stream);

// The position of the first id that is negative (or above 2^32 - 1), -1 without one. narrow_ids also writes
// them.
std::int64_t find_bad_id(const std::int32_t* ids, std::int64_t size, DeviceMemory& memory,
                         const PairTuning& tuning, Stream stream);
std::int64_t narrow_ids(const std::int64_t* ids, std::int64_t size, std::uint32_t* narrow,
                        DeviceMemory& memory, const PairTuning& tuning, Stream stream);

// Throws std::invalid_argument for segments of a corpus of `total` ids: offsets that do not start at 0, fall
// or do not end at `total`; a negative weight; a weighted number of pairs that leaves 64 bits. Needs offsets.
void check_segments(const PairSegments& segments, std::int64_t total, DeviceMemory& memory,
                    const PairTuning& tuning, Stream stream);

}  // namespace pyharness::kernels
