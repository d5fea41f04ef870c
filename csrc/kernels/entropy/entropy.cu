// One read of each logit. A block takes a row; where rows are few, several share one and the last joins them;
// where rows are short, a block takes several.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

#include "kernels/entropy/call.hpp"
#include "kernels/entropy/entropy.hpp"
#include "kernels/entropy/joining.hpp"
#include "kernels/exec.hpp"
#include "shared/entropy_checks.hpp"

namespace pyharness::kernels {
namespace {

// From counting instructions and multiprocessors; not yet measured on a GPU. A thread's reduction is about
// two loads' worth of instructions, so that 32 loads hide it. 8192 warps are 64 for each of 128
// multiprocessors: where rows are few, warps with little to do are better than idle schedulers.
constexpr int kLoadsPerThread = 32;
constexpr std::int64_t kWarpsToFill = 8192;

// Blocks of short rows that a multiprocessor holds at once, so at most 48 or 64 registers a thread. Asked for
// a number, the compiler takes all that it leaves; without one, long rows get by with fewer
// (bench/device/check_sass.py).
template <bool kTop>
constexpr int kShortBlocks = kTop ? 4 : 5;

// ---- kernels

template <class Logit, bool kTop>
PH_GLOBAL void __launch_bounds__(kMostThreads) entropy_rows(const RowsCall call, const Splits splits) {
  const std::int64_t at = blockIdx.x;
  const int part_index = static_cast<int>(blockIdx.y);
  const Logit* const row = row_of<Logit>(call, at);

  // Under way while the row is read: two reads, one after the other, at the end of a block would be waited
  // for.
  float target = -INFINITY;
  if (threadIdx.x == 0 && part_index == 0) target = target_logit(row, at, call);

  Running<kTop> running;
  const Lane lane{static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
  add_part(running, row, static_cast<int>(call.logits.columns), part_index, splits.count, lane, call.scale);
  Arrivals seen = 0;  // under way while the block merges
  if (threadIdx.x == 0 && splits.count > 1) seen = ph_relaxed_load(splits.arrivals + at);
  EntropyState state = merge_block(running, call.scale);
  if (threadIdx.x >= kWarp) return;
  if (threadIdx.x == 0) {
    settle<Logit, kTop>(state, row, call);
    state.target = target;
  }
  if (splits.count > 1 && !join_parts(state, at, part_index, seen, splits, call.scale)) return;
  if (threadIdx.x == 0) hand_out(state, at, call);
}

// 8, 16 or 32 lanes per row, and one finish for all rows of the block: 32 at most, whole warps of them.
template <class Logit, bool kTop>
PH_GLOBAL void __launch_bounds__(kMostThreads, kShortBlocks<kTop>)
    entropy_short_rows(const RowsCall call, int lanes, int rows_per_block) {
  PH_SHARED(EntropyState, states, kWarp);
  const int thread = static_cast<int>(threadIdx.x);
  const Lane lane{thread % lanes, lanes};
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rows_per_block;
  const int rows =
      static_cast<int>(call.logits.rows - first < rows_per_block ? call.logits.rows - first : rows_per_block);
  for (int slot = thread / lanes; slot < rows_per_block; slot += static_cast<int>(blockDim.x) / lanes) {
    Running<kTop> running;
    if (slot < rows)
      add_part(running, row_of<Logit>(call, first + slot), static_cast<int>(call.logits.columns), 0, 1, lane,
               call.scale);
    const EntropyState state = merge_lanes<kTop>(state_of(running), lanes, call.scale);
    if (lane.index == 0) states[slot] = state;
  }
  __syncthreads();
  if (thread >= rows) return;
  const std::int64_t at = first + thread;
  const Logit* const row = row_of<Logit>(call, at);
  EntropyState state = states[thread];
  settle<Logit, kTop>(state, row, call);
  state.target = target_logit(row, at, call);
  hand_out(state, at, call);
}

PH_GLOBAL void entropy_merge_rows(EntropyState* states, const EntropyState* other, std::int64_t rows,
                                  float scale) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row < rows) states[row] = merge(states[row], other[row], scale);
}

PH_GLOBAL void entropy_finish_rows(const EntropyState* states, std::int64_t rows, const Finish finish) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row < rows) finish_row(states[row], row, finish);
}

