// What the kernels are held against on a device: a read of as many bytes, and what users of CUB do to count
// pairs. Only profiles call them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/machine/device.hpp"
#include "kernels/machine/memory.hpp"

namespace pyharness::kernels {

// Adds the 32-bit words of `loads` times 16 bytes, aligned to as many, to *sum. The roof of kernels that only
// read: every thread of the device has 64 bytes in flight. One launch: *sum is not cleared. Less than 32 GiB.
void add_words(const void* words, std::int64_t loads, unsigned long long* sum, int multiprocessors,
               Stream stream);

// Keeps the stream busy for so many cycles of the multiprocessors, with one thread.
void hold(std::int64_t cycles, Stream stream);

// Pairs in rising order of keys = left << id_bits | right, and their counts. The arrays may be longer.
struct PairRuns {
  DeviceArray<unsigned long long> keys;
  DeviceArray<int> counts;
  std::size_t size = 0;
};

// Packs the pairs of tokens[0..size-1], sorts the bits in use alone, and encodes runs: by CUB, except for the
// packing. Fewer than 2^31 tokens, all below 2^id_bits.
PairRuns find_pair_runs(const std::uint32_t* tokens, std::int64_t size, int id_bits, DeviceMemory& memory,
                        int multiprocessors, Stream stream);

}  // namespace pyharness::kernels
