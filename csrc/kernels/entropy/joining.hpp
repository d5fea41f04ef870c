// How the blocks that share a row join their parts in the same launch, in the order of columns, so that
// results are the same every time and in both ways.
//
// Where a device takes the blocks of a row as a cluster, the first reads the parts in the shared memory of
// the others. Elsewhere each leaves its part in memory and counts itself, and the last to arrive merges all
// parts.
//
// A second launch, or clearing the counters before the first, would cost more than few rows take to read. So
// a counter says which launch it counts for: one that names another is whatever the memory held, and counts
// as zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/entropy/state.hpp"
#include "kernels/exec.hpp"

namespace pyharness::kernels {

using Arrivals = unsigned long long;  // the launch in the upper 48 bits, blocks in the lower 16
inline constexpr int kArrivalBits = 16;
inline constexpr std::int64_t kMostSplits = (1 << kArrivalBits) - 1;

struct Splits {
  int count = 1;                  // blocks per row
  bool in_cluster = false;        // a row's blocks are a cluster; code for sm_80 takes no notice
  EntropyState* parts = nullptr;  // [rows, count]
  Arrivals* arrivals = nullptr;   // [rows], of any content
  Arrivals launch = 0;            // unlike that of any other launch in this memory; its lower bits are 0

  static std::size_t bytes(std::int64_t rows, int count) {
    return static_cast<std::size_t>(rows) *
           (static_cast<std::size_t>(count) * sizeof(EntropyState) + sizeof(Arrivals));
  }
};

// Whether all other blocks of the row were here before. `seen` is what the counter held earlier in this
// launch.
PH_DEVICE bool arrives_last(Arrivals* arrivals, Arrivals seen, const Splits& splits) {
  if (seen >> kArrivalBits != splits.launch >> kArrivalBits &&
      atomicCAS(arrivals, seen, splits.launch + 1) == seen)
    return false;  // the first, and there are others
  return atomicAdd(arrivals, 1) + 1 == splits.launch + static_cast<unsigned>(splits.count);
}

// The state of a row, but for its target, in the first lane of a warp.
template <class PartOf>
PH_DEVICE EntropyState merge_parts(PartOf part_of, const Splits& splits, float scale) {
  EntropyState state = empty_state();
  for (int part = static_cast<int>(threadIdx.x); part < splits.count; part += kWarp)
    state = merge(state, part_of(part), scale);
  return merge_lanes<true, kWarp>(state, scale);
}

#if PH_CLUSTERS
// As join_parts(), for blocks that are a cluster: their ranks are the parts' places.
PH_DEVICE bool join_in_cluster(EntropyState& state, int part_index, const Splits& splits, float scale) {
  PH_SHARED(EntropyState, part, 1);
  const float target = state.target;
  if (threadIdx.x == 0) part[0] = state;
  ph_cluster_barrier();  // all parts are there before one is read
  const bool joins = part_index == 0;
  if (joins) {
    const auto part_of = [&](int rank) { return *ph_shared_of(part, rank); };
    state = merge_parts(part_of, splits, scale);
    state.target = target;
  }
  ph_cluster_barrier();  // no block leaves before its part is read
  return joins;
}
#endif

// Called by the first warp of a block with the part in its first lane. True in the block that joined: its
// first lane has the row's state.
PH_DEVICE bool join_parts(EntropyState& state, std::int64_t at, int part_index, Arrivals seen,
                          const Splits& splits, float scale) {
#if PH_CLUSTERS
  if (splits.in_cluster) return join_in_cluster(state, part_index, splits, scale);
#endif
  const int lane = static_cast<int>(threadIdx.x);
  EntropyState* const parts = splits.parts + at * splits.count;
  bool last = false;
  if (lane == 0) {
    parts[part_index] = state;
    ph_fence();  // the part is there before the block has arrived
    last = arrives_last(splits.arrivals + at, seen, splits);
    if (last) ph_fence();  // all have arrived before their parts are read
  }
  if (!__shfl_sync(0xffffffffu, last, 0)) return false;
  __syncwarp();  // the fence was the first lane's
  state = merge_parts([&](int part) { return parts[part]; }, splits, scale);
  if (lane != 0) return true;
  state.target = parts[0].target;
  atomicExch(splits.arrivals + at, 0);  // a captured launch is repeated under the same name
  return true;
}

}  // namespace pyharness::kernels
