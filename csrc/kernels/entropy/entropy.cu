// One read of each logit. A block takes a row, or part of one where rows are few; then another joins them.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/entropy/entropy.hpp"
#include "kernels/entropy/row.hpp"
#include "kernels/entropy/state.hpp"
#include "kernels/exec.hpp"
#include "shared/entropy_checks.hpp"

namespace pyharness::kernels {
namespace {

// From counting instructions and multiprocessors; not yet measured on a GPU. A thread's reduction is about
// two loads' worth of instructions, so that 32 loads hide it. 1024 blocks and 8192 warps are 8 and 64 for
// each of 128 multiprocessors: where rows are few, warps with little to do are better than idle schedulers.
constexpr int kLoadsPerThread = 32;
constexpr std::int64_t kBlocksToFill = 1024;
constexpr std::int64_t kWarpsToFill = 8192;

struct RowsCall {
  Logits logits;
  Targets targets;
  std::int64_t first_column;
  float scale;           // log2(e) / temperature
  int splits;            // blocks per row
  EntropyState* states;  // [rows, splits], or null to finish at once
  Finish finish;
};

PH_DEVICE std::int64_t target_of(const Targets& targets, std::int64_t row) {
  return targets.wide ? static_cast<const std::int64_t*>(targets.data)[row]
                      : static_cast<const std::int32_t*>(targets.data)[row];
}

template <class Logit>
PH_DEVICE float target_logit(const Logit* row, std::int64_t at, const RowsCall& call) {
  if (!call.targets.data) return -INFINITY;
  const std::int64_t id = target_of(call.targets, at);
  if (id < call.first_column) return -INFINITY;  // first: the difference of any two ids may overflow
  const std::int64_t column = id - call.first_column;
  return column < call.logits.columns ? ph_float(row[column]) : -INFINITY;
}

// ---- kernels

template <class Logit, bool kTop>
PH_GLOBAL void __launch_bounds__(kMostThreads) entropy_rows(const RowsCall call) {
  const unsigned splits = static_cast<unsigned>(call.splits);
  const std::int64_t at = blockIdx.x / splits;
  const int part_index = static_cast<int>(blockIdx.x % splits);
  const int columns = static_cast<int>(call.logits.columns);
  const Logit* const row = static_cast<const Logit*>(call.logits.data) + at * call.logits.row_stride;

  // Under way while the row is read: two reads, one after the other, at the end of a block would be waited
  // for.
  float target = -INFINITY;
  if (threadIdx.x == 0 && part_index == 0) target = target_logit(row, at, call);

  Running<kTop> running;
  add_part(running, row, columns, part_index, call.splits, call.scale);
  EntropyState state = merge_block(running, call.scale);

  if (threadIdx.x != 0) return;
  if (state.sum == 0.0f) state = empty_state();
  if (kTop && state.argmax != kNoColumn) {
    look_again(state, row, columns);
    state.argmax += static_cast<std::int32_t>(call.first_column);
  }
  state.target = target;
  if (call.states)
    call.states[at * call.splits + part_index] = state;
  else
    finish_row(state, at, call.finish);
}

// One warp per row: joins the parts, then stores or finishes.
PH_GLOBAL void entropy_join(const EntropyState* parts, std::int64_t rows, int splits, float scale,
                            EntropyState* states, const Finish finish) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const EntropyState* const mine = parts + row * splits;
  EntropyState state = empty_state();
  for (int part = lane; part < splits; part += kWarp) state = merge(state, mine[part], scale);
  state = merge_warp<true>(state, scale);
  if (lane != 0) return;
  state.target = mine[0].target;
  if (states)
    states[row] = state;
  else
    finish_row(state, row, finish);
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

// The same on every device, so that results are. For the widest logits: half of them load twice as many at
// once.
int splits_of(std::int64_t rows, std::int64_t columns) {
  const std::int64_t loads = columns / kPerLoad<float>;
  const std::int64_t most = loads / (kMostThreads * kLoadsInFlight);
  return static_cast<int>(std::max<std::int64_t>(1, std::min(divide_up(kBlocksToFill, rows), most)));
}

int threads_of(const RowsCall& call, int per_load) {
  const std::int64_t loads = call.logits.columns / per_load / call.splits;
  const std::int64_t enough = divide_up(loads, kLoadsPerThread * kWarp);
  const std::int64_t useful = divide_up(loads, kLoadsInFlight * kWarp);
  const std::int64_t to_fill = divide_up(kWarpsToFill, call.logits.rows * call.splits);
  const std::int64_t warps = std::max(enough, std::min(to_fill, useful));
  return static_cast<int>(std::clamp<std::int64_t>(warps, 1, kMostThreads / kWarp)) * kWarp;
}

template <class Logit>
void launch_rows(const RowsCall& call, bool top, Stream stream) {
  const unsigned grid = blocks_for(call.logits.rows * call.splits, 1);
  const int block = threads_of(call, kPerLoad<Logit>);
  if (top)
    PH_LAUNCH((entropy_rows<Logit, true>), grid, block, 0, stream, call);
  else
    PH_LAUNCH((entropy_rows<Logit, false>), grid, block, 0, stream, call);
}

void run_rows(RowsCall call, EntropyState* states, bool top, void* workspace, Stream stream) {
  if (call.logits.rows == 0) return;
  call.splits = splits_of(call.logits.rows, call.logits.columns);
  call.states = call.splits > 1 ? static_cast<EntropyState*>(workspace) : states;
  switch (call.logits.type) {
    case LogitType::kFloat32:
      launch_rows<float>(call, top, stream);
      break;
    case LogitType::kFloat16:
      launch_rows<ph_half>(call, top, stream);
      break;
    case LogitType::kBfloat16:
      launch_rows<ph_bf16>(call, top, stream);
      break;
  }
  if (call.splits == 1) return;
  const unsigned grid = blocks_for(call.logits.rows, kMostThreads / kWarp);
  PH_LAUNCH(entropy_join, grid, kMostThreads, 0, stream, call.states, call.logits.rows, call.splits,
            call.scale, states, call.finish);
}

}  // namespace

std::size_t entropy_workspace(std::int64_t rows, std::int64_t columns) {
  if (rows <= 0) return 0;
  const int splits = splits_of(rows, columns);
  return splits == 1
             ? 0
             : static_cast<std::size_t>(rows) * static_cast<std::size_t>(splits) * sizeof(EntropyState);
}

void entropy(const Logits& logits, const Targets& targets, const EntropyScale& scale,
             const EntropyOutputs<float>& outputs, void* workspace, Stream stream) {
  check_columns(0, logits.columns);
  check_outputs(outputs, targets, logits.rows);
  const RowsCall call{logits, targets, 0, scale_of(scale.temperature), 1, nullptr, finish_of(scale, outputs)};
  run_rows(call, nullptr, outputs.argmax || outputs.margin, workspace, stream);
}

void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                    double temperature, EntropyState* states, void* workspace, Stream stream) {
  check_columns(first_column, logits.columns);
  const RowsCall call{logits, targets, first_column, scale_of(temperature), 1, nullptr, {}};
  run_rows(call, states, true, workspace, stream);
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
