// method "hash", the default: hot pairs in shared memory, the others in one global table (table.hpp says
// why no count is lost).
//
// Bytes per token, estimated and not measured on a GPU: 4 to read the token, and 0.45 visits to the table for
// what the cache of 8,192 slots lets through on real text (cache.hpp), each of one 32-byte sector read
// and written back when it misses L2. 1,048,576 sectors (32 MB of the 50 MB of an H100's L2) hold 97 % of the
// pairs of that text: 4 + 0.03 * 64 = 6 bytes where L2 keeps the frequent ones, and at most 4 + 0.45 * 64 =
// 33 where it keeps none. Pre-token offsets add 8 bytes per segment, weights 8 more.
#include <algorithm>

#include "kernels/pairs/counting.hpp"
#include "kernels/pairs/rows.hpp"

namespace pyharness::kernels {
namespace {

PH_GLOBAL void rehash(const PairSlot* slots, std::size_t size, HashTable table) {
  for (std::size_t at = row_index(); at < size; at += row_stride()) {
    if (slots[at].tag != 0) table.add(slots[at].tag, slots[at].count);
  }
}

// The slots, and after them the pair without a tag.
struct HashTableRows {
  const PairSlot* slots;
  std::size_t size;
  Word untagged;

  PH_DEVICE Word key(std::size_t entry) const { return entry < size ? ~slots[entry].tag : ~Word{0}; }
  PH_DEVICE Word count(std::size_t entry) const { return entry < size ? slots[entry].count : untagged; }
};

class HashPairCounter final : public PairCounter {
 public:
  HashPairCounter(DeviceMemory& memory, const PairTuning& tuning) : memory_(memory), tuning_(tuning) {}

  void add(const PairChunk& chunk, Stream stream) override {
    // A block's cache counts in 32 bits.
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    for (std::int64_t first = chunk.first; first < chunk.last; first += kMost)
      add_round(slice(chunk, first, std::min(chunk.last, first + kMost)), stream);
  }

  PairRows collect(Stream stream) override {
    if (slots_.size() == 0) return {};
    const HashTableState state = read_back(state_.data(), stream);
    const HashTableRows source{slots_.data(), slots_.size(), state.untagged};
    PairRows rows = collect_pairs(source, slots_.size() + 1, static_cast<std::size_t>(state.promised) + 1,
                                  memory_, tuning_, stream);
    slots_ = {};
    return rows;
  }

 private:
  void add_round(const PairChunk& chunk, Stream stream) {
    PairLaunch<HashTable> launch(chunk, memory_, tuning_, stream);
    if (slots_.size() == 0) make_table(chunk, launch.room(), stream);
    for (;;) {
      launch.run(table());
      HashTableState state = read_back(state_.data(), stream);
      if (state.stopped == 0) return;
      grow(static_cast<std::size_t>(state.promised) + launch.room(), stream);
    }
  }

  HashTable table() const { return {slots_.data(), slots_.size() - 1, state_.data()}; }

  // Room for 2^23 distinct pairs at first, 256 MB: what 10^8 tokens of text hold, so that it grows once or
  // twice more.
  void make_table(const PairChunk& chunk, std::size_t room, Stream stream) {
    constexpr std::int64_t kMostAtFirst = std::int64_t{1} << 23;
    const auto keys = static_cast<std::size_t>(std::min(chunk.last - chunk.first, kMostAtFirst));
    const std::size_t slots =
        tuning_.table_slots != 0 ? tuning_.table_slots : slots_for(std::max(keys, room));
    state_ = DeviceArray<HashTableState>(memory_, 1, "the state of the table");
    fill(state_.data(), 0, sizeof(HashTableState), stream);
    slots_ = cleared(slots, stream);
  }

  void grow(std::size_t keys, Stream stream) {
    const DeviceArray<PairSlot> old = slots_;
    slots_ = cleared(std::max(2 * old.size(), slots_for(keys)), stream);
    PH_LAUNCH(rehash, row_blocks(old.size(), tuning_), kRowThreads, 0, stream, old.data(), old.size(),
              table());
    fill(&state_.data()->stopped, 0, sizeof(Word), stream);
  }

  static std::size_t slots_for(std::size_t keys) {
    std::size_t slots = 1;
    while (slots < 2 * keys) slots *= 2;
    return slots;
  }

  DeviceArray<PairSlot> cleared(std::size_t slots, Stream stream) {
    DeviceArray<PairSlot> array(memory_, slots, "the table of pairs");
    fill(array.data(), 0, slots * sizeof(PairSlot), stream);
    return array;
  }

  DeviceMemory& memory_;
  PairTuning tuning_;
  DeviceArray<PairSlot> slots_;
  DeviceArray<HashTableState> state_;
};

}  // namespace

std::unique_ptr<PairCounter> make_hash_pair_counter(DeviceMemory& memory, const PairTuning& tuning) {
  return std::make_unique<HashPairCounter>(memory, tuning);
}

}  // namespace pyharness::kernels
