// method "partition", the default: the most frequent pairs of a sample are counted on chip while the first
// pass reads the corpus; the others are brought together by bucket in two passes, and counted exactly in
// shared memory, a bucket at a time. Bytes per token with ids below 2^18, where the hot pairs take a share h:
// 4 to read, and for the others 4 to write, 4 + 4 for the second pass and 4 to count: 4 + 16 (1 - h); for
// each distinct pair 8 where ids and count fit one word, else 16. Workspace: 13 bytes a position of a round
// (docs/gpu.md), which PairTuning::positions_per_round bounds; rounds halve where memory is short. Rows of
// earlier rounds take 16 bytes each, and are counted again, as pairs with weights, once they are twice as
// many as there were.
#include <algorithm>
#include <string>
#include <utility>

#include "kernels/pairs/partition/buckets.hpp"

namespace pyharness::kernels {
namespace {

// Of a bucket, as far as there are buckets for it: so many distinct pairs fit its table, and so many
// positions of text, of which a quarter or less is distinct. What is more distinct is read again.
constexpr std::int64_t kDistinctPerBucket = 4096;
constexpr std::int64_t kPositionsPerBucket = 24'576;
constexpr std::int64_t kMostPositions = std::int64_t{1} << 30;    // of a round: places have 32 bits
constexpr std::int64_t kFewestPositions = std::int64_t{1} << 16;  // of a round that halved
constexpr std::int64_t kBlocksPerMultiprocessor = 4;
constexpr std::int64_t kCountingBlocks = 32;  // per multiprocessor: several parts each, of different sizes
constexpr int kFewestIdBits = 17;             // that rows have; ids of more bits are met sooner or later
// Of a sample: below, looking pairs up costs as much as it saves.
constexpr double kFewestCovered = 0.15;

// Arrays of a round within one allocation, each aligned to 16 bytes.
class Workspace {
 public:
  // First without memory, to learn the size; then again with as much.
  explicit Workspace(unsigned char* memory) : memory_(memory) {}

  template <class Value>
  Value* take(std::size_t count) {
    const std::size_t begin = size_;
    size_ += (count * sizeof(Value) + 15) / 16 * 16;
    return memory_ == nullptr ? nullptr : reinterpret_cast<Value*>(memory_ + begin);
  }
  std::size_t size() const { return size_; }

 private:
  unsigned char* memory_;
  std::size_t size_ = 0;
};

// Sizes of a round and its arrays.
template <class Rest, bool kWeighted>
struct Round {
  PairBuckets buckets;
  Pages pages;
  std::size_t most_pages;
  std::size_t most_tiles;
  std::size_t most_parts;
  SecondPlan plan;
  Rests<Rest> rests;
  std::size_t zeroed;  // bytes from the first array on

  void lay_out(Workspace& space, std::size_t positions) {
    pages.totals = space.template take<RoundTotals>(1);
    plan.sizes = space.template take<unsigned>(buckets.size());
    pages.of_bin = space.template take<unsigned>(buckets.coarse_size());
    plan.spans = space.template take<PageSpan>(most_tiles * plan.tile_pages);
    zeroed = space.size();
    pages.bin_and_size = space.template take<unsigned>(most_pages);
    plan.ends = space.template take<unsigned>(buckets.size());
    plan.page_ends = space.template take<unsigned>(buckets.coarse_size());
    plan.bin_of_tile = space.template take<unsigned>(most_tiles);
    plan.parts = space.template take<BucketPart>(most_parts);
    rests.rest = space.template take<Rest>(positions);
    rests.weight = space.template take<Word>(kWeighted ? positions : 0);
    plan.totals = pages.totals;
  }
};

// The rows of one counting: those in front are all there is of their pairs, the last `parts` of its places
// have parts of sums.
struct CountedRows {
  PairRows rows;
  std::size_t parts = 0;
};

// Countings of pairs that fit the workspace.
class Partition {
 public:
  Partition(DeviceMemory& memory, const PairTuning& tuning) : memory_(memory), tuning_(tuning) {
    first_tuning_ = tuning_;
    first_tuning_.threads = 2 * tuning_.threads;
  }

  // `most` bounds their number. Every pair has one row.
  template <class Pairs>
  PairRows count(const Pairs& pairs, std::int64_t most, Stream stream) {
    auto [rows, parts] = count_once(pairs, most, static_cast<unsigned>(tuning_.part_positions), stream);
    if (parts == 0) return std::move(rows);
    const PairRows sums = sum(view(rows, rows.key.size() - parts), parts, stream);
    put_rows(sums, rows, rows.size, tuning_, stream);
    rows.size += sums.size;
    return std::move(rows);
  }

