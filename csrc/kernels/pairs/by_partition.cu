// method "partition", the default: pairs are brought together by bucket, in one pass or two, and counted
// exactly in shared memory, a bucket at a time.
// Bytes per token of a large round with ids below 2^18: 4 to read for the sizes of buckets, 4 + 4 for the
// first pass, 4 + 4 for the second, 4 to count: 24, and for each distinct pair 8 where ids and count fit one
// word, else 16. Workspace: 12 bytes a position of a round (docs/gpu.md), which
// PairTuning::positions_per_round bounds; rounds halve where memory is short. Rows of earlier rounds take 16
// bytes each, and are counted again, as pairs with weights, once they are twice as many as there were.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/pairs/buckets.hpp"

namespace pyharness::kernels {
namespace {

// Of a bucket, as far as there are buckets for it: so many distinct pairs fit its table, and so many
// positions of text, of which a quarter or less is distinct. What is more distinct is read again.
constexpr std::int64_t kDistinctPerBucket = 4096;
constexpr std::int64_t kPositionsPerBucket = 24'576;
constexpr std::int64_t kMostPositions = std::int64_t{1} << 30;    // of a round: places have 32 bits
constexpr std::int64_t kFewestPositions = std::int64_t{1} << 16;  // of a round that halved
constexpr int kBlocksPerMultiprocessor = 4;

template <class Value>
DeviceArray<Value> on_device(const std::vector<Value>& values, DeviceMemory& memory, const char* purpose,
                             Stream stream) {
  DeviceArray<Value> array(memory, values.size(), purpose);
  copy(array.data(), values.data(), values.size() * sizeof(Value), stream);
  return array;
}

// What the sizes of buckets say about a round.
struct Buckets {
  PairCodes codes;
  std::vector<unsigned> begin;  // [buckets + 1]

  std::size_t pairs() const { return begin.back(); }

  std::vector<unsigned> coarse_begins() const {
    std::vector<unsigned> begins;
    for (std::size_t at = 0; at + 1 < begin.size(); at += std::size_t{1} << codes.fine_bits)
      begins.push_back(begin[at]);
    return begins;
  }

  std::vector<CoarseBucket> coarse(std::int64_t tile, std::int64_t* tiles) const {
    std::vector<CoarseBucket> buckets;
    *tiles = 0;
    const std::size_t step = std::size_t{1} << codes.fine_bits;
    for (std::size_t at = 0; at + 1 < begin.size(); at += step) {
      buckets.push_back({*tiles, begin[at], begin[at + step]});
      *tiles += (buckets.back().end - buckets.back().begin + tile - 1) / tile;
    }
    return buckets;
  }

  std::vector<BucketPart> parts(unsigned most) const {
    std::vector<BucketPart> parts;
    for (unsigned bucket = 0; bucket + 1 < begin.size(); ++bucket) {
      const unsigned end = begin[bucket + 1];
      const unsigned whole = end - begin[bucket] <= most;
      for (unsigned at = begin[bucket]; at < end;) {
        const unsigned next = end - at <= most ? end : at + most;
        parts.push_back({bucket, at, next, whole});
        at = next;
      }
    }
    return parts;
  }
};

// The rows of one counting: those in front are all there is of their pairs, the last `parts` of its places
// have parts of sums.
struct CountedRows {
  PairRows rows;
  std::size_t parts = 0;
};

// One counting of pairs that fit the workspace.
class Partition {
 public:
  Partition(DeviceMemory& memory, const PairTuning& tuning, Stream stream)
      : memory_(memory), tuning_(tuning), stream_(stream) {}

  // `most` bounds their number. Every pair has one row.
  template <class Pairs>
  PairRows count(const Pairs& pairs, std::int64_t most) const {
    auto [rows, parts] = count_once(pairs, most, static_cast<unsigned>(tuning_.part_positions));
    if (parts == 0) return rows;
    const PairRows sums = sum(view(rows, rows.key.size() - parts), parts);
    put_rows(sums, rows, rows.size, tuning_, stream_);
    rows.size += sums.size;
    return rows;
  }

  // One row for every pair among `size` rows.
  PairRows sum(const RowsView& rows, std::size_t size) const {
    const auto most = static_cast<std::int64_t>(size);
    return count_once(RowPairs{rows, most, tiles_of(most)}, most, ~0u).rows;
  }

  std::int64_t tiles_of(std::int64_t size) const {
    return (size + tile_positions(tuning_) - 1) / tile_positions(tuning_);
  }

 private:
  template <class Pairs>
  CountedRows count_once(const Pairs& pairs, std::int64_t most, unsigned part_positions) const {
    if (most > 2 * kMostPositions)
      throw OutOfDeviceMemory(std::to_string(most) + " rows are to be summed, of which 2147483648 can be: " +
                              "count parts of the corpus");
    const Buckets buckets = measure(pairs, most);
    if (buckets.pairs() == 0) return {};
    return rest_bits(buckets.codes) < 32 ? count_in<std::uint32_t>(pairs, buckets, part_positions)
                                         : count_in<Word>(pairs, buckets, part_positions);
  }

