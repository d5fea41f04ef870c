// The CUDA execution model on one host thread: every CUDA thread is a fiber that runs until it reaches a
// barrier, a warp collective or (seeded) an atomic. Shared memory starts as NaN, blocks of a cluster are
// resident together, the order of threads and blocks is shuffled by the seed, and a kernel that cannot go on
// is an error that names the waiting threads and their places. Under ThreadSanitizer only barriers and fences
// order two threads of a kernel: a missing one is named with its line. Not modelled: weak memory order,
// coalescing, asynchronous copies, tensor cores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace pyharness::emulator {

inline constexpr std::size_t kMostSharedBytes = 227 * 1024;  // of a block, on sm_90 and sm_100

using Place = std::source_location;
using LaneValues = std::array<std::uint64_t, 32>;

// What a device would hang on, or leave undefined.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// 0 runs blocks one by one and threads in order; any other seed keeps several blocks resident and shuffles.
// For launches of every host thread from now on.
void set_seed(std::uint64_t seed);

inline constexpr unsigned kMostBlocksOfCluster = 16;  // not portable above 8

// Runs `body` once per CUDA thread. Throws Error, or what a thread throws; the other threads are then
// abandoned where they stand, so kernels hold nothing that needs a destructor.
void run(const char* kernel, dim3 grid, dim3 block, dim3 cluster, std::size_t shared_bytes,
         const std::function<void()>& body);

// Does the work; during a capture only notes it.
void enqueue(std::function<void()> work);

template <class... Parameters, class... Arguments>
void launch(const char* name, dim3 grid, dim3 block, dim3 cluster, std::size_t shared_bytes,
            void (*kernel)(Parameters...), Arguments... arguments) {
  enqueue([=] {
    run(name, grid, block, cluster, shared_bytes, [=] { kernel(static_cast<Parameters>(arguments)...); });
  });
}

// ---- graphs: the one stream that there is may be captured, and what it was given done again later

void begin_capture();
void end_capture();
bool capturing();
// Throws Error during a capture, as a device does; else everything is done already.
void wait_for_stream();
void replay();

// ---- for the thread that is running

const dim3& thread_index();
const dim3& block_index();
const dim3& block_shape();
const dim3& grid_shape();
unsigned lane();

void barrier(Place place);
// Waits for all threads of the cluster that have not exited, as a device does.
void cluster_barrier(Place place);
// Waits for the lanes of `mask`; what each of them brought, by lane.
const LaneValues& collect(const char* operation, unsigned mask, std::uint64_t value, Place place);
// The value of one lane; a lane outside the mask has none.
std::uint64_t collect_from(const char* operation, unsigned mask, std::uint64_t value, unsigned source,
                           Place place);
void warp_barrier(unsigned mask, Place place);
// Orders what this thread wrote before what others read after their own fence.
void fence();
// Under a seed, sometimes lets others run: atomics are where threads of different blocks meet.
void maybe_switch();

// The block's memory for one declaration, made and filled with NaN at its first use. Separate allocations, so
// that AddressSanitizer knows their ends.
void* shared_array(const void* declaration, std::size_t bytes);
void* dynamic_shared_array();
// The array of another block of the cluster that is `own` of this block's. Throws Error for a block that is
// not there: of no such rank, not yet begun, or gone.
void* shared_array_of(const void* own, unsigned rank, Place place);

}  // namespace pyharness::emulator
