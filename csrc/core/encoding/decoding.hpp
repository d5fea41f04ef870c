// Ids to bytes.
#pragma once

#include <cstdint>
#include <span>

namespace pyharness {

// Token t is data[offsets[t]..offsets[t + 1]).
struct TokenBytes {
  std::span<const std::uint8_t> data;
  std::span<const std::int64_t> offsets;

  // Length of the tokens of `ids`, laid end to end. Checks the arrays at the ids.
  std::size_t decoded_size(std::span<const std::uint32_t> ids) const;
  // Fills `out`, which has this length, with them; decoded_size() must have accepted the ids.
  void decode(std::span<const std::uint32_t> ids, std::span<char> out) const;
};

}  // namespace pyharness
