#include <algorithm>
#include <stdexcept>

#include "kernels/exec.hpp"
#include "kernels/yardsticks/yardsticks.hpp"

namespace pyharness::kernels {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocks = 2048 / kThreads;  // of a multiprocessor
constexpr int kInFlight = 4;
constexpr std::int64_t kMostLoads =
    (std::int64_t{1} << 31) - 1;  // indices of 32 bits leave no register to spill

PH_GLOBAL void __launch_bounds__(kThreads, kBlocks)
    add_all(const uint4* words, unsigned loads, unsigned long long* total) {
  PH_SHARED(unsigned long long, of_warp, kThreads / 32);
  const unsigned step = gridDim.x * kThreads;
  unsigned long long sum = 0;
  for (unsigned at = blockIdx.x * kThreads + threadIdx.x; at < loads; at += kInFlight * step) {
    // The last ones, too, are under way before any is waited for. Plain loads: what is read to empty the
    // cache must not be the first to leave it.
    uint4 bits[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      bits[k] = at + k * step < loads ? words[at + k * step] : uint4{0, 0, 0, 0};
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      sum += bits[k].x;
      sum += bits[k].y;
      sum += bits[k].z;
      sum += bits[k].w;
    }
  }
  for (int flip = 16; flip > 0; flip /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, flip);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) sum += of_warp[warp];
  atomicAdd(total, sum);
}

PH_GLOBAL void wait_for(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

}  // namespace

void add_words(const void* words, std::int64_t loads, unsigned long long* sum, int multiprocessors,
               Stream stream) {
  if (loads == 0) return;
  if (loads > kMostLoads) throw std::invalid_argument("words must have fewer than 32 GiB");
  const std::int64_t blocks =
      std::min<std::int64_t>((loads + kThreads - 1) / kThreads, std::int64_t{multiprocessors} * kBlocks);
  PH_LAUNCH(add_all, static_cast<unsigned>(blocks), kThreads, 0, stream, static_cast<const uint4*>(words),
            static_cast<unsigned>(loads), sum);
}

void hold(std::int64_t cycles, Stream stream) { PH_LAUNCH(wait_for, 1, 1, 0, stream, cycles); }

}  // namespace pyharness::kernels
