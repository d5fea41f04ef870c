// How often every id occurs, per group of documents.
#pragma once

#include <cstdint>
#include <span>

namespace pyharness {

// Adds to counts[groups[d] * id_limit + id] for every token of document d. Everything is checked before
// anything is added: an id at or above id_limit, or a group at or above the number of rows, throws
// std::invalid_argument.
void token_frequency(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                     std::span<const std::uint8_t> groups, std::size_t id_limit,
                     std::span<std::uint64_t> counts);

}  // namespace pyharness
