#include "kernels/emulator/emulator.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/emulator/fiber.hpp"
#include "kernels/emulator/grid.hpp"

#if defined(PH_RACE_DETECTOR)
#include <sanitizer/tsan_interface.h>
#endif

namespace pyharness::emulator {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMostThreads = 1024;       // of a block
constexpr std::size_t kResidentClusters = 3;  // under a seed, so that blocks interleave

std::atomic<std::uint64_t> chosen_seed{0};
constinit thread_local Thread* current = nullptr;

// ThreadSanitizer learns the order that barriers make; without it these are empty.
void publish([[maybe_unused]] void* order) {
#if defined(PH_RACE_DETECTOR)
  __tsan_release(order);
#endif
}
void observe([[maybe_unused]] void* order) {
#if defined(PH_RACE_DETECTOR)
  __tsan_acquire(order);
#endif
}

// ---- what a thread does to its own state

void wait() {
  Thread& thread = *current;
  publish(&thread.block->grid->left);
  thread.fiber.leave();
}

void make_ready(Thread& thread) {
  thread.state = State::kReady;
  thread.block->grid->ready.push_back(&thread);
}

// Lets the cluster go on if all its threads are at its barrier or have exited.
void pass_cluster_barrier(Cluster& cluster) {
  std::vector<Thread*> waiting;
  for (Block* block = cluster.blocks; block != cluster.blocks + cluster.size; ++block) {
    for (Thread& thread : block->threads) {
      if (thread.state == State::kAtClusterBarrier)
        waiting.push_back(&thread);
      else if (thread.state != State::kExited)
        return;
    }
  }
  for (Thread* thread : waiting) {
    if (thread->place.line() != waiting[0]->place.line())
      fail(*thread->block, "threads meet at different barriers of the cluster");
  }
  cluster.at_barrier = 0;
  for (Thread* thread : waiting) make_ready(*thread);
}

void thread_main() {
  Fiber::entered();
  Block& block = *current->block;
  Grid& grid = *block.grid;
  observe(&grid.started);
  ++block.entered;
  try {
    grid.body();
  } catch (...) {
    if (!grid.failure) grid.failure = std::current_exception();
  }
  publish(&grid.left);
  current->state = State::kExited;
  ++block.exited;
  current->fiber.leave_for_good();
}

// ---- the scheduler

// Touched pages stay touched between launches; the fibers of one launch are the only users.
std::byte* stacks_of(std::size_t threads) {
  thread_local std::unique_ptr<std::byte[]> memory;
  thread_local std::size_t capacity = 0;
  if (threads > capacity) {
    memory.reset(new std::byte[threads * kStackBytes]);  // not zeroed: only what kernels use is touched
    capacity = threads;
  }
  return memory.get();
}

void start(Cluster& cluster, Block& block, Grid& grid, const dim3& index, std::byte* stacks) {
  block.grid = &grid;
  block.cluster = &cluster;
  block.index = index;
  block.arrays.clear();
  block.at_barrier = block.entered = block.exited = 0;
  for (std::size_t rank = 0; rank < block.threads.size(); ++rank) {
    Thread& thread = block.threads[rank];
    thread.block = &block;
    thread.rank = static_cast<unsigned>(rank);
    thread.index = unravel(rank, grid.block_shape);
    thread.fiber.prepare(stacks + rank * kStackBytes, &thread_main);
    make_ready(thread);
  }
}

void resume(Thread& thread) {
  current = &thread;
  thread.fiber.enter();
  current = nullptr;
  Grid& grid = *thread.block->grid;
  observe(&grid.left);
  if (!thread.fiber.stack_intact())
    fail(*thread.block, "a thread needs more stack than the emulator gives it");
  if (grid.failure) std::rethrow_exception(grid.failure);
  if (thread.state != State::kExited) return;
  Block& block = *thread.block;
  if (block.exited == block.threads.size()) block.arrays.clear();
  if (block.cluster->at_barrier != 0) pass_cluster_barrier(*block.cluster);
}

void run_ready_threads(Grid& grid) {
  std::vector<Thread*> turn;
  turn.reserve(grid.ready.capacity());
  while (!grid.ready.empty()) {
    turn.clear();
    turn.swap(grid.ready);
    if (grid.seed != 0) std::shuffle(turn.begin(), turn.end(), grid.random);
    for (Thread* thread : turn) resume(*thread);
  }
}

void expect_all_exited(const Block& block) {
  for (const Thread& thread : block.threads) {
    if (thread.state != State::kExited) fail(block, "no thread can go on");
  }
}

void check_launch(const char* kernel, const dim3& grid, const dim3& block, const dim3& cluster,
                  std::size_t shared_bytes) {
  const bool fits = volume(grid) > 0 && grid.x <= 0x7fffffffu && grid.y <= 0xffff && grid.z <= 0xffff &&
                    volume(block) > 0 && volume(block) <= kMostThreads && block.z <= 64 &&
                    shared_bytes <= kMostSharedBytes;
  const bool divides = volume(cluster) > 0 && volume(cluster) <= kMostBlocksOfCluster &&
                       grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
  if (!fits || !divides) {
    throw Error(std::string("launch of ") + kernel + ": no device takes a grid of " + text(grid) +
                ", clusters of " + text(cluster) + ", blocks of " + text(block) + " and " +
                std::to_string(shared_bytes) + " bytes of shared memory");
  }
}

}  // namespace

