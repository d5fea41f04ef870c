// Counts of adjacent pairs of ids on a device: what csrc/core/pairs counts, to the last integer and
// in the same order. Three counters behind one interface; by_hashing.cu says which counts how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/device.hpp"

namespace pyharness::kernels {

using Word = unsigned long long;  // CUDA's 64-bit atomics take this type, and std::uint64_t is another one

// Where device memory comes from: a pool, so that a call finds what the last one gave back.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Aligned to 16 bytes; given back in the order of the stream when the last owner goes. `purpose` is for
  // messages.
  virtual std::shared_ptr<void> allocate(std::size_t bytes, const char* purpose) = 0;
};

template <class Value>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(DeviceMemory& memory, std::size_t size, const char* purpose)
      : owner_(memory.allocate((size == 0 ? 1 : size) * sizeof(Value), purpose)), size_(size) {}

  Value* data() const { return static_cast<Value*>(owner_.get()); }
  std::size_t size() const { return size_; }

 private:
  std::shared_ptr<void> owner_;
  std::size_t size_ = 0;
};

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

// Sizes of launches and tables. Results do not depend on them.
struct PairTuning {
  int multiprocessors = 1;
  int threads = kMostPairThreads;  // per block, a multiple of 32
  int cache_slots = 0;          // hash, dense: of a block's shared memory, a power of two; 0: what fits best
  std::size_t table_slots = 0;  // hash: at first, a power of two; 0: by the first chunk
  std::int64_t positions_per_round = std::int64_t{1} << 27;  // sort: bounds its memory, 32 bytes each
  std::uint32_t dense_ids = 2048;                            // dense: ids must be below
};

// Distinct pairs in any order: key = left << 32 | right, count > 0.
struct PairRows {
  DeviceArray<Word> key;
  DeviceArray<Word> count;
  std::size_t size = 0;
};

class PairCounter {
 public:
  virtual ~PairCounter() = default;
  // Counts a chunk. Everything of one counter goes to one stream, which the call waits for.
  virtual void add(const PairChunk& chunk, Stream stream) = 0;
  // The rows so far. Ends the counter: its memory goes back.
  virtual PairRows collect(Stream stream) = 0;
};

std::unique_ptr<PairCounter> make_hash_pair_counter(DeviceMemory& memory, const PairTuning& tuning);
std::unique_ptr<PairCounter> make_sort_pair_counter(DeviceMemory& memory, const PairTuning& tuning);
std::unique_ptr<PairCounter> make_dense_pair_counter(DeviceMemory& memory, const PairTuning& tuning);

// Rows with falling count, ties in order of (left, right).
PairRows order_pairs(PairRows rows, DeviceMemory& memory, const PairTuning& tuning, Stream stream);
// Ordered rows as columns of rows.size values each. Waits for the stream.
void write_pairs(const PairRows& rows, std::uint32_t* left, std::uint32_t* right, Word* count,
                 const PairTuning& tuning, Stream stream);

// Between the host and the device, or within either; waits for the stream.
void copy_and_wait(void* to, const void* from, std::size_t bytes, Stream stream);

// The position of the first id that is negative (or above 2^32 - 1), -1 without one. narrow_ids also writes
// them.
std::int64_t find_bad_id(const std::int32_t* ids, std::int64_t size, DeviceMemory& memory,
                         const PairTuning& tuning, Stream stream);
std::int64_t narrow_ids(const std::int64_t* ids, std::int64_t size, std::uint32_t* narrow,
                        DeviceMemory& memory, const PairTuning& tuning, Stream stream);

// Segments of a whole corpus on the device. weights may be null; signed ones must not be negative.
struct PairSegments {
  const std::int64_t* offsets = nullptr;
  std::int64_t size = 0;
  const Word* weights = nullptr;
  bool signed_weights = false;
};
// Throws std::invalid_argument as core/pair_histogram does: offsets that do not start at 0, fall or do not
// end at `total`; a weighted number of pairs that leaves 64 bits.
void check_segments(const PairSegments& segments, std::int64_t total, DeviceMemory& memory,
                    const PairTuning& tuning, Stream stream);

}  // namespace pyharness::kernels