  // One row for every pair among `size` rows.
  PairRows sum(const RowsView& rows, std::size_t size, Stream stream) {
    const auto most = static_cast<std::int64_t>(size);
    const std::int64_t tile = tile_positions(tuning_for<true>());
    return count_once(RowPairs{rows, most, (most + tile - 1) / tile}, most, ~0u, stream).rows;
  }

  // Takes the most frequent pairs of every so many tiles into the table, from the next counting on.
  template <bool kSegmented>
  void take_sample(ChunkPairs<kSegmented, false> pairs, std::int64_t stride, Stream stream) {
    pairs.stride = stride;
    pairs.tiles /= stride;
    const std::int64_t positions = pairs.tiles * tile_positions(tuning_for<false>());
    const PairRows rows = count(pairs, positions, stream);
    if (id_bits_ > kIdBits<std::uint32_t> || rows.size == 0) return;
    const std::size_t sets = hot_sets();
    hot_tags_ = DeviceArray<HotTags>(memory_, sets, "the most frequent pairs");
    hot_counts_ = DeviceArray<unsigned>(memory_, kHotWays * sets, "the most frequent pairs");
    const HotPairs hot{hot_tags_.data(), hot_counts_.data(), static_cast<unsigned>(sets)};
    const DeviceArray<Word> ranked(memory_, kHotWays * sets + 1, "the most frequent pairs");
    Word* const covered = ranked.data() + kHotWays * sets;
    fill(ranked.data(), 0, ranked.size() * sizeof(Word), stream);
    PH_LAUNCH(rank_hot_pairs, row_blocks(rows.size, tuning_), kRowThreads, 0, stream, view(rows), rows.size,
              hot, ranked.data());
    PH_LAUNCH(fill_hot_pairs, row_blocks(sets, tuning_), kRowThreads, 0, stream, ranked.data(), hot, covered);
    if (static_cast<double>(read_back(covered, stream)) >= kFewestCovered * static_cast<double>(positions))
      hot_ = hot;
  }

  template <bool kWeighted>
  const PairTuning& tuning_for() const {
    return kWeighted ? tuning_ : first_tuning_;
  }

 private:
  // Ids have as many bits as those of the countings before, or the counting is done again.
  template <class Pairs>
  CountedRows count_once(const Pairs& pairs, std::int64_t most, unsigned part_positions, Stream stream) {
    if (most > 2 * kMostPositions)
      throw OutOfDeviceMemory(std::to_string(most) + " rows are to be summed, of which 2147483648 can be: " +
                              "count parts of the corpus");
    for (;;) {
      RoundTotals totals{};
      PairRows rows = id_bits_ <= kIdBits<std::uint32_t>
                          ? count_in<std::uint32_t>(pairs, most, part_positions, &totals, stream)
                          : count_in<Word>(pairs, most, part_positions, &totals, stream);
      if (bit_width(totals.ids) <= id_bits_) {
        rows.size = totals.rows[1];
        return {std::move(rows), totals.rows[0]};
      }
      id_bits_ = bit_width(totals.ids);
      if (id_bits_ > kIdBits<std::uint32_t>) hot_ = {};
    }
  }

  template <class Rest, class Pairs>
  PairRows count_in(const Pairs& pairs, std::int64_t most, unsigned part_positions, RoundTotals* totals,
                    Stream stream) {
    constexpr bool kWeighted = Pairs::kWeighted;
    constexpr bool kMayBeHot = !kWeighted && sizeof(Rest) == sizeof(std::uint32_t);
    const HotPairs hot = kMayBeHot ? hot_ : HotPairs{};
    Round<Rest, kWeighted> round = round_for<Rest, kWeighted>(pairs.tiles, most, part_positions);
    Workspace sizes(nullptr);
    round.lay_out(sizes, static_cast<std::size_t>(most));
    const DeviceArray<unsigned char> memory(memory_, sizes.size(), "the pairs of a round");
    Workspace space(memory.data());
    round.lay_out(space, static_cast<std::size_t>(most));

    // The first pass writes where rows will be.
    const std::size_t places = (round.most_pages << round.pages.bits) + std::size_t{kHotWays} * hot.size;
    const RowBits bits{id_bits_, bit_width(static_cast<Word>(most))};
    const bool packed = !kWeighted && fit_one_word(bits);
    PairRows rows{
        {memory_, places, "rows"}, {memory_, packed ? 0 : places, "rows"}, 0, packed ? bits : RowBits{}};
    const Rests<Rest> first{reinterpret_cast<Rest*>(rows.key.data()), rows.count.data()};
    const RowPlaces to{rows.key.data(), rows.count.data(), places, rows.bits, round.pages.totals->rows};

    fill(round.pages.totals, 0, round.zeroed, stream);
    if constexpr (kMayBeHot) {
      if (hot.size != 0) {
        fill(hot.counts, 0, hot_counts_.size() * sizeof(unsigned), stream);
        run_first_pass<true>(pairs, round, hot, first, stream);
      }
    }
    if (hot.size == 0) run_first_pass<false>(pairs, round, hot, first, stream);
    PH_LAUNCH(plan_second_pass, 1, tuning_.threads, 0, stream, round.buckets, round.pages.of_bin, round.plan);
    PH_LAUNCH(sort_pages, row_blocks(round.most_pages, tuning_), kRowThreads, 0, stream, round.pages,
              round.plan);
    run_second_pass(round, first, stream);
    count_buckets(round, most, to, stream);
    if (hot.size != 0)
      PH_LAUNCH(put_hot_rows, (hot.size + kRowThreads - 1) / kRowThreads, kRowThreads, 0, stream, hot, to);
    copy(totals, round.pages.totals, sizeof(RoundTotals), stream);
    synchronize(stream);
    return rows;
  }

