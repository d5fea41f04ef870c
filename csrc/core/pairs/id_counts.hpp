// What a pass counts of the ids of a batch, document by document, while they are in the near caches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/pairs/id_digests.hpp"

namespace pyharness {

// What is asked for besides frequencies.
struct IdQuestions {
  std::optional<std::span<const std::uint64_t>> keys;  // of documents: digests, as id_digests() gives them
  std::optional<std::span<const std::uint16_t>> token_bytes;  // of ids: bytes of the blocks of digests
  std::optional<std::span<const std::uint8_t>> flags;  // of ids: splits, as character_splits() gives them
};

struct IdCounts {
  IdDigests digests;
  std::vector<std::int64_t> splits;  // of every document
};

// Adds to counts[groups[d] * id_limit + id] for every token of document d. Everything is checked before
// anything is added: an id at or above id_limit, or without a flag, a group at or above the number of rows,
// or lengths that do not fit throw std::invalid_argument. Threads share the groups.
IdCounts count_ids(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                   std::span<const std::uint8_t> groups, const IdQuestions& questions, std::size_t id_limit,
                   std::span<std::uint64_t> counts, int threads);

}  // namespace pyharness
