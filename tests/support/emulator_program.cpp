// The emulator's own test subject: a correct kernel, the same with one fault planted, and two kernels of the
// project. test_emulator.py compiles it under sanitizers and runs `program CASE SEED`. Exit codes: 0
// right, 1 wrong result, 3 refused by the emulator. Sanitizers use their own.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/entropy/entropy.hpp"
#include "kernels/exec.hpp"
#include "kernels/pairs/pair_histogram.hpp"
#include "kernels/pairs/rows.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace {

using pyharness::emulator::Error;

enum class Fault {
  kNone,
  kRemovedBarrier,
  kDivergentBarrier,
  kExitedThread,
  kPastTheInput,
  kPastSharedMemory,
  kLostUpdate,
  kMissingLane,
  kForeignLane,
  kDeepStack,
  kRemovedClusterBarrier,
  kDivergentClusterBarrier,
  kMixedBarriers,
  kLeavesEarly,
  kWrongRank,
};

constexpr int kBlocks = 3;
constexpr int kThreads = 96;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffffu;

// More than a fiber has; volatile, so that it is written.
int deep_stack() {
  volatile char frame[72 * 1024];
  for (char volatile& byte : frame) byte = 1;
  return frame[0];
}

// total += the sum of input, by warp shuffles, shared memory and one atomic per block.
template <Fault kFault>
PH_GLOBAL void sum(const int* input, int size, int* total) {
  PH_SHARED(int, warps, kWarps);
  const int thread = static_cast<int>(threadIdx.x);
  const int at = static_cast<int>(blockIdx.x) * kThreads + thread;
  const int end = kFault == Fault::kPastTheInput ? size + 1 : size;
  int value = at < end ? input[at] : 0;  // marker: past the input
  if (kFault == Fault::kDeepStack && thread == 1) value += deep_stack();
  const unsigned mask = kFault == Fault::kMissingLane ? kAll >> 1 : kAll;
  const unsigned half = kFault == Fault::kForeignLane && thread % 32 < 16 ? 0xffffu : mask;
  for (int flip = 16; flip > 0; flip /= 2)
    value +=
        __shfl_xor_sync(kFault == Fault::kForeignLane && thread % 32 >= 16 ? ~0xffffu : half, value, flip);
  if (kFault == Fault::kExitedThread && thread >= 64) return;
  if (thread % 32 == 0) warps[thread / 32] = value;  // marker: shared write
  if (kFault == Fault::kDivergentBarrier && thread == 40)
    __syncthreads();  // marker: other barrier
  else if (kFault != Fault::kRemovedBarrier)
    __syncthreads();  // marker: barrier
  if (thread != 0) return;
  const int count = kFault == Fault::kPastSharedMemory ? kWarps + 1 : kWarps;
  int block_sum = 0;
  for (int warp = 0; warp < count; ++warp) block_sum += warps[warp];  // marker: shared read
  if (kFault == Fault::kLostUpdate)
    *total += block_sum;  // marker: lost update
  else
    atomicAdd(total, block_sum);
}

template <Fault kFault>
bool sums() {
  constexpr int kSize = kBlocks * kThreads - 5;
  const std::vector<int> input(kSize, 1);
  int total = 0;
  PH_LAUNCH(sum<kFault>, kBlocks, kThreads, 0, nullptr, input.data(), kSize, &total);
  std::printf("total %d of %d\n", total, kSize);
  return total == kSize;
}

// totals[cluster] += the sum of its blocks' ranks plus one, each in the shared memory of its block. The
// second warp has exited.
constexpr int kCluster = 5;
template <Fault kFault>
PH_GLOBAL void cluster_sum(int* totals) {
  PH_SHARED(int, part, 1);
  const int thread = static_cast<int>(threadIdx.x);
  const int rank = static_cast<int>(blockIdx.y);
  if (thread >= 32) return;
  if (thread == 0) part[0] = rank + 1;  // marker: part written
  const bool other = rank == 1 && thread == 7;
  if (kFault == Fault::kDivergentClusterBarrier && other)
    ph_cluster_barrier();  // marker: other cluster barrier
  else if (kFault == Fault::kMixedBarriers && other)
    __syncthreads();  // marker: mixed barrier
  else if (kFault != Fault::kRemovedClusterBarrier)
    ph_cluster_barrier();  // marker: cluster barrier
  const int read = kFault == Fault::kWrongRank ? thread + 1 : thread;
  if (rank == 0 && thread < kCluster)
    atomicAdd(totals + blockIdx.x, *ph_shared_of(part, read));  // marker: part read
  if (kFault != Fault::kLeavesEarly) ph_cluster_barrier();
}