PH_GLOBAL void find_bad_target(const Targets targets, std::int64_t rows, std::int64_t vocab_size,
                               unsigned long long* first) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const std::int64_t id = target_of(targets, row);
  if (id < 0 || id >= vocab_size) atomicMin(first, static_cast<unsigned long long>(row));
}

// ---- launches

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

unsigned blocks_for(std::int64_t items, int per_block) {
  const std::int64_t blocks = divide_up(items, per_block);
  if (blocks > INT_MAX)
    throw std::invalid_argument(std::to_string(items) + " rows are too many for one call");
  return static_cast<unsigned>(blocks);
}

float scale_of(double temperature) {
  check_temperature(temperature);
  return static_cast<float>(kLog2E / temperature);
}

Finish finish_of(const EntropyScale& scale, const EntropyOutputs<float>& outputs) {
  return {outputs, 1.0 / scale.temperature, scale.unit};
}

// One id of the device's, on the host.
std::int64_t read_target(const Targets& targets, std::int64_t row, Stream stream) {
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  const std::size_t size = targets.wide ? sizeof wide : sizeof narrow;
  void* const id = targets.wide ? static_cast<void*>(&wide) : &narrow;
  copy(id, static_cast<const char*>(targets.data) + static_cast<std::size_t>(row) * size, size, stream);
  synchronize(stream);
  return targets.wide ? wide : narrow;
}

// How rows are laid over blocks. The same on every device, so that results are.
struct Layout {
  int splits = 1;
  int lanes = 0;  // 0: whole blocks
  int rows_per_block = 1;
  int threads = kWarp;
};

// For the widest logits: half of them load twice as many at once.
int splits_of(std::int64_t rows, std::int64_t columns) {
  const EntropyTuning& tuning = entropy_tuning();
  const std::int64_t most = std::min(columns / kPerLoad<float> / tuning.loads_per_part, kMostSplits);
  return static_cast<int>(std::max<std::int64_t>(1, std::min(divide_up(tuning.blocks, rows), most)));
}

// So many lanes that none has more than two batches of loads: one would leave half of them without work.
Layout short_layout(std::int64_t rows, std::int64_t loads) {
  Layout layout;
  layout.lanes = 8;
  while (layout.lanes < kWarp && loads > 2 * kLoadsInFlight * layout.lanes) layout.lanes *= 2;
  const int per_warp = kWarp / layout.lanes;
  const auto wanted = std::clamp<std::int64_t>(divide_up(rows, entropy_tuning().blocks), 1, kWarp);
  layout.rows_per_block = static_cast<int>(divide_up(wanted, per_warp)) * per_warp;
  layout.threads = std::min(layout.rows_per_block * layout.lanes, entropy_tuning().threads);
  return layout;
}

