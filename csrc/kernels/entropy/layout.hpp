// How rows are laid over blocks: for few rows several blocks to a row, for short rows several rows to a
// block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "kernels/entropy/entropy.hpp"
#include "kernels/entropy/joining.hpp"
#include "kernels/entropy/row.hpp"

namespace pyharness::kernels {

// From counting instructions and multiprocessors; not yet measured on a GPU. A thread's reduction is about
// two loads' worth of instructions, so that 32 loads hide it. 8192 warps are 64 for each of 128
// multiprocessors: where rows are few, warps with little to do are better than idle schedulers.
constexpr int kLoadsPerThread = 32;
constexpr std::int64_t kWarpsToFill = 8192;

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How rows are laid over blocks. The same on every device, so that results are.
struct Layout {
  int splits = 1;
  int lanes = 0;  // 0: whole blocks
  int rows_per_block = 1;
  int threads = kWarp;
};

// For the widest logits: half of them load twice as many at once.
inline int splits_of(std::int64_t rows, std::int64_t columns) {
  const EntropyTuning& tuning = entropy_tuning();
  const std::int64_t most = std::min(columns / kPerLoad<float> / tuning.loads_per_part, kMostSplits);
  return static_cast<int>(std::max<std::int64_t>(1, std::min(divide_up(tuning.blocks, rows), most)));
}

// As few lanes as leave none more than three batches of loads: each row's merge costs all its lanes the same,
// and the fewer they are, the smaller the share of loads that are empty. More where rows are too few to fill
// a device.
inline Layout short_layout(std::int64_t rows, std::int64_t loads) {
  const EntropyTuning& tuning = entropy_tuning();
  constexpr std::int64_t kMostLoads = 3 * kLoadsInFlight;
  Layout layout;
  layout.lanes = 4;
  while (layout.lanes < kWarp && loads > kLoadsInFlight * layout.lanes &&
         (loads > kMostLoads * layout.lanes || rows * layout.lanes < tuning.blocks * tuning.threads))
    layout.lanes *= 2;
  const int per_warp = kWarp / layout.lanes;
  const auto wanted = std::clamp<std::int64_t>(divide_up(rows, tuning.blocks), 1, tuning.threads);
  layout.rows_per_block = static_cast<int>(divide_up(wanted, per_warp)) * per_warp;
  layout.threads = std::min(layout.rows_per_block * layout.lanes, tuning.threads);
  return layout;
}

inline Layout layout_of(const Logits& logits, int per_load) {
  const EntropyTuning& tuning = entropy_tuning();
  const std::int64_t rows = logits.rows;
  const std::int64_t columns = logits.columns;
  // Of rows that start less than a load apart, more than two may be at the ends of the memory.
  const bool lie_apart = rows == 1 || std::abs(logits.row_stride) >= per_load;
  if (lie_apart && columns / per_load <= tuning.loads_of_short_rows)
    return short_layout(rows, columns / per_load);
  Layout layout;
  layout.splits = splits_of(rows, columns);
  const std::int64_t loads = columns / per_load / layout.splits;
  const std::int64_t enough = divide_up(loads, kLoadsPerThread * kWarp);
  const std::int64_t useful = divide_up(loads, kLoadsInFlight * kWarp);
  const std::int64_t to_fill = divide_up(kWarpsToFill, rows * layout.splits);
  const std::int64_t warps = std::max(enough, std::min(to_fill, useful));
  layout.threads = static_cast<int>(std::clamp<std::int64_t>(warps, 1, tuning.threads / kWarp)) * kWarp;
  return layout;
}

}  // namespace pyharness::kernels