template <Fault kFault>
bool cluster_sums() {
  constexpr unsigned kClusters = 4;
  std::vector<int> totals(kClusters, 0);
  PH_LAUNCH_CLUSTERS(cluster_sum<kFault>, dim3(1, kCluster), dim3(kClusters, kCluster), 64, nullptr,
                     totals.data());
  return std::all_of(totals.begin(), totals.end(),
                     [](int total) { return total == kCluster * (kCluster + 1) / 2; });
}

bool launches_half_a_cluster() {
  int total = 0;
  PH_LAUNCH_CLUSTERS(cluster_sum<Fault::kNone>, dim3(1, 2), dim3(1, kCluster), 64, nullptr, &total);
  return true;
}

bool launches_too_many_threads() {
  int total = 0;
  PH_LAUNCH(sum<Fault::kNone>, 1, 2048, 0, nullptr, &total, 0, &total);
  return true;
}

// ---- the project's kernel

double reference(const std::vector<float>& row) {
  double largest = row[0];
  for (const float x : row) largest = std::fmax(largest, x);
  double s = 0;
  double w = 0;
  for (const float x : row) {
    s += std::exp(x - largest);
    w += (x - largest) * std::exp(x - largest);
  }
  return std::log(s) - w / s;
}

constexpr int kBefore = 2;

// Memory that AddressSanitizer lets nobody read, while it lives.
class Closed {
 public:
  Closed([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) : memory_(memory), bytes_(bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(memory_, bytes_);
#endif
  }
  ~Closed() {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(memory_, bytes_);
#endif
  }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  [[maybe_unused]] void* memory_;
  [[maybe_unused]] std::size_t bytes_;
};

bool entropy_of(int columns) {
  using namespace pyharness;
  using namespace pyharness::kernels;
  const std::size_t count = columns < 1000 ? 35 : 2;  // short rows share a block, 32 at most
  std::vector<std::vector<float>> rows(count, std::vector<float>(static_cast<std::size_t>(columns)));
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t c = 0; c < rows[r].size(); ++c)
      rows[r][c] = static_cast<float>(c * 37 % 101 + r) / 16.0f;
  // Exactly the logits, so that a read past them is one past the allocation; before them, 8 bytes that nobody
  // reads.
  std::vector<float> flat(kBefore);
  for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  flat.shrink_to_fit();
  Closed before(flat.data(), kBefore * sizeof(float));
  const std::vector<std::int64_t> targets(count, columns - 1);
  const auto row_count = static_cast<std::int64_t>(count);

  std::vector<float> entropies(count, -1.0f);
  std::vector<std::int64_t> largest(count, -1);
  EntropyOutputs<float> outputs;
  outputs.entropy = entropies.data();
  outputs.argmax = largest.data();
  const std::size_t bytes = entropy_workspace(row_count, columns);
  const std::unique_ptr<std::byte[]> workspace(new std::byte[bytes]);  // not one byte more
  std::memset(workspace.get(), 0x5a, bytes);
  entropy({flat.data() + kBefore, LogitType::kFloat32, row_count, columns, columns}, {targets.data(), true},
          {}, outputs, workspace.get(), nullptr);
  bool right = true;
  for (std::size_t r = 0; r < count; ++r) {
    const auto top = std::max_element(rows[r].begin(), rows[r].end()) - rows[r].begin();
    right &= std::fabs(entropies[r] - reference(rows[r])) < 4e-6 && largest[r] == top;
  }
  return right;
}

// A row of 9001 logits is split already; then rows of any length, whose blocks join in either way; then up to
// 32 short ones for a block.
bool entropies() {
  using pyharness::kernels::entropy_tuning;
  bool right = entropy_of(9001) && entropy_of(1100);
  using Tuning = pyharness::kernels::EntropyTuning;
  for (const Tuning& tuning : {Tuning{64, 64, 3, 0, 0}, Tuning{64, 64, 3, 0}, Tuning{64, 2, 1024, 256}}) {
    entropy_tuning() = tuning;
    for (const int columns : {1, 2, 7, 33, 130, 261}) right &= entropy_of(columns);
  }
  entropy_tuning() = {64, 23, 3, 0};  // 12 blocks for each of two rows
  return right && entropy_of(1100);
}