void set_seed(std::uint64_t seed) { chosen_seed = seed; }

void run(const char* kernel, dim3 grid_shape, dim3 block_shape, dim3 cluster_shape, std::size_t shared_bytes,
         const std::function<void()>& body) {
  check_launch(kernel, grid_shape, block_shape, cluster_shape, shared_bytes);
  Grid grid{kernel, grid_shape, block_shape, shared_bytes, body, chosen_seed};
  const dim3 clusters{grid_shape.x / cluster_shape.x, grid_shape.y / cluster_shape.y,
                      grid_shape.z / cluster_shape.z};
  const std::size_t cluster_count = volume(clusters);
  const std::size_t cluster_size = volume(cluster_shape);
  const std::size_t thread_count = volume(block_shape);
  std::vector<std::size_t> order(cluster_count);
  for (std::size_t rank = 0; rank < cluster_count; ++rank) order[rank] = rank;
  if (grid.seed != 0) std::shuffle(order.begin(), order.end(), grid.random);

  const std::size_t most = grid.seed == 0 ? 1 : kResidentClusters;
  std::vector<Cluster> together(std::min(most, cluster_count));
  std::vector<Block> resident(together.size() * cluster_size);
  for (Block& block : resident) block.threads = std::vector<Thread>(thread_count);
  grid.ready.reserve(resident.size() * thread_count);
  std::byte* const stacks = stacks_of(resident.size() * thread_count);
  for (std::size_t next = 0; next < cluster_count;) {
    const std::size_t wave = std::min(together.size(), cluster_count - next) * cluster_size;
    for (std::size_t k = 0; k < wave; ++k) {
      Cluster& cluster = together[k / cluster_size];
      cluster = {&resident[k - k % cluster_size], static_cast<unsigned>(cluster_size)};
      const dim3 at = unravel(order[next + k / cluster_size], clusters);
      const dim3 in = unravel(k % cluster_size, cluster_shape);
      const dim3 index{at.x * cluster_shape.x + in.x, at.y * cluster_shape.y + in.y,
                       at.z * cluster_shape.z + in.z};
      start(cluster, resident[k], grid, index, stacks + k * thread_count * kStackBytes);
    }
    next += wave / cluster_size;
    publish(&grid.started);
    run_ready_threads(grid);
    for (std::size_t k = 0; k < wave; ++k) expect_all_exited(resident[k]);
  }
}

// ---- for the thread that is running

const dim3& thread_index() { return current->index; }
const dim3& block_index() { return current->block->index; }
const dim3& block_shape() { return current->block->grid->block_shape; }
const dim3& grid_shape() { return current->block->grid->shape; }
unsigned lane() { return current->rank % kWarp; }

void barrier(Place place) {
  Block& block = *current->block;
  current->state = State::kAtBarrier;
  current->place = place;
  publish(&block);
  if (++block.at_barrier == block.threads.size()) {
    for (const Thread& thread : block.threads) {
      if (thread.place.line() != place.line()) fail(block, "threads meet at different barriers");
    }
    block.at_barrier = 0;
    for (Thread& thread : block.threads) make_ready(thread);
  }
  wait();
  observe(&block);
}