  template <class Pairs>
  Buckets measure(const Pairs& pairs, std::int64_t most) const {
    const int bits = tuning_.bucket_bits != 0 ? tuning_.bucket_bits : bucket_bits_for(most, Pairs::kWeighted);
    const std::size_t size = std::size_t{1} << bits;
    const DeviceArray<unsigned> sizes(memory_, size + 1, "the sizes of buckets");  // and the bits of ids
    fill(sizes.data(), 0, (size + 1) * sizeof(unsigned), stream_);
    PairCodes codes = codes_for(bits, 0);  // which says nothing of the ids yet
    allow_shared(&measure_buckets<Pairs>, size * sizeof(unsigned));
    PH_LAUNCH((measure_buckets<Pairs>), blocks_for(pairs.tiles), tuning_.threads, size * sizeof(unsigned),
              stream_, pairs, codes, sizes.data(), sizes.data() + size);
    std::vector<unsigned> begin(size + 1);
    copy(begin.data(), sizes.data(), (size + 1) * sizeof(unsigned), stream_);
    synchronize(stream_);
    codes = codes_for(bits, begin[size]);
    unsigned total = 0;
    for (unsigned& at : begin) total += std::exchange(at, total);  // the last becomes the total
    return {codes, std::move(begin)};
  }

  template <class Rest, class Pairs>
  CountedRows count_in(const Pairs& pairs, const Buckets& buckets, unsigned part_positions) const {
    constexpr bool kWeighted = Pairs::kWeighted;
    constexpr const char* kPurpose = "the pairs of a round";
    const PairCodes codes = buckets.codes;
    const std::size_t size = buckets.pairs();
    const DeviceArray<Rest> rests(memory_, size, kPurpose);
    const DeviceArray<Word> weights(memory_, kWeighted ? size : 0, kPurpose);
    const RowBits bits{codes.id_bits, bit_width(size)};
    const bool packed = !kWeighted && fit_one_word(bits);
    PairRows rows{
        {memory_, size, "rows"}, {memory_, packed ? 0 : size, "rows"}, 0, packed ? bits : RowBits{}};
    const Rests<Rest> last{rests.data(), weights.data()};
    if (codes.fine_bits == 0) {
      run_pass(FirstPass<Pairs, Rest>{pairs, codes}, pairs.tiles, buckets.coarse_begins(), last);
    } else {  // through the memory of rows
      const Rests<Rest> first{reinterpret_cast<Rest*>(rows.key.data()), rows.count.data()};
      run_pass(FirstPass<Pairs, Rest>{pairs, codes}, pairs.tiles, buckets.coarse_begins(), first);
      std::int64_t tiles = 0;
      const std::vector<CoarseBucket> coarse = buckets.coarse(tile_positions(tuning_), &tiles);
      const auto there = on_device(coarse, memory_, "coarse buckets", stream_);
      const DeviceArray<unsigned> of_tile(memory_, static_cast<std::size_t>(tiles),
                                          "tiles of the second pass");
      PH_LAUNCH(find_coarse_buckets, row_blocks(of_tile.size(), tuning_), kRowThreads, 0, stream_,
                there.data(), static_cast<unsigned>(coarse.size()), tiles, of_tile.data());
      run_pass(SecondPass<Rest, kWeighted>{first, codes, there.data(), of_tile.data(), tiles}, tiles,
               buckets.begin, last);
    }
    return count_parts_of<Rest, kWeighted>(buckets.parts(part_positions), codes, last, std::move(rows));
  }

  template <class Pass>
  void run_pass(const Pass& pass, std::int64_t tiles, const std::vector<unsigned>& begins,
                const Rests<typename Pass::Rest>& to) const {
    const auto cursors = on_device(begins, memory_, "places of buckets", stream_);
    const std::size_t bytes =
        tile_bytes<typename Pass::Rest>(static_cast<std::size_t>(tile_positions(tuning_)), Pass::kWeighted);
    allow_shared(&scatter<Pass>, bytes);
    PH_LAUNCH((scatter<Pass>), blocks_for(tiles), tuning_.threads, bytes, stream_, pass, cursors.data(), to);
  }

