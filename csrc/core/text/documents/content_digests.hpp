// BLAKE2b of documents with 16 bytes of result (RFC 7693): what hashlib.blake2b(text, digest_size=16) gives.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/machine/instruction_set.hpp"

namespace pyharness {

using ContentDigest = std::array<std::uint8_t, 16>;

// One digest per text, in their order.
void content_digests(std::span<const std::string_view> texts, std::span<ContentDigest> digests,
                     InstructionSet instructions = chosen_instruction_set());

struct KeyedDigests {
  std::vector<ContentDigest> texts, keys;
};

// Digests of texts, and of the key of each: those of neighbours with equal keys are computed once.
KeyedDigests keyed_digests(std::span<const std::string_view> texts, std::span<const std::string_view> keys,
                           InstructionSet instructions = chosen_instruction_set());

}  // namespace pyharness
