// The order in which leaf pruning removes tokens (arXiv 2512.03989; docs/algorithms.md "Pruning").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pyharness {

// `parts` has two ids for each token: those whose merge makes it, kNever where no merge does. A leaf is part
// of no token that is left. The removable leaf with the smallest count goes first, of equal ones that with
// the larger id, and each of its parts gains its count: twice, where both are one. What is no leaf in the end
// (a part of a token that stays) is not in the order. Throws std::invalid_argument if arrays do not fit each
// other, an id is out of range, or a count passes 2**64 - 1.
std::vector<std::uint32_t> leaf_order(std::span<const std::uint32_t> parts,
                                      std::span<const std::uint64_t> counts,
                                      std::span<const std::uint8_t> removable);

}  // namespace pyharness
