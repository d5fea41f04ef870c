// The counts of a symbol model: all n-grams of 1 to `order` symbols that a text holds, as a trie in levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pyharness::symbols {

inline constexpr int kHighestOrder = 5;
inline constexpr std::uint32_t kLargestAlphabet = std::uint32_t{1} << 25;  // five symbols fit in 128 bits

// Throws std::invalid_argument.
void check_alphabet(std::uint64_t alphabet_size, int order);

// Entry by entry, level by level: level n has the n-grams, in lexicographic order. The entries that continue
// an entry follow each other in the next level, in the order of their symbols.
struct SymbolTrie {
  std::uint32_t alphabet_size = 0;
  std::vector<std::uint64_t> level_sizes;  // [order]
  std::vector<std::uint32_t> symbols;      // [entries], the last one of the n-gram
  std::vector<std::uint64_t> counts;       // [entries]
  std::vector<std::uint32_t> children;     // [entries of all levels but the last], how many symbols follow

  int order() const { return static_cast<int>(level_sizes.size()); }
};

}  // namespace pyharness::symbols