Layout layout_of(std::int64_t rows, std::int64_t columns, int per_load) {
  const EntropyTuning& tuning = entropy_tuning();
  if (columns / per_load <= tuning.loads_of_short_rows) return short_layout(rows, columns / per_load);
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

// Never the same twice, and scattered, so that no memory names one by chance.
Arrivals next_launch() {
  static std::atomic<Arrivals> launches{0};
  return (launches.fetch_add(1) + 1) * 0x9E3779B97F4A7C15u << kArrivalBits;
}

template <class Logit, bool kTop>
void launch_rows(const RowsCall& call, void* workspace, Stream stream) {
  const std::int64_t rows = call.logits.rows;
  const Layout layout = layout_of(rows, call.logits.columns, kPerLoad<Logit>);
  if (layout.lanes != 0) {
    PH_LAUNCH((entropy_short_rows<Logit, kTop>), blocks_for(rows, layout.rows_per_block), layout.threads, 0,
              stream, call, layout.lanes, layout.rows_per_block);
    return;
  }
  Splits splits;
  splits.count = layout.splits;
  if (splits.count > 1) {
    splits.parts = static_cast<EntropyState*>(workspace);
    splits.arrivals = reinterpret_cast<Arrivals*>(splits.parts + rows * splits.count);
    splits.launch = next_launch();
  }
  PH_LAUNCH((entropy_rows<Logit, kTop>), dim3(blocks_for(rows, 1), static_cast<unsigned>(splits.count)),
            layout.threads, 0, stream, call, splits);
}

template <class Logit>
void launch_rows(const RowsCall& call, bool top, void* workspace, Stream stream) {
  if (top)
    launch_rows<Logit, true>(call, workspace, stream);
  else
    launch_rows<Logit, false>(call, workspace, stream);
}

void run_rows(const RowsCall& call, bool top, void* workspace, Stream stream) {
  if (call.logits.rows == 0) return;
  switch (call.logits.type) {
    case LogitType::kFloat32:
      return launch_rows<float>(call, top, workspace, stream);
    case LogitType::kFloat16:
      return launch_rows<ph_half>(call, top, workspace, stream);
    case LogitType::kBfloat16:
      return launch_rows<ph_bf16>(call, top, workspace, stream);
  }
}

}  // namespace

std::size_t entropy_workspace(std::int64_t rows, std::int64_t columns) {
  if (rows <= 0) return 0;
  const int splits = splits_of(rows, columns);
  return splits == 1 ? 0 : Splits::bytes(rows, splits);
}

void entropy(const Logits& logits, const Targets& targets, const EntropyScale& scale,
             const EntropyOutputs<float>& outputs, void* workspace, Stream stream) {
  check_columns(0, logits.columns);
  check_outputs(outputs, targets, logits.rows);
  const RowsCall call{logits, targets, 0, scale_of(scale.temperature), nullptr, finish_of(scale, outputs)};
  run_rows(call, outputs.argmax || outputs.margin, workspace, stream);
}

void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                    double temperature, EntropyState* states, void* workspace, Stream stream) {
  check_columns(first_column, logits.columns);
  const RowsCall call{logits, targets, first_column, scale_of(temperature), states, {}};
  run_rows(call, true, workspace, stream);
}

void entropy_merge(EntropyState* states, const EntropyState* other, std::int64_t rows, double temperature,
                   Stream stream) {
  const float scale = scale_of(temperature);
  if (rows == 0) return;
  PH_LAUNCH(entropy_merge_rows, blocks_for(rows, kMostThreads), kMostThreads, 0, stream, states, other, rows,
            scale);
}

void entropy_finish(const EntropyState* states, std::int64_t rows, const EntropyScale& scale,
                    const EntropyOutputs<float>& outputs, Stream stream) {
  check_temperature(scale.temperature);
  if (rows == 0) return;
  PH_LAUNCH(entropy_finish_rows, blocks_for(rows, kMostThreads), kMostThreads, 0, stream, states, rows,
            finish_of(scale, outputs));
}

void check_targets(const Targets& targets, std::int64_t rows, std::int64_t vocab_size, void* workspace,
                   Stream stream) {
  if (rows == 0) return;
  auto* const first = static_cast<unsigned long long*>(workspace);
  static_assert(sizeof *first == kTargetsWorkspace);
  fill(first, 0xff, sizeof *first, stream);
  PH_LAUNCH(find_bad_target, blocks_for(rows, kMostThreads), kMostThreads, 0, stream, targets, rows,
            vocab_size, first);
  unsigned long long row = 0;
  copy(&row, first, sizeof row, stream);
  synchronize(stream);
  if (row == ~0ull) return;
  const auto bad_row = static_cast<std::int64_t>(row);
  throw bad_target(bad_row, read_target(targets, bad_row, stream), vocab_size);
}

}  // namespace pyharness::kernels
