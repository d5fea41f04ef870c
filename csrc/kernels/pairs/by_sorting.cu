// method "sort", the deterministic reference: every position becomes a key and a weight behind the rows of
// earlier rounds, all of it is sorted by key, and runs are summed. A position that starts no pair has weight
// 0.
//
// Bytes per token, estimated and not measured on a GPU: 16 to pack, 16 to count digits and 8 passes of 32 to
// sort, 16 and more to sum: about 300.
#include <algorithm>

#include "kernels/pairs/positions.hpp"
#include "kernels/pairs/primitives.hpp"
#include "kernels/pairs/rows.hpp"

namespace pyharness::kernels {
namespace {

template <bool kSegmented, bool kWeighted>
PH_GLOBAL void pack_pairs(PairChunk chunk, const std::int64_t* tile_segments, std::int64_t tiles, Word* keys,
                          Word* weights) {
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    for_each_pair<kSegmented, kWeighted>(chunk, tile_segments, tile,
                                         [&](std::int64_t position, Word key, Word weight) {
                                           if (position < chunk.first || position >= chunk.last) return;
                                           keys[position - chunk.first] = key;
                                           weights[position - chunk.first] = weight;
                                         });
  }
}

struct SummedRows {
  const Word* keys;
  const Word* counts;

  PH_DEVICE Word key(std::size_t entry) const { return keys[entry]; }
  PH_DEVICE Word count(std::size_t entry) const { return counts[entry]; }
};

class SortPairCounter final : public PairCounter {
 public:
  SortPairCounter(DeviceMemory& memory, const PairTuning& tuning) : memory_(memory), tuning_(tuning) {}

  void add(const PairChunk& chunk, Stream stream) override {
    const std::int64_t most = tuning_.positions_per_round;
    for (std::int64_t first = chunk.first; first < chunk.last; first += most)
      add_round(slice(chunk, first, std::min(chunk.last, first + most)), stream);
  }

  PairRows collect(Stream stream) override {
    if (size_ == 0) return {};
    PairRows rows =
        collect_pairs(SummedRows{keys_.data(), counts_.data()}, size_, size_, memory_, tuning_, stream);
    size_ = 0;
    keys_ = counts_ = {};
    return rows;
  }

 private:
  void add_round(const PairChunk& chunk, Stream stream) {
    const std::size_t size = size_ + static_cast<std::size_t>(chunk.last - chunk.first);
    TwoArrays keys = with_earlier_rows(keys_, size, stream);
    TwoArrays counts = with_earlier_rows(counts_, size, stream);
    pack(chunk, keys.current.data() + size_, counts.current.data() + size_, stream);
    sort_by_key(keys, counts, size, 0, 64, Order::kRising, memory_, stream);
    size_ = sum_by_key(keys, counts, size, memory_, stream);
    keys_ = shortened(keys.current, stream);
    counts_ = shortened(counts.current, stream);
  }

  TwoArrays with_earlier_rows(const DeviceArray<Word>& rows, std::size_t size, Stream stream) {
    TwoArrays arrays{DeviceArray<Word>(memory_, size, "positions to sort"),
                     DeviceArray<Word>(memory_, size, "positions to sort")};
    if (size_ != 0) copy(arrays.current.data(), rows.data(), size_ * sizeof(Word), stream);
    return arrays;
  }

  // The sums alone: the rest of the array goes back before the next round asks for more.
  DeviceArray<Word> shortened(const DeviceArray<Word>& sums, Stream stream) {
    DeviceArray<Word> rows(memory_, size_, "the rows so far");
    copy(rows.data(), sums.data(), size_ * sizeof(Word), stream);
    return rows;
  }

  void pack(const PairChunk& chunk, Word* keys, Word* weights, Stream stream) {
    const std::int64_t tiles = tile_count(chunk, tuning_);
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(tiles, 8 * tuning_.multiprocessors));
    DeviceArray<std::int64_t> tile_segments;
    if (chunk.offsets != nullptr) tile_segments = find_tile_segments(chunk, memory_, tuning_, stream);
    with_chunk_kind(chunk, [&](auto segmented, auto weighted) {
      PH_LAUNCH((pack_pairs<decltype(segmented)::value, decltype(weighted)::value>), blocks, tuning_.threads,
                0, stream, chunk, tile_segments.data(), tiles, keys, weights);
    });
  }

  DeviceMemory& memory_;
  PairTuning tuning_;
  DeviceArray<Word> keys_;
  DeviceArray<Word> counts_;
  std::size_t size_ = 0;
};

}  // namespace

std::unique_ptr<PairCounter> make_sort_pair_counter(DeviceMemory& memory, const PairTuning& tuning) {
  return std::make_unique<SortPairCounter>(memory, tuning);
}

}  // namespace pyharness::kernels
