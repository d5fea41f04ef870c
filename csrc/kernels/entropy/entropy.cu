// One read of each logit. A block takes a row; where rows are few, several share one and the last joins them;
// where rows are short, a block takes several, and so does each lane.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

#include "kernels/entropy/call.hpp"
#include "kernels/entropy/entropy.hpp"
#include "kernels/entropy/joining.hpp"
#include "kernels/entropy/layout.hpp"
#include "kernels/exec.hpp"
#include "shared/entropy_checks.hpp"

namespace pyharness::kernels {
namespace {

// Blocks that a multiprocessor holds at once, so that a thread has at most 48, 40 or 64 registers: as many as
// leave enough of them that none is spilled (bench/device/check_sass).
template <bool kTop>
constexpr int kBlocks = kTop ? 5 : 6;
constexpr int kShortBlocks = 4;

// ---- kernels

template <class Logit, bool kTop>
PH_GLOBAL void __launch_bounds__(kMostThreads, kBlocks<kTop>)
    entropy_rows(const RowsCall call, const Splits splits) {
  const std::int64_t at = blockIdx.x;
  const int part_index = static_cast<int>(blockIdx.y);
  const Logit* const row = row_of<Logit>(call, at);

  // Under way while the row is read: two reads, one after the other, at the end of a block would be waited
  // for.
  float target = -INFINITY;
  if (threadIdx.x == 0 && part_index == 0) target = target_logit(row, at, call);

  Running<kTop> running;
  const Lane lane{static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
  add_part(running, row, call.logits.columns, call.memory, part_index, splits.count, lane, call.scaling);
  Arrivals seen = 0;  // under way while the block merges
  if (threadIdx.x == 0 && splits.count > 1) seen = ph_relaxed_load(splits.arrivals + at);
  EntropyState state = merge_block(running, call.scaling);
  if (threadIdx.x >= kWarp) return;
  if (threadIdx.x == 0) {
    settle<Logit, kTop>(state, row, call);
    state.target = target;
  }
  if (splits.count > 1 && !join_parts(state, at, part_index, seen, splits, call.scaling.scale)) return;
  if (threadIdx.x == 0) hand_out(state, at, call);
}

// Rows at the ends of the memory, of which not all words can be read whole: logit by logit, by one warp.
template <class Logit, bool kTop>
PH_DEVICE void read_apart(EntropyState& state, const Words& words, const Scaling& scaling) {
  Running<kTop> running;
  for (int word = static_cast<int>(threadIdx.x); word < words.count; word += kWarp)
    add_singly<Logit>(running, words, word, scaling);
  const EntropyState merged = merge_lanes<kTop, kWarp>(state_of(running, scaling), scaling.scale);
  if (threadIdx.x == 0) state = merged;
}

// kLanes lanes per row, several rows for each, and one finish for all rows of the block.
template <class Logit, bool kTop, int kLanes>
PH_GLOBAL void __launch_bounds__(kMostThreads, kShortBlocks)
    entropy_short_rows(const RowsCall call, int rows_per_block) {
  PH_SHARED(EntropyState, states, kMostThreads);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rows_per_block;
  const Logit* const block = row_of<Logit>(call, first);
  const auto words_at = [&](int slot) {
    return words_of(block + slot * call.logits.row_stride, call.logits.columns);
  };
  const int rows =
      static_cast<int>(call.logits.rows - first < rows_per_block ? call.logits.rows - first : rows_per_block);
  int begin = 0;  // slots of rows that are read in whole words: [begin, end)
  int end = rows;
  if (blockIdx.x == 0 || blockIdx.x == gridDim.x - 1) {
    if (!lies_within(words_at(0), call.memory)) begin = 1;
    if (rows > 1 && !lies_within(words_at(rows - 1), call.memory)) end = rows - 1;
  }

  const Lane lane{thread % kLanes, kLanes};
  const int groups = static_cast<int>(blockDim.x) / kLanes;
  int slot = begin + thread / kLanes;
  Words words;
  int turns = 0;
  Batch bits;
  const auto begin_row = [&] {
    // Where rows have run out, lanes read the last one again: all lanes of a warp merge together.
    words = words_at(slot < end ? slot : end - 1);
    turns = static_cast<int>(static_cast<unsigned>(words.count + kLanes - 1) / kLanes);
    if (turns > kLoadsInFlight) load_batch(bits, words, lane.index, lane);
  };
  if (begin < end) begin_row();
  for (int left = end - begin; left > 0; left -= groups) {
    Running<kTop> running;
    int word = lane.index;
    const int batches = batches_of<5>(turns);
    for (int batch = 0; batch < batches; ++batch) {
      add_batch<Logit>(running, bits, words, word, lane, call.scaling);
      word += kLoadsInFlight * kLanes;
      if (batch + 1 < batches) load_batch(bits, words, word, lane);
    }
    add_last<5, Logit>(running, words, word, words.count, turns - kLoadsInFlight * batches, lane,
                       call.scaling);
    EntropyState state = state_of(running, call.scaling);
    const int done = slot;
    slot += groups;
    if (left > groups) begin_row();  // its loads are under way while this row is merged
    state = merge_lanes<kTop, kLanes>(state, call.scaling.scale);
    if (lane.index == 0 && done < end) states[done] = state;
  }
  if (thread < kWarp && begin != 0) read_apart<Logit, kTop>(states[0], words_at(0), call.scaling);
  if (thread < kWarp && end != rows)
    read_apart<Logit, kTop>(states[rows - 1], words_at(rows - 1), call.scaling);
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

std::int64_t size_of(LogitType type) { return type == LogitType::kFloat32 ? 4 : 2; }

// Up to 2^20, max * scale is off by 1/32 at most. Rounded to 16 bits, max - below moves by 2^-8 of its size,
// in float16 by 2^-11: its exponent stays far below those whose power is a float, and finite.
Scaling scaling_of(LogitType type, double temperature) {
  Scaling scaling{scale_of(temperature), 0.0f, 0.0f};
  double most = 0x1p20;
  double below = 0.0;
  if (type == LogitType::kBfloat16) below = 0x1p13;
  if (type == LogitType::kFloat16) {
    most = 0x1p18;
    below = 0x1p9;
  }
  most = most * temperature / kLog2E;
  below = below * temperature / kLog2E;
  constexpr double kLargestHalf = 65504.0;
  if (type == LogitType::kFloat16) most = std::min(most, kLargestHalf - below);  // none, if negative
  scaling.most = static_cast<float>(most);
  scaling.below = static_cast<float>(below);
  return scaling;
}

Extent extent_of(const Logits& logits) {
  const std::int64_t size = size_of(logits.type);
  const std::int64_t last_row = (logits.rows - 1) * logits.row_stride;
  const auto* const data = static_cast<const char*>(logits.data);
  return {data + std::min<std::int64_t>(0, last_row) * size,
          data + (std::max<std::int64_t>(0, last_row) + logits.columns) * size};
}

RowsCall call_of(const Logits& logits, const Targets& targets, std::int64_t first_column,
                 double temperature) {
  return {logits,  targets, first_column, extent_of(logits), scaling_of(logits.type, temperature),
          nullptr, {}};
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

// Never the same twice, and scattered, so that no memory names one by chance.
Arrivals next_launch() {
  static std::atomic<Arrivals> launches{0};
  return (launches.fetch_add(1) + 1) * 0x9E3779B97F4A7C15u << kArrivalBits;
}

template <class Logit, bool kTop, int kLanes>
void launch_short_rows(const RowsCall& call, const Layout& layout, Stream stream) {
  PH_LAUNCH((entropy_short_rows<Logit, kTop, kLanes>), blocks_for(call.logits.rows, layout.rows_per_block),
            layout.threads, 0, stream, call, layout.rows_per_block);
}

template <class Logit, bool kTop>
void launch_rows(const RowsCall& call, void* workspace, Stream stream) {
  const std::int64_t rows = call.logits.rows;
  const Layout layout = layout_of(call.logits, kPerLoad<Logit>);
  switch (layout.lanes) {
    case 4:
      return launch_short_rows<Logit, kTop, 4>(call, layout, stream);
    case 8:
      return launch_short_rows<Logit, kTop, 8>(call, layout, stream);
    case 16:
      return launch_short_rows<Logit, kTop, 16>(call, layout, stream);
    case 32:
      return launch_short_rows<Logit, kTop, 32>(call, layout, stream);
  }
  Splits splits;
  splits.count = layout.splits;
  if (splits.count > 1) {
    splits.parts = static_cast<EntropyState*>(workspace);
    splits.arrivals = reinterpret_cast<Arrivals*>(splits.parts + rows * splits.count);
    splits.launch = next_launch();
  }
  const dim3 cluster(1, static_cast<unsigned>(splits.count));
  const dim3 grid(blocks_for(rows, 1), cluster.y);
  const dim3 block(static_cast<unsigned>(layout.threads));
  splits.in_cluster = splits.count > 1 && splits.count <= entropy_tuning().most_in_cluster &&
                      takes_clusters(entropy_rows<Logit, kTop>, cluster, grid, block);
  if (splits.in_cluster)
    PH_LAUNCH_CLUSTERS((entropy_rows<Logit, kTop>), cluster, grid, block, stream, call, splits);
  else
    PH_LAUNCH((entropy_rows<Logit, kTop>), grid, block, 0, stream, call, splits);
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
  RowsCall call = call_of(logits, targets, 0, scale.temperature);
  call.finish = finish_of(scale, outputs);
  run_rows(call, outputs.argmax || outputs.margin, workspace, stream);
}

void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                    double temperature, EntropyState* states, void* workspace, Stream stream) {
  check_columns(first_column, logits.columns);
  RowsCall call = call_of(logits, targets, first_column, temperature);
  call.states = states;
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