  template <class Rest, bool kWeighted>
  CountedRows count_parts_of(const std::vector<BucketPart>& parts, const PairCodes& codes,
                             const Rests<Rest>& from, PairRows rows) const {
    using Table = BucketTable<Rest, std::conditional_t<kWeighted, Word, unsigned>>;
    const int slots = tuning_.bucket_slots != 0 ? tuning_.bucket_slots : Table::bytes(1) > 12 ? 4096 : 8192;
    const auto there = on_device(parts, memory_, "parts of buckets", stream_);
    const DeviceArray<unsigned> taken(memory_, 2, "the number of rows");
    fill(taken.data(), 0, 2 * sizeof(unsigned), stream_);
    allow_shared(&count_parts<Rest, kWeighted>, Table::bytes(slots));
    PH_LAUNCH((count_parts<Rest, kWeighted>), static_cast<unsigned>(parts.size()), tuning_.threads,
              Table::bytes(slots), stream_, there.data(), codes, from, slots,
              RowPlaces{rows.key.data(), rows.count.data(), rows.key.size(), rows.bits, taken.data()});
    unsigned sizes[2];
    copy(sizes, taken.data(), sizeof sizes, stream_);
    synchronize(stream_);
    rows.size = sizes[1];
    return {std::move(rows), sizes[0]};
  }

  // Pairs with weights are rows, or of pieces: most are distinct.
  static int bucket_bits_for(std::int64_t positions, bool weighted) {
    int bits = kFewestBucketBits;
    while (bits < kMostBucketBits &&
           positions >> bits > (weighted || bits < kMostPassBits ? kDistinctPerBucket : kPositionsPerBucket))
      ++bits;
    return bits;
  }

  unsigned blocks_for(std::int64_t tiles) const {
    return static_cast<unsigned>(
        std::min<std::int64_t>(tiles, kBlocksPerMultiprocessor * tuning_.multiprocessors));
  }

  DeviceMemory& memory_;
  PairTuning tuning_;
  Stream stream_;
};

class PartitionPairCounter final : public PairCounter {
 public:
  PartitionPairCounter(DeviceMemory& memory, const PairTuning& tuning)
      : memory_(memory), tuning_(tuning), most_(std::min(tuning.positions_per_round, kMostPositions)) {
    tuning_.threads = std::min(tuning.threads, kMostPartitionThreads);
  }

  void add(const PairChunk& chunk, Stream stream) override {
    for (std::int64_t first = chunk.first; first < chunk.last;) {
      const std::int64_t last = std::min(chunk.last, first + most_);
      PairRows rows;
      try {
        shorten(stream);
        rows = count_round(slice(chunk, first, last), stream);
      } catch (const OutOfDeviceMemory&) {
        if (last - first <= kFewestPositions) throw;
        most_ = (last - first) / 2;
        continue;
      }
      take(std::move(rows), stream);
      first = last;
    }
  }

  PairRows collect(Stream stream) override {
    if (rows_.size > distinct_) rows_ = Partition(memory_, tuning_, stream).sum(view(rows_), rows_.size);
    distinct_ = 0;
    return std::exchange(rows_, {});
  }

 private:
  // Rows of a round have places for all of its pairs; before another round they get as many as there are.
  void shorten(Stream stream) {
    if (rows_.size == rows_.key.size() && !rows_.packed()) return;
    PairRows rows = rows_for(rows_.size, memory_);
    put_rows(rows_, rows, 0, tuning_, stream);
    rows_ = std::move(rows);
  }

  PairRows count_round(const PairChunk& chunk, Stream stream) {
    const Partition partition(memory_, tuning_, stream);
    DeviceArray<std::int64_t> tile_segments;
    if (chunk.offsets != nullptr) tile_segments = find_tile_segments(chunk, memory_, tuning_, stream);
    PairRows rows;
    with_chunk_kind(chunk, [&](auto segmented, auto weighted) {
      const ChunkPairs<decltype(segmented)::value, decltype(weighted)::value> pairs{
          chunk, tile_segments.data(), tile_count(chunk, tuning_)};
      rows = partition.count(pairs, chunk.last - chunk.first);
    });
    return rows;
  }

  // Rows of a round, behind the earlier ones. A pair may then have several.
  void take(PairRows rows, Stream stream) {
    if (rows_.size == 0) {
      distinct_ = rows.size;
      rows_ = std::move(rows);
      return;
    }
    PairRows all = rows_for(rows_.size + rows.size, memory_);
    put_rows(rows_, all, 0, tuning_, stream);
    put_rows(rows, all, rows_.size, tuning_, stream);
    rows_ = std::move(all);
    if (rows_.size <= 2 * distinct_) return;
    rows_ = Partition(memory_, tuning_, stream).sum(view(rows_), rows_.size);
    distinct_ = rows_.size;
  }

  DeviceMemory& memory_;
  PairTuning tuning_;
  std::int64_t most_;  // positions of a round
  PairRows rows_;
  std::size_t distinct_ = 0;  // rows after the last sum; as many as there are rows where every pair has one
};

}  // namespace

std::unique_ptr<PairCounter> make_partition_pair_counter(DeviceMemory& memory, const PairTuning& tuning) {
  return std::make_unique<PartitionPairCounter>(memory, tuning);
}

}  // namespace pyharness::kernels
