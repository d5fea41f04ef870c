// The kernels that bring the pairs of a bucket together in two passes. The first reads pairs, counts those of
// the hot table and scatters the others by coarse bucket into pages; the second scatters a coarse bucket by
// bucket.
#pragma once

#include "kernels/pairs/partition/hot.hpp"
#include "kernels/pairs/partition/tile.hpp"

namespace pyharness::kernels {

inline constexpr int kMostPartitionThreads = 512;

// Pairs to count: those of a chunk or of a sample of its tiles, or rows that were counted before.
template <bool kSegmented, bool kHasWeights>
struct ChunkPairs {
  static constexpr bool kWeighted = kHasWeights;
  PairChunk chunk;
  const std::int64_t* tile_segments;
  std::int64_t tiles;
  std::int64_t stride = 1;  // every so many tiles of the chunk

  template <class Visit>
  PH_DEVICE void for_each(std::int64_t tile, Visit&& visit) const {
    for_each_pair<kSegmented, kHasWeights>(chunk, tile_segments, tile * stride,
                                           [&](std::int64_t, Word key, Word weight) { visit(key, weight); });
  }
};

struct RowPairs {
  static constexpr bool kWeighted = true;
  RowsView rows;
  std::int64_t size;
  std::int64_t tiles;

  template <class Visit>
  PH_DEVICE void for_each(std::int64_t tile, Visit&& visit) const {
    const std::int64_t first = tile * blockDim.x * kPositionsPerThread + threadIdx.x;
#pragma unroll
    for (int item = 0; item < kPositionsPerThread; ++item) {
      const std::int64_t at = first + item * static_cast<std::int64_t>(blockDim.x);
      const auto row = static_cast<std::size_t>(at);
      visit(at < size ? rows.key_at(row) : 0, at < size ? rows.count_at(row) : 0);
    }
  }
};

// What a round's kernels tell each other and the host. Zeroed before.
struct RoundTotals {
  unsigned rows[2];  // of parts of buckets, of whole buckets
  unsigned ids;      // bits of all ids
  unsigned pages;
  unsigned tiles;  // of the second pass
  unsigned parts;
};

// ---- the first pass

inline constexpr unsigned kWarpPositions = 32 * kPositionsPerThread;  // that a warp of the second pass reads
inline constexpr int kFewestPageBits = 8;
inline constexpr int kMostPageBits = 10;
static_assert(1u << kFewestPageBits == kWarpPositions, "a warp reads within one page");

// The memory that the first pass scatters to, in pages of 2^bits places: a block fills pages of its own, one
// after the other for each coarse bucket, so that no size need be known before.
struct Pages {
  int bits;
  unsigned* bin_and_size;  // [pages], the size in the low 16 bits
  unsigned* of_bin;        // [coarse buckets]: how many pages it has
  RoundTotals* totals;
};

// A block's current page of each coarse bucket.
struct BlockPages {
  unsigned begin[kMostBins];      // its first place
  std::uint16_t used[kMostBins];  // places; of no page as many as a page has

