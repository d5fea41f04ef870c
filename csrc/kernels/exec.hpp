// How a kernel is spelt so that one source compiles twice: by nvcc for the device, and by g++ over
// emulator.hpp for the host, where every CUDA thread is a fiber. Kernels use CUDA's own names plus what is
// defined here.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/machine/device.hpp"  // Stream

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#define PH_GLOBAL __global__
#define PH_DEVICE __device__ __forceinline__
#define PH_HOST_DEVICE __host__ __device__ __forceinline__
#define PH_SHARED(Type, name, count) __shared__ Type name[count]
#define PH_DYNAMIC_SHARED(Type, name)                             \
  extern __shared__ __align__(16) unsigned char dynamic_shared[]; \
  Type* const name = reinterpret_cast<Type*>(dynamic_shared)
// A kernel whose name holds a comma goes in parentheses: PH_LAUNCH((copy_rows<float, 4>), grid, ...).
#define PH_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)          \
  do {                                                                     \
    (kernel)<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__);          \
    ::pyharness::kernels::check(cudaGetLastError(), "launch of " #kernel); \
  } while (false)
// Whether the code that is compiled now may run in clusters: the host asks takes_clusters().
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define PH_CLUSTERS 1
#else
#define PH_CLUSTERS 0
#endif
#define PH_LAUNCH_CLUSTERS(kernel, cluster, grid, block, stream, ...)                             \
  ::pyharness::kernels::check(                                                                    \
      ::pyharness::kernels::launch_clusters((kernel), cluster, grid, block, stream, __VA_ARGS__), \
      "launch of " #kernel)
#define PH_CHECK(call) ::pyharness::kernels::check((call), #call)

using ph_bf16 = __nv_bfloat16;
using ph_half = __half;

PH_DEVICE float ph_float(float value) { return value; }
PH_DEVICE float ph_float(ph_bf16 value) { return __bfloat162float(value); }
PH_DEVICE float ph_float(ph_half value) { return __half2float(value); }

// Two 16-bit values in one word, the first in the low half.
PH_DEVICE void ph_float2(unsigned word, ph_bf16, float& first, float& second) {
  first = __uint_as_float(word << 16);
  second = __uint_as_float(word & 0xffff0000u);
}
PH_DEVICE void ph_float2(unsigned word, ph_half, float& first, float& second) {
  const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&word));
  first = both.x;
  second = both.y;
}

PH_DEVICE unsigned ph_max2(unsigned a, unsigned b, ph_bf16) {
  const __nv_bfloat162 largest =
      __hmax2(*reinterpret_cast<const __nv_bfloat162*>(&a), *reinterpret_cast<const __nv_bfloat162*>(&b));
  return *reinterpret_cast<const unsigned*>(&largest);
}
PH_DEVICE unsigned ph_max2(unsigned a, unsigned b, ph_half) {
  const __half2 largest =
      __hmax2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
  return *reinterpret_cast<const unsigned*>(&largest);
}

// The larger of each half, NaN where one is NaN.
PH_DEVICE unsigned ph_max2_nan(unsigned a, unsigned b, ph_bf16) {
  const __nv_bfloat162 largest =
      __hmax2_nan(*reinterpret_cast<const __nv_bfloat162*>(&a), *reinterpret_cast<const __nv_bfloat162*>(&b));
  return *reinterpret_cast<const unsigned*>(&largest);
}
PH_DEVICE unsigned ph_max2_nan(unsigned a, unsigned b, ph_half) {
  const __half2 largest =
      __hmax2_nan(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
  return *reinterpret_cast<const unsigned*>(&largest);
}

// A value rounded to 16 bits, in both halves.
PH_DEVICE unsigned ph_pair(float value, ph_bf16) {
  const __nv_bfloat162 both = __float2bfloat162_rn(value);
  return *reinterpret_cast<const unsigned*>(&both);
}
PH_DEVICE unsigned ph_pair(float value, ph_half) {
  const __half2 both = __float2half2_rn(value);
  return *reinterpret_cast<const unsigned*>(&both);
}

// The bits from `first` on, which may be negative or above 31.
PH_DEVICE unsigned ph_ones_from(int first) {
  return __funnelshift_lc(0u, ~0u, static_cast<unsigned>(max(first, 0)));
}

// 2^x in one instruction, relative error below 2^-22 (PTX ISA, ex2); subnormal results are zero.
PH_DEVICE float ph_exp2(float exponent) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
}
// Within (0.5, 2), an absolute error of at most 2^-22 (PTX ISA, lg2).
PH_DEVICE float ph_log2(float power) {
  float exponent;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(exponent) : "f"(power));
  return exponent;
}

