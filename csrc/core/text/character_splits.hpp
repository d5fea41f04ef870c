// Characters whose bytes fall in more than one token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pyharness {

// What a token's bytes look like to UTF-8; a continuation byte is 10xxxxxx.
inline constexpr std::uint8_t kStartsInsideCharacter = 1;
inline constexpr std::uint8_t kOnlyContinuationBytes = 2;
inline constexpr std::uint8_t kEmptyToken = 4;

// Those of every token of a vocabulary: token t is data[offsets[t]:offsets[t + 1]].
std::vector<std::uint8_t> utf8_flags(std::span<const std::uint8_t> data,
                                     std::span<const std::int64_t> offsets);

// splits[d] = code points of document d whose bytes fall in more than one token, each counted once however
// many pieces it is in. `flags` is indexed by id. Assumes that the tokens of a document spell valid UTF-8;
// other bytes give some number and no error.
void character_splits(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                      std::span<const std::uint8_t> flags, std::span<std::int64_t> splits);

}  // namespace pyharness
