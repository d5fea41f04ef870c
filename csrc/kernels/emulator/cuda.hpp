// CUDA's names, and those of exec.hpp, over the emulator. Only what kernels use is here; add what a new one
// needs.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/emulator/emulator.hpp"
#include "kernels/machine/device.hpp"

#define PH_GLOBAL
#define PH_DEVICE inline
#define PH_HOST_DEVICE inline
#define PH_SHARED(Type, name, count) \
  static char name##_declaration;    \
  auto& name = ::pyharness::emulator::shared<Type[count]>(&name##_declaration)
#define PH_DYNAMIC_SHARED(Type, name) \
  Type* const name = static_cast<Type*>(::pyharness::emulator::dynamic_shared_array())
#define PH_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                \
  do {                                                                                           \
    static_cast<void>(stream);                                                                   \
    ::pyharness::emulator::launch(#kernel, grid, block, {}, shared_bytes, &kernel, __VA_ARGS__); \
  } while (false)
#define PH_CLUSTERS 1
#define PH_LAUNCH_CLUSTERS(kernel, cluster, grid, block, stream, ...)                      \
  do {                                                                                     \
    static_cast<void>(stream);                                                             \
    ::pyharness::emulator::launch(#kernel, grid, block, cluster, 0, &kernel, __VA_ARGS__); \
  } while (false)
#define __launch_bounds__(...)

#define threadIdx (::pyharness::emulator::thread_index())
#define blockIdx (::pyharness::emulator::block_index())
#define blockDim (::pyharness::emulator::block_shape())
#define gridDim (::pyharness::emulator::grid_shape())

namespace pyharness::emulator {

template <class Array>
Array& shared(const void* declaration) {
  static_assert(std::is_trivially_copyable_v<Array>);
  return *static_cast<Array*>(shared_array(declaration, sizeof(Array)));
}

template <class Value>
std::uint64_t to_bits(Value value) {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class Value>
Value from_bits(std::uint64_t bits) {
  Value value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace pyharness::emulator

// ---- barriers and warps

using ph_place = ::pyharness::emulator::Place;

inline void __syncthreads(ph_place place = ph_place::current()) { ::pyharness::emulator::barrier(place); }
inline void __syncwarp(unsigned mask = 0xffffffffu, ph_place place = ph_place::current()) {
  ::pyharness::emulator::warp_barrier(mask, place);
}
inline void ph_cluster_barrier(ph_place place = ph_place::current()) {
  ::pyharness::emulator::cluster_barrier(place);
}
inline void __threadfence() { ::pyharness::emulator::fence(); }
inline void ph_fence() { ::pyharness::emulator::fence(); }

template <class Value>
Value __shfl_sync(unsigned mask, Value value, int source, ph_place place = ph_place::current()) {
  using namespace ::pyharness::emulator;
  return from_bits<Value>(
      collect_from("__shfl_sync", mask, to_bits(value), static_cast<unsigned>(source) % 32, place));
}
template <class Value>
Value __shfl_xor_sync(unsigned mask, Value value, int flip, ph_place place = ph_place::current()) {
  using namespace ::pyharness::emulator;
  const unsigned source = lane() ^ static_cast<unsigned>(flip);
  return from_bits<Value>(collect_from("__shfl_xor_sync", mask, to_bits(value), source % 32, place));
}
template <class Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned distance, ph_place place = ph_place::current()) {
  using namespace ::pyharness::emulator;
  const unsigned source = lane() + distance < 32 ? lane() + distance : lane();
  return from_bits<Value>(collect_from("__shfl_down_sync", mask, to_bits(value), source, place));
}
template <class Value>
Value __shfl_up_sync(unsigned mask, Value value, unsigned distance, ph_place place = ph_place::current()) {
  using namespace ::pyharness::emulator;
  const unsigned source = lane() >= distance ? lane() - distance : lane();
  return from_bits<Value>(collect_from("__shfl_up_sync", mask, to_bits(value), source, place));
}
inline unsigned __ballot_sync(unsigned mask, int predicate, ph_place place = ph_place::current()) {
  const auto& values = ::pyharness::emulator::collect("__ballot_sync", mask, predicate != 0, place);
  unsigned votes = 0;  // lanes outside the mask brought 0
  for (unsigned lane = 0; lane < 32; ++lane) votes |= static_cast<unsigned>(values[lane]) << lane;
  return votes;
}
inline bool __any_sync(unsigned mask, int predicate, ph_place place = ph_place::current()) {
  return __ballot_sync(mask, predicate, place) != 0;
}
inline bool __all_sync(unsigned mask, int predicate, ph_place place = ph_place::current()) {
  return __ballot_sync(mask, predicate, place) == mask;
}
template <class Value>
unsigned __match_any_sync(unsigned mask, Value value, ph_place place = ph_place::current()) {
  const std::uint64_t bits = ::pyharness::emulator::to_bits(value);
  const auto& values = ::pyharness::emulator::collect("__match_any_sync", mask, bits, place);
  unsigned same = 0;
  for (unsigned lane = 0; lane < 32; ++lane) same |= static_cast<unsigned>(values[lane] == bits) << lane;
  return same & mask;
}

// ---- memory and atomics: relaxed, as on the device

template <class Value>
Value* ph_shared_of(Value* own, int rank, ph_place place = ph_place::current()) {
  return static_cast<Value*>(::pyharness::emulator::shared_array_of(own, static_cast<unsigned>(rank), place));
}

template <class Value>
Value __ldg(const Value* address) {
  return *address;
}
template <class Value>
Value __ldcs(const Value* address) {
  return *address;
}

inline unsigned long long ph_relaxed_load(const unsigned long long* address) {
  return __atomic_load_n(address, __ATOMIC_RELAXED);
}
template <class Value>
Value ph_relaxed_load_shared(const Value* address) {
  return __atomic_load_n(address, __ATOMIC_RELAXED);
}

namespace pyharness::emulator {
// The value before; `change` maps it to the value after.
template <class Value, class Change>
Value atomic_change(Value* address, Change change) {
  maybe_switch();
  Value before;
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  Value after = change(before);
  while (!__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    after = change(before);
  return before;
}
}  // namespace pyharness::emulator

template <class Value>
Value atomicAdd(Value* address, std::type_identity_t<Value> value) {
  return ::pyharness::emulator::atomic_change(address,
                                              [=](Value old) { return static_cast<Value>(old + value); });
}
template <class Value>
Value atomicMax(Value* address, std::type_identity_t<Value> value) {
  return ::pyharness::emulator::atomic_change(address, [=](Value old) { return std::max(old, value); });
}
template <class Value>
Value atomicMin(Value* address, std::type_identity_t<Value> value) {
  return ::pyharness::emulator::atomic_change(address, [=](Value old) { return std::min(old, value); });
}
template <class Value>
Value atomicOr(Value* address, std::type_identity_t<Value> value) {
  return ::pyharness::emulator::atomic_change(address, [=](Value old) { return old | value; });
}
template <class Value>
Value atomicExch(Value* address, std::type_identity_t<Value> value) {
  return ::pyharness::emulator::atomic_change(address, [=](Value) { return value; });
}
template <class Value>
Value atomicCAS(Value* address, std::type_identity_t<Value> expected, std::type_identity_t<Value> value) {
  return ::pyharness::emulator::atomic_change(address,
                                              [=](Value old) { return old == expected ? value : old; });
}

inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// ---- numbers

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct ph_bf16 {
  std::uint16_t bits;
};
struct ph_half {
  std::uint16_t bits;
};

inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1; }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }

inline float ph_float(float value) { return value; }
inline float ph_float(ph_bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
inline float ph_float(ph_half value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 31u;
  const std::uint32_t fraction = value.bits & 1023u;
  if (exponent == 0)
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::ldexp(float(fraction), -24)));
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <class Half>
void ph_float2(unsigned word, Half, float& first, float& second) {
  first = ph_float(Half{static_cast<std::uint16_t>(word)});
  second = ph_float(Half{static_cast<std::uint16_t>(word >> 16)});
}

template <class Half>
unsigned ph_larger(unsigned a, unsigned b, Half) {  // of the low halves; a number wins over NaN
  const float x = ph_float(Half{static_cast<std::uint16_t>(a)});
  const float y = ph_float(Half{static_cast<std::uint16_t>(b)});
  return (x >= y || std::isnan(y) ? a : b) & 0xffffu;
}
template <class Half>
unsigned ph_max2(unsigned a, unsigned b, Half half) {
  return ph_larger(a, b, half) | ph_larger(a >> 16, b >> 16, half) << 16;
}

template <class Half>
unsigned ph_larger_or_nan(unsigned a, unsigned b, Half) {  // of the low halves
  const float x = ph_float(Half{static_cast<std::uint16_t>(a)});
  const float y = ph_float(Half{static_cast<std::uint16_t>(b)});
  return (std::isnan(x) || x >= y ? a : b) & 0xffffu;
}
template <class Half>
unsigned ph_max2_nan(unsigned a, unsigned b, Half half) {
  return ph_larger_or_nan(a, b, half) | ph_larger_or_nan(a >> 16, b >> 16, half) << 16;
}

// Rounded to nearest, ties to even.
inline unsigned ph_pair(float value, ph_bf16) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return half | half << 16;
}
inline unsigned ph_pair(float value, ph_half) {
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, -14);  // of the subnormals, which have the same spacing as 2^-14
  const float units = std::nearbyint(std::ldexp(std::fabs(value), 10 - exponent));
  const float bits = units + 1024.0f * static_cast<float>(exponent + 14);
  const unsigned half = (value < 0.0f ? 0x8000u : 0u) | static_cast<unsigned>(std::fmin(bits, 0x7c00));
  return half | half << 16;
}

inline unsigned ph_ones_from(int first) { return first >= 32 ? 0u : ~0u << std::max(first, 0); }

// As coarse as the device's instruction: the last two of 24 bits are cut off, and subnormals are zero.
inline float ph_exp2(float exponent) {
  const float power = std::exp2(exponent);
  if (power < std::numeric_limits<float>::min()) return 0.0f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(power) & ~3u);
}

inline float ph_log2(float power) {
  constexpr float kCoarse = 1 << 22;
  return std::floor(std::log2(power) * kCoarse) / kCoarse;
}

inline float ph_divide(float a, float b) { return a / b; }

// ---- the host side of launches

namespace pyharness::kernels {

template <class Kernel>
void allow_shared(Kernel*, std::size_t) {}
template <class Kernel>
bool takes_clusters(Kernel*, dim3 cluster, dim3, dim3) {
  return cluster.x * cluster.y * cluster.z <= emulator::kMostBlocksOfCluster;
}
inline void copy(void* to, const void* from, std::size_t bytes, Stream) {
  if (bytes != 0) emulator::enqueue([=] { std::memcpy(to, from, bytes); });
}
inline void fill(void* to, int byte, std::size_t bytes, Stream) {
  emulator::enqueue([=] { std::memset(to, byte, bytes); });
}
inline void synchronize(Stream) { emulator::wait_for_stream(); }

}  // namespace pyharness::kernels
