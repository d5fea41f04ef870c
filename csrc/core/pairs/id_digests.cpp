#include "core/pairs/id_digests.hpp"

#include <algorithm>
#include <array>

#include "core/machine/checks.hpp"
#include "core/machine/instruction_set.hpp"

namespace pyharness {
namespace {

constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;  // of splitmix64

// Finalizer of splitmix64: a permutation that leaves no pattern.
constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

// Odd, so that one id that is another is seen for sure, and different modulo 128, so that two ids that change
// places are. One factor per place, and not per id: a sum of products is what compilers lay on vectors.
constexpr auto kFactors = [] {
  std::array<std::uint32_t, kDigestBlock> factors{};
  for (std::uint32_t place = 0; place < kDigestBlock; ++place) {
    const std::uint64_t word = mixed((place + std::uint64_t{1}) * kStep) >> 39 << 7;
    factors[place] = (static_cast<std::uint32_t>(word) | 1U) + 2 * place;
  }
  return factors;
}();

// Into a function for other vectors, nothing but what is inlined may come.
#define PYHARNESS_INLINE __attribute__((always_inline)) inline

PYHARNESS_INLINE std::uint32_t digest_of(std::span<const std::uint32_t> block) {
  std::uint32_t sum = 0;
  for (std::size_t place = 0; place < block.size(); ++place) sum += block[place] * kFactors[place];
  return sum;
}

// Lengths of 16 bits take half of the cache that 32 would; the sum of 64 has room in 32. Four sums at a time,
// because one would wait for itself.
PYHARNESS_INLINE std::uint32_t bytes_of(std::span<const std::uint32_t> block,
                                        std::span<const std::uint16_t> token_bytes) {
  const auto at = [&](std::size_t place) -> std::uint32_t {
    return block[place] < token_bytes.size() ? token_bytes[block[place]] : 0;
  };
  std::array<std::uint32_t, 4> sums{};
  std::size_t place = 0;
  for (; place + sums.size() <= block.size(); place += sums.size())
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += at(place + k);
  for (; place < block.size(); ++place) sums[0] += at(place);
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// Between two batches of a pass other work has filled the caches. Ids come in no order, so that the table
// would come back a line at a time: 0.5 ns of 1.3 for every id of a batch of 250,000.
void fetch(std::span<const std::uint16_t> token_bytes) {
  constexpr std::size_t kLine = 64 / sizeof(std::uint16_t);
  for (std::size_t id = 0; id < token_bytes.size(); id += kLine) __builtin_prefetch(&token_bytes[id]);
}

std::size_t block_count(std::span<const std::int64_t> offsets) {
  std::size_t count = 0;
  for (std::size_t d = 0; d + 1 < offsets.size(); ++d)
    count += (static_cast<std::size_t>(offsets[d + 1] - offsets[d]) + kDigestBlock - 1) / kDigestBlock;
  return count;
}

PYHARNESS_INLINE IdDigests all_digests(std::span<const std::uint32_t> ids,
                                       std::span<const std::int64_t> offsets,
                                       std::span<const std::uint64_t> keys,
                                       std::optional<std::span<const std::uint16_t>> token_bytes) {
  IdDigests digests;
  digests.blocks.reserve(block_count(offsets));
  if (token_bytes) {
    fetch(*token_bytes);
    digests.bytes.reserve(digests.blocks.capacity());
  }
  for (std::size_t d = 0; d < keys.size(); ++d) {
    const auto begin = static_cast<std::size_t>(offsets[d]);
    const auto document = ids.subspan(begin, static_cast<std::size_t>(offsets[d + 1]) - begin);
    std::uint64_t of_ids = 0;
    for (std::uint64_t number = 0; number * kDigestBlock < document.size(); ++number) {
      const std::size_t start = number * kDigestBlock;
      const auto block = document.subspan(start, std::min(kDigestBlock, document.size() - start));
      digests.blocks.push_back(digest_of(block));
      if (token_bytes) digests.bytes.push_back(bytes_of(block, *token_bytes));
      of_ids += mixed(digests.blocks.back() | number << 32);
    }
    digests.total += mixed(of_ids ^ mixed(keys[d] + document.size() * kStep));
  }
  return digests;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) IdDigests
digests_avx2(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
             std::span<const std::uint64_t> keys, std::optional<std::span<const std::uint16_t>> token_bytes) {
  return all_digests(ids, offsets, keys, token_bytes);
}
#endif

}  // namespace

IdDigests id_digests(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                     std::span<const std::uint64_t> keys,
                     std::optional<std::span<const std::uint16_t>> token_bytes) {
  check_offsets(offsets, ids.size(), "offsets");
  check_length(keys.size(), offsets.size() - 1, "keys");
#if defined(__x86_64__)
  if (chosen_instruction_set() != InstructionSet::kPortable)
    return digests_avx2(ids, offsets, keys, token_bytes);
#endif
  return all_digests(ids, offsets, keys, token_bytes);
}

}  // namespace pyharness
