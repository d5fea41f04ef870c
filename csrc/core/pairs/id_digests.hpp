// Digests of ids, by which two passes over one text are told apart. What they promise: docs/measuring.md
// "Two records as a gate". The slow reference is tests/support/oracles/id_digests.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pyharness {

inline constexpr std::size_t kDigestBlock = 64;  // ids; the last block of a document may have fewer

struct IdDigests {
  std::uint64_t total = 0;            // sum over documents, modulo 2^64: their order changes nothing
  std::vector<std::uint32_t> blocks;  // of one document after the other
  std::vector<std::uint32_t> bytes;   // that the ids of each block stand for; empty without `token_bytes`
};

// `keys` are one per document, of its text. An id that `token_bytes` does not have stands for no bytes.
// Throws std::invalid_argument where offsets or keys do not fit.
IdDigests id_digests(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                     std::span<const std::uint64_t> keys,
                     std::optional<std::span<const std::uint16_t>> token_bytes);

}  // namespace pyharness
