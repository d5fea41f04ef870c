// Finds the added tokens of a vocabulary in texts: leftmost first, the longest of those that start together,
// no overlaps.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_trie.hpp"

namespace pyharness {

// Those of text t are [offsets[t], offsets[t + 1]): where each starts, and the index of the token.
struct AddedTokenMatches {
  std::vector<std::int64_t> starts;
  std::vector<std::uint32_t> tokens;
  std::vector<std::int64_t> offsets;
};

class AddedTokenFinder {
 public:
  // No string may be empty.
  explicit AddedTokenFinder(std::vector<std::string> tokens);

  // Does not depend on `threads`, which share the texts.
  AddedTokenMatches find(std::span<const std::string_view> texts, int threads) const;

 private:
  template <class Sink>
  void find_in(std::string_view text, Sink&& sink) const;
  bool may_start(std::string_view text, std::size_t at) const;

  std::vector<std::string> tokens_;
  ByteTrie trie_;
  std::array<bool, 256> starts_{};  // first bytes
  // First two bytes. Runs of spaces are added tokens of several vocabularies, and every word starts with a
  // space: the second byte spares nearly all walks through the trie.
  std::vector<bool> pairs_ = std::vector<bool>(1 << 16);
};

}  // namespace pyharness
