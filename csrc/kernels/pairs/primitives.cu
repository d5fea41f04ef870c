#include <utility>

#include "kernels/pairs/primitives.hpp"
#include "kernels/pairs/rows.hpp"

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cuda/std/functional>
#else
#include <numeric>
#include <vector>
#endif

namespace pyharness::kernels {

#if defined(__CUDACC__)

namespace {

// CUB's protocol: asked without memory, a call says how much it needs.
template <class Call>
void with_scratch(DeviceMemory& memory, Call&& call) {
  std::size_t bytes = 0;
  PH_CHECK(call(nullptr, bytes));
  const DeviceArray<unsigned char> scratch(memory, bytes, "scratch of CUB");
  PH_CHECK(call(scratch.data(), bytes));
}

}  // namespace

void sort_by_key(TwoArrays& keys, TwoArrays& values, std::size_t size, int begin_bit, int end_bit,
                 Order order, DeviceMemory& memory, Stream stream) {
  cub::DoubleBuffer<Word> key_buffers(keys.current.data(), keys.spare.data());
  cub::DoubleBuffer<Word> value_buffers(values.current.data(), values.spare.data());
  with_scratch(memory, [&](void* scratch, std::size_t& bytes) {
    using Sort = cub::DeviceRadixSort;
    return order == Order::kRising
               ? Sort::SortPairs(scratch, bytes, key_buffers, value_buffers, size, begin_bit, end_bit, stream)
               : Sort::SortPairsDescending(scratch, bytes, key_buffers, value_buffers, size, begin_bit,
                                           end_bit, stream);
  });
  if (key_buffers.Current() != keys.current.data()) std::swap(keys.current, keys.spare);
  if (value_buffers.Current() != values.current.data()) std::swap(values.current, values.spare);
}

void sort_keys(TwoArrays& keys, std::size_t size, int bits, DeviceMemory& memory, Stream stream) {
  cub::DoubleBuffer<Word> buffers(keys.current.data(), keys.spare.data());
  with_scratch(memory, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffers, size, 0, bits, stream);
  });
  if (buffers.Current() != keys.current.data()) std::swap(keys.current, keys.spare);
}

std::size_t sum_by_key(TwoArrays& keys, TwoArrays& values, std::size_t size, DeviceMemory& memory,
                       Stream stream) {
  const DeviceArray<Word> runs(memory, 1, "the number of rows");
  with_scratch(memory, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::ReduceByKey(scratch, bytes, keys.current.data(), keys.spare.data(),
                                          values.current.data(), values.spare.data(), runs.data(),
                                          cuda::std::plus<>{}, static_cast<std::int64_t>(size), stream);
  });
  std::swap(keys.current, keys.spare);
  std::swap(values.current, values.spare);
  return static_cast<std::size_t>(read_back(runs.data(), stream));
}

std::size_t encode_runs(const Word* keys, std::size_t size, Word* distinct, int* lengths,
                        DeviceMemory& memory, Stream stream) {
  const DeviceArray<int> runs(memory, 1, "the number of runs");
  with_scratch(memory, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRunLengthEncode::Encode(scratch, bytes, keys, distinct, lengths, runs.data(),
                                              static_cast<int>(size), stream);
  });
  return static_cast<std::size_t>(read_back(runs.data(), stream));
}

#else

void sort_by_key(TwoArrays& keys, TwoArrays& values, std::size_t size, int begin_bit, int end_bit,
                 Order order, DeviceMemory&, Stream) {
  const int width = end_bit - begin_bit;
  const Word mask = width == 64 ? ~Word{0} : (Word{1} << width) - 1;
  const Word* const key = keys.current.data();
  std::vector<std::size_t> from(size);
  std::iota(from.begin(), from.end(), std::size_t{0});
  std::stable_sort(from.begin(), from.end(), [&](std::size_t a, std::size_t b) {
    const Word left = key[a] >> begin_bit & mask;
    const Word right = key[b] >> begin_bit & mask;
    return order == Order::kRising ? left < right : left > right;
  });
  for (std::size_t i = 0; i < size; ++i) {
    keys.spare.data()[i] = key[from[i]];
    values.spare.data()[i] = values.current.data()[from[i]];
  }
  std::swap(keys.current, keys.spare);
  std::swap(values.current, values.spare);
}

void sort_keys(TwoArrays& keys, std::size_t size, int bits, DeviceMemory&, Stream) {
  Word* const key = keys.current.data();
  const Word mask = bits == 64 ? ~Word{0} : (Word{1} << bits) - 1;
  std::stable_sort(key, key + size, [mask](Word a, Word b) { return (a & mask) < (b & mask); });
}

std::size_t sum_by_key(TwoArrays& keys, TwoArrays& values, std::size_t size, DeviceMemory&, Stream) {
  Word* const key = keys.spare.data();
  Word* const value = values.spare.data();
  std::size_t runs = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (runs == 0 || key[runs - 1] != keys.current.data()[i]) {
      key[runs] = keys.current.data()[i];
      value[runs++] = 0;
    }
    value[runs - 1] += values.current.data()[i];
  }
  std::swap(keys.current, keys.spare);
  std::swap(values.current, values.spare);
  return runs;
}

std::size_t encode_runs(const Word* keys, std::size_t size, Word* distinct, int* lengths, DeviceMemory&,
                        Stream) {
  std::size_t runs = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (runs == 0 || distinct[runs - 1] != keys[i]) {
      distinct[runs] = keys[i];
      lengths[runs++] = 0;
    }
    ++lengths[runs - 1];
  }
  return runs;
}

#endif

}  // namespace pyharness::kernels
