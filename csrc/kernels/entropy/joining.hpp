// How the blocks that share a row join their parts in the same launch: each leaves its part in memory and
// counts itself, and the last to arrive merges all parts, in the order of columns whoever it is, so that
// results are the same every time.
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

// Called by the first warp of a block with the part in its first lane. True in the block that joined: its
// first lane has the row's state.
PH_DEVICE bool join_parts(EntropyState& state, std::int64_t at, int part_index, Arrivals seen,
                          const Splits& splits, float scale) {
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
  state = empty_state();
  for (int part = lane; part < splits.count; part += kWarp) state = merge(state, parts[part], scale);
  state = merge_lanes<true, kWarp>(state, scale);
  if (lane != 0) return true;
  state.target = parts[0].target;
  atomicExch(splits.arrivals + at, 0);  // a captured launch is repeated under the same name
  return true;
}

}  // namespace pyharness::kernels
