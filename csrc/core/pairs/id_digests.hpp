// Digests of ids, by which two passes over one text are told apart. What they promise: docs/measuring.md
// "Two records as a gate". The slow reference is tests/support/oracles/id_digests.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace pyharness {

inline constexpr std::size_t kDigestBlock = 64;  // ids; the last block of a document may have fewer

struct IdDigests {
  std::uint64_t total = 0;            // sum over documents, modulo 2^64: their order changes nothing
  std::vector<std::uint32_t> blocks;  // of one document after the other
  std::vector<std::uint32_t> bytes;   // that the ids of each block stand for; empty without `token_bytes`
};

// Digests of documents, in any order and on any thread.
class DocumentDigests {
 public:
  // An id that `token_bytes` does not have stands for no bytes.
  DocumentDigests(std::span<const std::int64_t> offsets,
                  std::optional<std::span<const std::uint16_t>> token_bytes);

  // Writes the blocks of document d; returns what it adds to the total. `key` is of its text.
  std::uint64_t add(std::size_t d, std::span<const std::uint32_t> document, std::uint64_t key);

  IdDigests take(std::uint64_t total) { return {total, std::move(blocks_), std::move(bytes_)}; }

 private:
  std::optional<std::span<const std::uint16_t>> token_bytes_;
  std::vector<std::size_t> first_;  // block of every document
  std::vector<std::uint32_t> blocks_, bytes_;
};

// `keys` are one per document, of its text. Throws std::invalid_argument where offsets or keys do not fit.
IdDigests id_digests(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                     std::span<const std::uint64_t> keys,
                     std::optional<std::span<const std::uint16_t>> token_bytes);

}  // namespace pyharness