// a / b for b close to 1, rounded once: exactly 1 for equal numbers.
PH_DEVICE float ph_divide(float a, float b) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  const float quotient = a * inverse;
  return fmaf(fmaf(-quotient, b, a), inverse, quotient);
}

// Orders what this thread wrote before what it writes next, and what it read before what it reads next, for
// all threads of the device. __threadfence() is sequentially consistent too, which takes longer and is for no
// order of two places.
PH_DEVICE void ph_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// Values that other threads change by atomics meanwhile. volatile would be of system scope in global memory,
// and asm that takes any address would hide from the compiler that one is shared.
PH_DEVICE unsigned long long ph_relaxed_load(const unsigned long long* global) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(global)));
  return value;
}
template <class Value>
PH_DEVICE Value ph_relaxed_load_shared(const Value* shared) {
  return *static_cast<const volatile Value*>(shared);
}

#if PH_CLUSTERS
// Waits for all threads of the cluster that have not exited (PTX ISA, barrier.cluster), and orders what they
// wrote before it before what they read after it. Not .aligned: lanes may come apart.
PH_DEVICE void ph_cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
// Where another block of the cluster has what this one has at `own`, in its shared memory: to be read between
// two barriers, when all blocks have begun and before one leaves.
template <class Value>
PH_DEVICE Value* ph_shared_of(Value* own, int rank) {
  return static_cast<Value*>(__cluster_map_shared_rank(own, static_cast<unsigned>(rank)));
}
#endif

namespace pyharness::kernels {

inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // else the next launch would report it again
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(status) + " (" +
                           cudaGetErrorString(status) + ")");
}

// Lets a kernel take as many bytes of dynamic shared memory, and as many blocks of it live on a
// multiprocessor as its shared memory has room for: the driver's own division favours the first-level cache.
template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  PH_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  PH_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                cudaSharedmemCarveoutMaxShared));
}

struct ClusterLaunch {
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};

  ClusterLaunch(dim3 cluster, dim3 grid, dim3 block, Stream stream) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;
};

// Whether the current device runs such clusters of the kernel. Above 8 blocks, which is not portable, that
// depends on the device, so the driver is asked; once, because that takes as long as a launch.
template <class Kernel>
bool takes_clusters(Kernel* kernel, dim3 cluster, dim3 grid, dim3 block) {
  constexpr unsigned kMost = 16;
  const unsigned size = cluster.x * cluster.y * cluster.z;
  if (size > kMost) return false;
  int device = 0;
  PH_CHECK(cudaGetDevice(&device));
  static std::mutex mutex;
  static std::map<std::tuple<Kernel*, int, unsigned, unsigned>, bool> answers;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [answer, is_new] = answers.try_emplace({kernel, device, size, block.x}, false);
  if (!is_new) return answer->second;
  const ClusterLaunch launch(cluster, grid, block, nullptr);
  int clusters = 0;
  const bool taken =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess &&
      cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config) == cudaSuccess;
  if (!taken) cudaGetLastError();  // a device without clusters; else the next launch would report it
  return answer->second = taken && clusters > 0;
}

template <class... Parameters, class... Arguments>
cudaError_t launch_clusters(void (*kernel)(Parameters...), dim3 cluster, dim3 grid, dim3 block, Stream stream,
                            const Arguments&... arguments) {
  ClusterLaunch launch(cluster, grid, block, stream);
  return cudaLaunchKernelEx(&launch.config, kernel, static_cast<Parameters>(arguments)...);
}

inline void copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  PH_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
}
inline void fill(void* to, int byte, std::size_t bytes, Stream stream) {
  PH_CHECK(cudaMemsetAsync(to, byte, bytes, stream));
}
inline void synchronize(Stream stream) { PH_CHECK(cudaStreamSynchronize(stream)); }

}  // namespace pyharness::kernels

#else
#include "kernels/emulator/cuda.hpp"
#endif