void cluster_barrier(Place place) {
  Cluster& cluster = *current->block->cluster;
  current->state = State::kAtClusterBarrier;
  current->place = place;
  publish(&cluster);
  ++cluster.at_barrier;
  pass_cluster_barrier(cluster);
  wait();
  observe(&cluster);
}

const LaneValues& collect(const char* operation, unsigned mask, std::uint64_t value, Place place) {
  Thread& caller = *current;
  caller.state = State::kInCollective;
  caller.operation = operation;
  caller.place = place;
  caller.mask = mask;
  caller.value = value;
  if (!(mask >> lane() & 1))
    fail(*caller.block, "lane " + std::to_string(lane()) + " calls without being in the mask");

  std::vector<Thread>& threads = caller.block->threads;
  const std::size_t first = caller.rank - lane();
  LaneValues values{};
  for (unsigned other = kWarp;
       other-- > 0;) {  // downwards: in order, the last lane is the one that is missing
    if (!(mask >> other & 1)) continue;
    if (first + other >= threads.size())
      fail(*caller.block, "the mask names lanes that the block does not have");
    const Thread& thread = threads[first + other];
    if (thread.state != State::kInCollective || thread.mask != mask || thread.operation != operation) {
      wait();
      return caller.values;
    }
    values[other] = thread.value;
  }
  for (unsigned other = 0; other < kWarp; ++other) {
    if (!(mask >> other & 1)) continue;
    threads[first + other].values = values;
    make_ready(threads[first + other]);
  }
  wait();
  return caller.values;
}

std::uint64_t collect_from(const char* operation, unsigned mask, std::uint64_t value, unsigned source,
                           Place place) {
  const LaneValues& values = collect(operation, mask, value, place);
  if (!(mask >> source & 1)) {
    throw Error(text(*current->block) + ": " + operation + " (" + text(place) + ") reads lane " +
                std::to_string(source) + ", which is not in the mask");
  }
  return values[source];
}

void warp_barrier(unsigned mask, Place place) {
  void* const order = &current->block->threads[current->rank - lane()];
  publish(order);
  collect("__syncwarp", mask, 0, place);
  observe(order);
}

void fence() {
  publish(&current->block->grid->fenced);
  observe(&current->block->grid->fenced);
}

void maybe_switch() {
  Grid& grid = *current->block->grid;
  if (grid.seed == 0 || grid.random() % 8 != 0) return;
  make_ready(*current);
  wait();
}

void* array_of(Block& block, const void* declaration, std::size_t bytes) {
  auto& arrays = block.arrays;
  observe(&arrays);
  for (const SharedArray& array : arrays) {
    if (array.declaration == declaration) return array.data.get();
  }
  std::unique_ptr<std::byte[]> data(new std::byte[bytes]);
  std::memset(data.get(), 0xff, bytes);  // NaN as a float, -1 as an integer
  publish(&arrays);
  arrays.push_back({declaration, std::move(data), bytes});
  return arrays.back().data.get();
}

void* shared_array(const void* declaration, std::size_t bytes) {
  return array_of(*current->block, declaration, bytes);
}

void* shared_array_of(const void* own, unsigned rank, Place place) {
  const Block& here = *current->block;
  if (rank >= here.cluster->size)
    fail(here,
         "reads rank " + std::to_string(rank) + " (" + text(place) + "), which its cluster does not have");
  const auto is_own = [&](const SharedArray& array) { return array.data.get() == own; };
  const auto array = std::find_if(here.arrays.begin(), here.arrays.end(), is_own);
  if (array == here.arrays.end()) fail(here, "none of its arrays begins there (" + text(place) + ")");
  Block& there = here.cluster->blocks[rank];
  if (there.entered == 0) fail(there, "is read (" + text(place) + ") before it has begun");
  if (there.exited == there.threads.size()) fail(there, "is read (" + text(place) + ") after it has left");
  return array_of(there, array->declaration, array->bytes);
}

void* dynamic_shared_array() { return shared_array(nullptr, current->block->grid->shared_bytes); }

}  // namespace pyharness::emulator