// ---- the counter of pairs, with and without hot pairs, with tables that overflow and buckets of several
// parts

class HostMemory final : public pyharness::kernels::DeviceMemory {
 public:
  std::shared_ptr<void> allocate(std::size_t bytes, const char*) override {
    return {::operator new(bytes), [](void* memory) { ::operator delete(memory); }};
  }
};

bool counts_pairs(bool weighted, int hot_slots) {
  using namespace pyharness;
  using namespace pyharness::kernels;
  constexpr std::uint32_t kSize = 1500;
  std::vector<std::uint32_t> tokens(kSize);
  for (std::uint32_t i = 0; i < kSize; ++i) tokens[i] = i % 3 == 0 ? 7 : i * i % 41;
  const std::vector<std::int64_t> offsets{0, 0, 1, 300, 300, kSize};
  const std::vector<Word> weights{9, 9, 2, 9, 5};
  std::map<Word, Word> expected;
  for (std::uint32_t i = 0; i + 1 < kSize; ++i) {
    const Word weight = !weighted ? 1 : i == 0 || i == 299 ? 0 : i < 299 ? 2 : 5;
    if (weight != 0) expected[Word{tokens[i]} << 32 | tokens[i + 1]] += weight;
  }

  HostMemory memory;
  PairTuning tuning;
  tuning.multiprocessors = 2;
  tuning.threads = 32;
  tuning.bucket_bits = hot_slots != 0 ? 10 : 13;
  tuning.bucket_slots = 2;
  tuning.part_positions = 20;
  tuning.hot_slots = hot_slots;
  tuning.sampled_part = 3;
  const auto counter = make_partition_pair_counter(memory, tuning);
  PairChunk chunk{tokens.data(), 0, kSize - 1};
  if (weighted) {
    chunk.offsets = offsets.data();
    chunk.segments = static_cast<std::int64_t>(offsets.size()) - 1;
    chunk.weights = weights.data();
  }
  counter->add(chunk, nullptr);
  const PairRows rows = counter->collect(nullptr);
  const RowsView all = view(rows);
  std::map<Word, Word> found;
  for (std::size_t row = 0; row < rows.size; ++row) found[all.key_at(row)] = all.count_at(row);
  return found == expected && found.size() == rows.size;
}

bool pairs() {
  using pyharness::kernels::kFewestHotSlots;
  bool right = true;
  for (const bool weighted : {false, true})
    for (const int hot_slots : {0, kFewestHotSlots}) right &= counts_pairs(weighted, hot_slots);
  return right;
}

const std::map<std::string, std::function<bool()>> kCases = {
    {"correct", sums<Fault::kNone>},
    {"removed_barrier", sums<Fault::kRemovedBarrier>},
    {"divergent_barrier", sums<Fault::kDivergentBarrier>},
    {"exited_thread", sums<Fault::kExitedThread>},
    {"past_the_input", sums<Fault::kPastTheInput>},
    {"past_shared_memory", sums<Fault::kPastSharedMemory>},
    {"lost_update", sums<Fault::kLostUpdate>},
    {"missing_lane", sums<Fault::kMissingLane>},
    {"foreign_lane", sums<Fault::kForeignLane>},
    {"deep_stack", sums<Fault::kDeepStack>},
    {"too_many_threads", launches_too_many_threads},
    {"cluster", cluster_sums<Fault::kNone>},
    {"removed_cluster_barrier", cluster_sums<Fault::kRemovedClusterBarrier>},
    {"divergent_cluster_barrier", cluster_sums<Fault::kDivergentClusterBarrier>},
    {"mixed_barriers", cluster_sums<Fault::kMixedBarriers>},
    {"block_that_leaves_early", cluster_sums<Fault::kLeavesEarly>},
    {"wrong_rank", cluster_sums<Fault::kWrongRank>},
    {"half_a_cluster", launches_half_a_cluster},
    {"entropy", entropies},
    {"pairs", pairs},
};

}  // namespace

int main(int, char** arguments) {
  pyharness::emulator::set_seed(std::strtoull(arguments[2], nullptr, 10));
  try {
    return kCases.at(arguments[1])() ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
