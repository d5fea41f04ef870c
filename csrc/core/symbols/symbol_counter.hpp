// Counting for a symbol model: documents in, trie of n-grams out.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "core/symbols/gram_counter.hpp"
#include "core/symbols/symbol_trie.hpp"

namespace pyharness::symbols {

// Neither batches nor threads change the result. One call at a time.
class SymbolCounter {
 public:
  // `max_bytes` bounds the tables of n-grams. Throws std::invalid_argument.
  SymbolCounter(std::uint64_t alphabet_size, int order, std::size_t max_bytes);

  // Counts nothing and throws std::invalid_argument for an id that is not below alphabet_size and for offsets
  // that do not fit; throws std::length_error when there are too many n-grams, after which it is of no use.
  template <class Id>
  void add(std::span<const Id> ids, std::span<const std::int64_t> offsets, int threads);

  std::uint64_t symbols() const { return symbols_; }

  // The counter is empty then. Throws std::length_error for more n-grams than a trie can number.
  SymbolTrie take_trie();

 private:
  std::uint32_t alphabet_size_;
  int order_;
  int bits_;  // of a symbol
  std::uint64_t symbols_ = 0;
  std::variant<GramCounter<NarrowGram>, GramCounter<WideGram>> counter_;
};

}  // namespace pyharness::symbols