  template <class Rest, bool kWeighted>
  Round<Rest, kWeighted> round_for(std::int64_t tiles, std::int64_t most, unsigned part_positions) const {
    const int bits = tuning_.bucket_bits != 0 ? tuning_.bucket_bits : bucket_bits_for(most, kWeighted);
    Round<Rest, kWeighted> round{};
    round.buckets = buckets_for(bits);
    // Pages that are not full take an eighth of the places at most, unless they are as small as can be.
    const std::int64_t open_pages = first_pass_blocks(tiles) * round.buckets.coarse_size();
    const std::int64_t tile = tile_positions(tuning_);
    int page_bits = kMostPageBits;
    while (page_bits > kFewestPageBits &&
           (open_pages << page_bits > most / 8 || tile % (std::int64_t{1} << page_bits) != 0))
      --page_bits;
    round.pages.bits = page_bits;
    round.most_pages = static_cast<std::size_t>((most >> page_bits) + open_pages);
    round.plan.tile_pages = static_cast<unsigned>(tile >> page_bits);
    round.most_tiles = round.most_pages / round.plan.tile_pages + round.buckets.coarse_size();
    round.most_parts = static_cast<std::size_t>(most) / part_positions + round.buckets.size();
    round.plan.part_positions = part_positions;
    return round;
  }

  template <bool kHot, class Pairs, class Rest>
  void run_first_pass(const Pairs& pairs, const Round<Rest, Pairs::kWeighted>& round, const HotPairs& hot,
                      const Rests<Rest>& to, Stream stream) const {
    const PairTuning& tuning = tuning_for<Pairs::kWeighted>();
    const std::size_t tile = tile_bytes<Rest, Pairs::kWeighted>(tile_positions(tuning));
    const std::size_t bytes = first_pass_bytes(tile, round.buckets.size(), hot.size);
    allow_shared(&scatter_to_pages<Pairs, Rest, kHot>, bytes);
    PH_LAUNCH((scatter_to_pages<Pairs, Rest, kHot>), static_cast<unsigned>(first_pass_blocks(pairs.tiles)),
              tuning.threads, bytes, stream, pairs, round.buckets, hot, round.pages, round.plan.sizes, to);
  }

  template <class Rest, bool kWeighted>
  void run_second_pass(const Round<Rest, kWeighted>& round, const Rests<Rest>& from, Stream stream) const {
    const std::size_t bytes = sizeof(TileBins) + tile_bytes<Rest, kWeighted>(tile_positions(tuning_));
    allow_shared(&scatter_by_bucket<Rest, kWeighted>, bytes);
    PH_LAUNCH((scatter_by_bucket<Rest, kWeighted>), blocks_for(round.most_tiles, kBlocksPerMultiprocessor),
              tuning_.threads, bytes, stream, round.buckets, round.pages.bits, round.plan, from, round.rests);
  }

  template <class Rest, bool kWeighted>
  void count_buckets(const Round<Rest, kWeighted>& round, std::int64_t most, const RowPlaces& to,
                     Stream stream) const {
    using Table = BucketTable<Rest, std::conditional_t<kWeighted, Word, unsigned>>;
    const int slots = tuning_.bucket_slots != 0 ? tuning_.bucket_slots
                                                : slots_for(most / round.buckets.size(), Table::bytes(1));
    allow_shared(&count_parts<Rest, kWeighted>, Table::bytes(slots));
    PH_LAUNCH((count_parts<Rest, kWeighted>), blocks_for(round.most_parts, kCountingBlocks), tuning_.threads,
              Table::bytes(slots), stream, round.plan.parts, round.pages.totals, round.buckets, round.rests,
              slots, to);
  }

