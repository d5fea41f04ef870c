#include "core/merging/dropout.hpp"

namespace pyharness {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(second),
        static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(first)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

bool Dropout::discards(std::uint32_t begin, std::uint32_t end) const {
  const std::uint64_t start = position + begin;
  // 2^40 bytes of a document and 2^24 of a token: more than either can have.
  const auto draw = philox(
      {static_cast<std::uint32_t>(document), static_cast<std::uint32_t>(document >> 32),
       static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(start >> 32) << 24 | (end - begin)},
      seed);
  const std::uint64_t bits = static_cast<std::uint64_t>(draw[0]) << 32 | draw[1];
  return static_cast<double>(bits >> 11) * 0x1p-53 < probability;
}

}  // namespace pyharness