  PH_DEVICE void start(const Pages& pages) {
    for (unsigned bin = threadIdx.x; bin < kMostBins; bin += blockDim.x) {
      begin[bin] = 0;
      used[bin] = static_cast<std::uint16_t>(1u << pages.bits);
    }
  }
  // A bin belongs to one thread.
  PH_DEVICE void reserve(const Pages& pages, unsigned bin, unsigned count, TileBins& tile) {
    const unsigned room = (1u << pages.bits) - used[bin];
    tile.places[bin].first = begin[bin] + used[bin];
    tile.room[bin] = static_cast<std::uint16_t>(room < count ? room : count);
    if (count <= room) {
      used[bin] = static_cast<std::uint16_t>(used[bin] + count);
      return;
    }
    const unsigned more = ((count - room - 1) >> pages.bits) + 1;
    const unsigned page = atomicAdd(&pages.totals->pages, more);
    atomicAdd(&pages.of_bin[bin], more);
#pragma unroll 1  // hardly ever more than one
    for (unsigned at = page; at < page + more; ++at) pages.bin_and_size[at] = bin << 16 | 1u << pages.bits;
    tile.places[bin].next = (page << pages.bits) - room;
    begin[bin] = (page + more - 1) << pages.bits;
    used[bin] = static_cast<std::uint16_t>(count - room - ((more - 1) << pages.bits));
  }
  PH_DEVICE void finish(const Pages& pages) const {
    for (unsigned bin = threadIdx.x; bin < kMostBins; bin += blockDim.x)
      if (used[bin] < 1u << pages.bits) pages.bin_and_size[begin[bin] >> pages.bits] = bin << 16 | used[bin];
  }
};

// Bytes of shared memory that a tile is sorted in.
template <class Rest, bool kWeighted>
constexpr std::size_t tile_bytes(std::int64_t positions) {
  return static_cast<std::size_t>(positions) * (sizeof(Rest) + (kWeighted ? sizeof(Word) : 0));
}
// What the first pass has before the tile. The address of a static array would be computed at every use.
struct alignas(16) FirstPassMemory {
  TileBins bins;
  BlockPages pages;
};
constexpr std::size_t first_pass_bytes(std::size_t tile, unsigned buckets, unsigned hot_sets) {
  return sizeof(FirstPassMemory) + tile + BlockHotPairs::bytes(hot_sets) + BlockCounts::bytes(buckets);
}

// Threads of a block of the first pass; weights leave no registers for more.
template <bool kWeighted>
inline constexpr int kFirstPassThreads = (kWeighted ? 1 : 2) * kMostPartitionThreads;

template <class Pairs, class Rest, bool kHot>
PH_GLOBAL void __launch_bounds__(kFirstPassThreads<Pairs::kWeighted>, 1)
    scatter_to_pages(Pairs pairs, PairBuckets buckets, HotPairs hot, Pages pages, unsigned* sizes,
                     Rests<Rest> to) {
  PH_DYNAMIC_SHARED(FirstPassMemory, shared);
  TileBins& bins = shared->bins;
  BlockPages& current = shared->pages;
  Word* const weights = reinterpret_cast<Word*>(shared + 1);
  const unsigned positions = blockDim.x * kPositionsPerThread;
  Rest* const rests = reinterpret_cast<Rest*>(weights + (Pairs::kWeighted ? positions : 0));
  BlockHotPairs block_hot(rests + positions, hot);
  BlockCounts block_sizes(block_hot.end(), buckets.size(), sizes);
  const unsigned half = buckets.size() / 2;
  if (kHot) block_hot.start();
  block_sizes.start();
  current.start(pages);
  unsigned seen = 0;
  for (std::int64_t tile = blockIdx.x; tile < pairs.tiles; tile += gridDim.x) {
    scatter_tile<Pairs::kWeighted>(
        bins, buckets.coarse_size(), rests, weights, to,
        [&](auto&& put) {
          pairs.for_each(tile, [&](Word key, Word weight) {
            const auto left = static_cast<std::uint32_t>(key >> 32);
            const auto right = static_cast<std::uint32_t>(key);
            const auto code = PairCode<Rest>::of(left, right);
            seen |= left | right;  // where no pair starts, too: 0 or ids of the corpus
            bool scattered = weight != 0;
            if constexpr (kHot)
              if (scattered) scattered = !block_hot.add(code);
            const unsigned bucket = code.hash >> buckets.shift;
            if (scattered) block_sizes.add(bucket & (half - 1), bucket >= half);
            put(scattered ? code.hash >> buckets.coarse_shift : kNoBin, buckets.rest(code), weight);
          });
        },
        [&](unsigned bin, unsigned count) { current.reserve(pages, bin, count, bins); });
  }
  for (int flip = 16; flip > 0; flip /= 2) seen |= __shfl_xor_sync(0xffffffffu, seen, flip);
  if (threadIdx.x % 32 == 0) atomicOr(&pages.totals->ids, seen);
  __syncthreads();
  if (kHot) block_hot.finish();
  block_sizes.finish();
  current.finish(pages);
}

// ---- between the passes

// A bucket, or a part of a large one, for one block: its rests are at begin..end-1.
struct BucketPart {
  unsigned bucket;
  unsigned begin;
  unsigned end;
  unsigned whole;  // 1: the bucket has no other part, so its rows are all there is of their pairs
};

// Places of a page that are used.
struct PageSpan {
  unsigned begin;
  unsigned end;
};

// What the second pass does and the counting behind it: all of a round that depends on sizes.
struct SecondPlan {
  unsigned part_positions;  // of a bucket, beyond which it has several parts
  unsigned tile_pages;      // a tile of the second pass has so many, all of one coarse bucket
  unsigned* sizes;          // [buckets]
  unsigned* ends;           // [buckets]: where each begins; the second pass moves it to the end
  unsigned* page_ends;      // [coarse buckets], likewise, of spans
  PageSpan* spans;          // pages by coarse bucket, each from a new tile on; zeroed, and so empty, before
  unsigned* bin_of_tile;
  BucketPart* parts;
  RoundTotals* totals;
};

// Calls put(i, the sum of value(j) for j < i) for every i below size and returns the sum of all. A block's
// threads together.
template <class Value, class Put>
PH_DEVICE unsigned scan(unsigned size, unsigned* warp_sums, Value&& value, Put&& put) {
  const unsigned each = (size + blockDim.x - 1) / blockDim.x;
  const unsigned first = threadIdx.x * each < size ? threadIdx.x * each : size;
  const unsigned last = size - first < each ? size : first + each;
  unsigned sum = 0;
  for (unsigned at = first; at < last; ++at) sum += value(at);
  const unsigned up_to = sum_up_to(sum);
  if (threadIdx.x % 32 == 31) warp_sums[threadIdx.x / 32] = up_to;
  __syncthreads();
  unsigned before = up_to - sum;
  unsigned total = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) {
    if (warp < threadIdx.x / 32) before += warp_sums[warp];
    total += warp_sums[warp];
  }
  for (unsigned at = first; at < last; ++at) {
    put(at, before);
    before += value(at);
  }
  __syncthreads();  // before sums are written again
  return total;
}