  // Small buckets have a small table, which is cleared and emptied sooner.
  static int slots_for(std::int64_t positions, std::size_t slot_bytes) {
    const int most = slot_bytes > 12 ? 4096 : 8192;
    int slots = 256;
    while (slots < most && slots < 2 * positions) slots *= 2;
    return slots;
  }

  // Pairs with weights are rows, or of pieces: most are distinct.
  static int bucket_bits_for(std::int64_t positions, bool weighted) {
    int bits = kFewestBucketBits;
    while (bits < kMostBucketBits &&
           positions >> bits > (weighted ? kDistinctPerBucket : kPositionsPerBucket))
      ++bits;
    return bits;
  }

  // As many as the shared memory of a block has room for beside the largest tile and the most buckets.
  std::size_t hot_sets() const {
    const std::size_t tile = tile_bytes<std::uint32_t, false>(tile_positions(first_tuning_));
    const std::size_t others = first_pass_bytes(tile, 1u << kMostBucketBits, 0);
    const std::size_t room = tuning_.shared_bytes - std::min(others, tuning_.shared_bytes);
    return std::max(
        std::min(room / BlockHotPairs::bytes(1), static_cast<std::size_t>(tuning_.hot_slots / kHotWays)),
        std::size_t{kFewestHotSlots} / kHotWays);
  }

  std::int64_t first_pass_blocks(std::int64_t tiles) const {
    return std::min<std::int64_t>(tiles, tuning_.multiprocessors);
  }
  unsigned blocks_for(std::size_t items, std::int64_t per_multiprocessor) const {
    return static_cast<unsigned>(std::min<std::int64_t>(static_cast<std::int64_t>(items),
                                                        per_multiprocessor * tuning_.multiprocessors));
  }

  DeviceMemory& memory_;
  PairTuning tuning_;
  PairTuning first_tuning_;  // of the first pass over pairs without weights
  int id_bits_ = kFewestIdBits;
  DeviceArray<HotTags> hot_tags_;
  DeviceArray<unsigned> hot_counts_;
  HotPairs hot_;
};

class PartitionPairCounter final : public PairCounter {
 public:
  PartitionPairCounter(DeviceMemory& memory, const PairTuning& tuning)
      : memory_(memory),
        tuning_(tuning),
        partition_(memory, tuning),
        most_(std::min(tuning.positions_per_round, kMostPositions)) {}

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
    if (rows_.size > distinct_) rows_ = partition_.sum(view(rows_), rows_.size, stream);
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
    PairRows rows;
    with_chunk_kind(chunk, [&](auto segmented, auto weighted) {
      constexpr bool kSegmented = decltype(segmented)::value;
      constexpr bool kWeighted = decltype(weighted)::value;
      const PairTuning& tuning = partition_.template tuning_for<kWeighted>();
      DeviceArray<std::int64_t> tile_segments;
      if (kSegmented) tile_segments = find_tile_segments(chunk, memory_, tuning, stream);
      const ChunkPairs<kSegmented, kWeighted> pairs{chunk, tile_segments.data(), tile_count(chunk, tuning)};
      if constexpr (!kWeighted) sample(pairs, stream);
      rows = partition_.count(pairs, chunk.last - chunk.first, stream);
    });
    return rows;
  }

  // Once, of the first round that is large enough; the later ones have the same table.
  template <class Pairs>
  void sample(const Pairs& pairs, Stream stream) {
    const std::int64_t stride =
        std::max(tuning_.sampled_part,
                 (pairs.chunk.last - pairs.chunk.first + tuning_.most_sampled - 1) / tuning_.most_sampled);
    if (sampled_ || tuning_.hot_slots == 0 || pairs.tiles < stride) return;
    partition_.take_sample(pairs, stride, stream);
    sampled_ = true;
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
    rows_ = partition_.sum(view(rows_), rows_.size, stream);
    distinct_ = rows_.size;
  }

  DeviceMemory& memory_;
  PairTuning tuning_;
  Partition partition_;
  std::int64_t most_;  // positions of a round
  bool sampled_ = false;
  PairRows rows_;
  std::size_t distinct_ = 0;  // rows after the last sum; as many as there are rows where every pair has one
};

}  // namespace

std::unique_ptr<PairCounter> make_partition_pair_counter(DeviceMemory& memory, const PairTuning& tuning) {
  PairTuning partition = tuning;
  partition.threads = std::min(tuning.threads, kMostPartitionThreads);
  return std::make_unique<PartitionPairCounter>(memory, partition);
}

}  // namespace pyharness::kernels
