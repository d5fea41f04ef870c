// The calls that CUB does on a device. In the emulator the standard library stands in for them (the
// same result: both sorts are stable), so that everything around them runs there; CUB's own kernels are not
// emulated.
#pragma once

#include "kernels/exec.hpp"
#include "kernels/pairs/pair_histogram.hpp"

namespace pyharness::kernels {

// An array of keys or values and as much room again; a call leaves its result in the first.
struct TwoArrays {
  DeviceArray<Word> current;
  DeviceArray<Word> spare;
};

enum class Order { kRising, kFalling };

// Sorts `size` keys by their bits begin_bit..end_bit-1, and values with them. Stable.
void sort_by_key(TwoArrays& keys, TwoArrays& values, std::size_t size, int begin_bit, int end_bit,
                 Order order, DeviceMemory& memory, Stream stream);

// Sorts `size` keys by all of their lowest `bits` bits, rising.
void sort_keys(TwoArrays& keys, std::size_t size, int bits, DeviceMemory& memory, Stream stream);

// Runs of equal keys become one key with the sum of its values; returns their number, once the stream has
// come to it.
std::size_t sum_by_key(TwoArrays& keys, TwoArrays& values, std::size_t size, DeviceMemory& memory,
                       Stream stream);

// Runs of equal keys become one key and their number; returns how many, once the stream has come to it. Fewer
// than 2^31 keys, in arrays of their own.
std::size_t encode_runs(const Word* keys, std::size_t size, Word* distinct, int* lengths,
                        DeviceMemory& memory, Stream stream);

}  // namespace pyharness::kernels