// By one block.
PH_GLOBAL void __launch_bounds__(kMostPartitionThreads, 1)
    plan_second_pass(PairBuckets buckets, const unsigned* pages_of_bin, SecondPlan plan) {
  PH_SHARED(unsigned, warp_sums, kMostPartitionThreads / 32);
  const auto size_of = [&](unsigned bucket) { return plan.sizes[bucket]; };
  const auto parts_of = [&](unsigned bucket) {
    return plan.sizes[bucket] == 0 ? 0 : (plan.sizes[bucket] - 1) / plan.part_positions + 1;
  };
  const auto tiles_of = [&](unsigned bin) {
    return (pages_of_bin[bin] + plan.tile_pages - 1) / plan.tile_pages;
  };
  scan(buckets.size(), warp_sums, size_of,
       [&](unsigned bucket, unsigned begin) { plan.ends[bucket] = begin; });
  const unsigned parts = scan(buckets.size(), warp_sums, parts_of, [&](unsigned bucket, unsigned at) {
    const unsigned count = parts_of(bucket);
    const unsigned end = plan.ends[bucket] + plan.sizes[bucket];
    unsigned begin = plan.ends[bucket];
    for (unsigned part = 0; part < count; ++part, begin += plan.part_positions)
      plan.parts[at + part] = {bucket, begin, part + 1 < count ? begin + plan.part_positions : end,
                               count == 1};
  });
  const unsigned tiles = scan(buckets.coarse_size(), warp_sums, tiles_of, [&](unsigned bin, unsigned tile) {
    plan.page_ends[bin] = tile * plan.tile_pages;
  });
  if (threadIdx.x != 0) return;
  plan.totals->parts = parts;
  plan.totals->tiles = tiles;
}

PH_GLOBAL void sort_pages(Pages pages, SecondPlan plan) {
  for (std::size_t page = row_index(); page < pages.totals->pages; page += row_stride()) {
    const unsigned bin = pages.bin_and_size[page] >> 16;
    const unsigned begin = static_cast<unsigned>(page) << pages.bits;
    const unsigned at = atomicAdd(&plan.page_ends[bin], 1u);
    plan.spans[at] = {begin, begin + (pages.bin_and_size[page] & 0xffffu)};
    if (at % plan.tile_pages == 0) plan.bin_of_tile[at / plan.tile_pages] = bin;
  }
}

// ---- the second pass

// Blocks per multiprocessor: two leave a thread 64 registers, which weights and wide rests do not fit.
template <class Rest, bool kWeighted>
inline constexpr int kScatterBlocks = kWeighted && sizeof(Rest) == sizeof(Word) ? 1 : 2;

template <class Rest, bool kWeighted>
PH_GLOBAL void __launch_bounds__(kMostPartitionThreads, (kScatterBlocks<Rest, kWeighted>))
    scatter_by_bucket(PairBuckets buckets, int page_bits, SecondPlan plan, Rests<Rest> from, Rests<Rest> to) {
  PH_DYNAMIC_SHARED(TileBins, shared);
  TileBins& bins = *shared;
  Word* const weights = reinterpret_cast<Word*>(shared + 1);
  Rest* const rests = reinterpret_cast<Rest*>(weights + (kWeighted ? blockDim.x * kPositionsPerThread : 0));
  // A warp takes neighbouring places, all of one page.
  const unsigned index = threadIdx.x / 32 * kWarpPositions + threadIdx.x % 32;
  const unsigned within_page = index & ((1u << page_bits) - 1);
  for (unsigned tile = blockIdx.x; tile < plan.totals->tiles; tile += gridDim.x) {
    const unsigned first_bucket = plan.bin_of_tile[tile] * buckets.fine_size();
    const PageSpan span = plan.spans[tile * plan.tile_pages + (index >> page_bits)];
    const unsigned begin = span.begin + within_page;
    const int ahead = static_cast<int>(span.end - begin);
    scatter_tile<kWeighted>(
        bins, buckets.fine_size(), rests, weights, to,
        [&](auto&& put) {
          Rest rest[kPositionsPerThread];
          Word weight[kWeighted ? kPositionsPerThread : 1];
#pragma unroll
          for (int item = 0; item < kPositionsPerThread; ++item) {
            const bool is_pair = item * 32 < ahead;
            rest[item] = is_pair ? from.rest[begin + static_cast<unsigned>(item) * 32] : 0;
            if (kWeighted) weight[item] = is_pair ? from.weight[begin + static_cast<unsigned>(item) * 32] : 0;
          }
#pragma unroll
          for (int item = 0; item < kPositionsPerThread; ++item)
            put(item * 32 < ahead ? buckets.fine(rest[item]) : kNoBin, rest[item],
                weight[kWeighted ? item : 0]);
        },
        [&](unsigned bin, unsigned count) {
          bins.places[bin].first = atomicAdd(&plan.ends[first_bucket + bin], count);
          bins.room[bin] = static_cast<std::uint16_t>(count);
        });
  }
}

}  // namespace pyharness::kernels
