// method "dense": a counter for every pair of ids below PairTuning::dense_ids, behind the same cache of hot
// pairs. 2,048 ids take 32 MB, which L2 holds. Bytes per token, estimated and not measured on a GPU: the 4 of
// the token.
#include <stdexcept>
#include <string>

#include "kernels/pairs/counting.hpp"
#include "kernels/pairs/rows.hpp"

namespace pyharness::kernels {
namespace {

// Nothing to reserve: every pair has its place. ~position of the first pair outside is kept by a maximum, 0
// is none.
struct DenseTable {
  Word* counts;
  Word ids;
  Word* refused;

  PH_DEVICE bool reserve(Word) const { return true; }
  PH_DEVICE void release(Word) const {}
  PH_DEVICE bool holds(Word key) const { return key >> 32 < ids && static_cast<std::uint32_t>(key) < ids; }
  PH_DEVICE void refuse(std::int64_t position) const { atomicMax(refused, ~static_cast<Word>(position)); }
  PH_DEVICE void add_untagged(Word) const {}  // its ids are outside
  PH_DEVICE bool add(Word tag, Word times) const {
    const Word key = ~tag;
    atomicAdd(&counts[(key >> 32) * ids + static_cast<std::uint32_t>(key)], times);
    return false;
  }
};

struct DenseTableRows {
  const Word* counts;
  Word ids;

  PH_DEVICE Word key(std::size_t entry) const { return entry / ids << 32 | entry % ids; }
  PH_DEVICE Word count(std::size_t entry) const { return counts[entry]; }
};

class DensePairCounter final : public PairCounter {
 public:
  DensePairCounter(DeviceMemory& memory, const PairTuning& tuning) : memory_(memory), tuning_(tuning) {}

  void add(const PairChunk& chunk, Stream stream) override {
    make_table(stream);
    // A block's cache counts in 32 bits.
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    for (std::int64_t first = chunk.first; first < chunk.last; first += kMost) {
      const PairChunk round = slice(chunk, first, std::min(chunk.last, first + kMost));
      PairLaunch<DenseTable>(round, memory_, tuning_, stream).run(table());
    }
    if (const Word refused = read_back(refused_.data(), stream); refused != 0)
      refuse(chunk, static_cast<std::int64_t>(~refused), stream);
  }

  PairRows collect(Stream stream) override {
    if (counts_.size() == 0) return {};
    PairRows rows = collect_pairs(DenseTableRows{counts_.data(), tuning_.dense_ids}, counts_.size(),
                                  counts_.size(), memory_, tuning_, stream);
    counts_ = {};
    return rows;
  }

 private:
  DenseTable table() const { return {counts_.data(), tuning_.dense_ids, refused_.data()}; }

  void make_table(Stream stream) {
    if (counts_.size() != 0) return;
    counts_ = DeviceArray<Word>(memory_, std::size_t{tuning_.dense_ids} * tuning_.dense_ids,
                                "the counter of every pair");
    refused_ = DeviceArray<Word>(memory_, 1, "the first id that is too large");
    fill(counts_.data(), 0, counts_.size() * sizeof(Word), stream);
    fill(refused_.data(), 0, sizeof(Word), stream);
  }

  [[noreturn]] void refuse(const PairChunk& chunk, std::int64_t position, Stream stream) const {
    const std::uint32_t* const token = chunk.tokens + (position - chunk.first);
    const std::uint32_t left = read_back(token, stream);
    const bool is_left = left >= tuning_.dense_ids;
    throw std::invalid_argument("tokens[" + std::to_string(position + (is_left ? 0 : 1)) +
                                "] = " + std::to_string(is_left ? left : read_back(token + 1, stream)) +
                                ": method 'dense' counts ids below " + std::to_string(tuning_.dense_ids) +
                                "; use method 'hash'");
  }

  DeviceMemory& memory_;
  PairTuning tuning_;
  DeviceArray<Word> counts_;
  DeviceArray<Word> refused_;
};

}  // namespace

std::unique_ptr<PairCounter> make_dense_pair_counter(DeviceMemory& memory, const PairTuning& tuning) {
  return std::make_unique<DensePairCounter>(memory, tuning);
}

}  // namespace pyharness::kernels
