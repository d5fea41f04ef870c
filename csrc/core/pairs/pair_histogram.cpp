#include "core/pairs/pair_histogram.hpp"

#include <bit>

#include "core/pairs/counter.hpp"
#include "core/pairs/order.hpp"

namespace pyharness {
namespace {

// Bits of the widest id.
int id_bits_of(std::span<const std::uint32_t> ids, int threads) {
  std::vector<std::uint32_t> seen(static_cast<std::size_t>(threads));
  run_on_threads(threads, [&](int worker) {
    const std::size_t begin = share_begin(ids.size(), worker, threads);
    std::uint32_t bits = 0;
    for (const auto id : ids.subspan(begin, share_begin(ids.size(), worker + 1, threads) - begin)) bits |= id;
    seen[static_cast<std::size_t>(worker)] = bits;
  });
  std::uint32_t bits = 0;
  for (const std::uint32_t part : seen) bits |= part;
  return static_cast<int>(std::bit_width(bits));
}

template <class Keys, bool kWeighted>
PairHistogram histogram_of(std::span<const std::uint32_t> ids, const PairRuns& runs, int id_bits,
                           int threads) {
  const auto partitions = PairCounter<Keys, kWeighted>(ids, runs, threads).run();
  return PairOrder<Keys>(partitions, id_bits, threads).run();
}

}  // namespace

PairHistogram pair_histogram(std::span<const std::uint32_t> ids, const PairSegments& segments, int threads) {
  check_threads(threads);
  const PairRuns runs(ids.size(), segments);
  const int id_bits = id_bits_of(ids, threads);
  // Weighted counts may leave 32 bits, so they take the wide path whatever the ids.
  if (segments.weights != nullptr) return histogram_of<WideKeys, true>(ids, runs, id_bits, threads);
  const bool narrow = id_bits <= 18 && ids.size() <= 0xFFFFFFFFu;
  return narrow ? histogram_of<NarrowKeys, false>(ids, runs, id_bits, threads)
                : histogram_of<WideKeys, false>(ids, runs, id_bits, threads);
}

void check_segments(const PairSegments& segments, std::int64_t total) {
  PairRuns(static_cast<std::size_t>(total), segments);
}

}  // namespace pyharness
