// Bytes per token: 12 to pack, 8 to count digits, 16 for each digit of 8 bits, 8 to encode runs: 108 with
// 2^17 ids. A row takes 12.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/exec.hpp"
#include "kernels/pairs/primitives.hpp"
#include "kernels/yardsticks/yardsticks.hpp"

namespace pyharness::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kInFlight = 8;

PH_GLOBAL void pack_keys(const std::uint32_t* tokens, std::int64_t pairs, int id_bits, Word* keys) {
  const std::int64_t step = std::int64_t{kThreads} * kInFlight;
  for (std::int64_t begin = blockIdx.x * step + threadIdx.x; begin < pairs; begin += gridDim.x * step) {
    Word key[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t at = begin + k * kThreads;
      key[k] = at < pairs ? Word{tokens[at]} << id_bits | tokens[at + 1] : 0;
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (begin + k * kThreads < pairs) keys[begin + k * kThreads] = key[k];
  }
}

}  // namespace

PairRuns find_pair_runs(const std::uint32_t* tokens, std::int64_t size, int id_bits, DeviceMemory& memory,
                        int multiprocessors, Stream stream) {
  if (size > std::int64_t{1} << 31) throw std::invalid_argument("CUB encodes runs of fewer than 2^31 keys");
  if (id_bits < 1 || id_bits > 32) throw std::invalid_argument("id_bits must be 1 to 32");
  if (size < 2) return {};
  const auto pairs = static_cast<std::size_t>(size - 1);
  TwoArrays keys{DeviceArray<Word>(memory, pairs, "packed keys"),
                 DeviceArray<Word>(memory, pairs, "packed keys")};
  const std::int64_t tiles = (size + kThreads * kInFlight - 2) / (kThreads * kInFlight);
  const std::int64_t blocks = std::min<std::int64_t>(tiles, std::int64_t{multiprocessors} * 8);
  PH_LAUNCH(pack_keys, static_cast<unsigned>(blocks), kThreads, 0, stream, tokens, size - 1, id_bits,
            keys.current.data());
  sort_keys(keys, pairs, 2 * id_bits, memory, stream);
  DeviceArray<int> counts(memory, pairs, "lengths of runs");
  const std::size_t runs =
      encode_runs(keys.current.data(), pairs, keys.spare.data(), counts.data(), memory, stream);
  return {std::move(keys.spare), std::move(counts), runs};
}

}  // namespace pyharness::kernels
