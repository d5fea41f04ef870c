#include "core/pair_histogram.hpp"

#include "core/pair_counter.hpp"
#include "core/pair_order.hpp"

namespace pyharness {
namespace {

template <class Keys, bool kWeighted>
PairHistogram histogram_of(std::span<const std::uint32_t> ids, const PairSegments& segments,
                           std::uint32_t largest, int threads) {
  const auto tables = count_pairs<Keys, kWeighted>(ids, segments, threads);
  return PairOrder<Keys>(tables, largest, threads).run();
}

}  // namespace

PairHistogram pair_histogram(std::span<const std::uint32_t> ids,
                             std::optional<std::span<const std::int64_t>> offsets,
                             std::optional<std::span<const std::uint64_t>> weights, int threads) {
  check_threads(threads);
  const PairSegments segments(ids.size(), offsets, weights);
  std::uint32_t largest = 0;
  for (const std::uint32_t id : ids) largest = std::max(largest, id);
  // Weighted counts may leave 32 bits, so they take the wide path whatever the ids.
  if (weights) return histogram_of<WideKeys, true>(ids, segments, largest, threads);
  const bool narrow = largest < 1u << 18 && ids.size() <= 0xFFFFFFFFu;
  return narrow ? histogram_of<NarrowKeys, false>(ids, segments, largest, threads)
                : histogram_of<WideKeys, false>(ids, segments, largest, threads);
}

}  // namespace pyharness
