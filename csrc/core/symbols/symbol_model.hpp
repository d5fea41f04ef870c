// An interpolated n-gram over ids: what comes next, and how uncertain that is.
//
//     P(x | h) = (c(hx) + T(h) P(x | h')) / (c(h) + T(h))
//
// c counts, T(h) is how many symbols were seen after h, and h' is h without its oldest symbol; below the
// empty context lies the uniform distribution (Witten and Bell 1991, method C; interpolated as in Chen and
// Goodman 1998). A context that was never seen falls through to h'.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/symbols/symbol_trie.hpp"

namespace pyharness::symbols {

// Of the symbols of some documents, in nats.
struct SymbolScores {
  std::vector<double> entropy;       // [symbols], of the prediction of symbol i
  std::vector<double> nll;           // [symbols], -ln P(symbol i | those before)
  std::vector<double> next_entropy;  // [documents], of the prediction of a symbol after the last
};

class SymbolModel {
 public:
  // Throws std::invalid_argument for a trie that no text has.
  SymbolModel(SymbolTrie trie, int threads);

  const SymbolTrie& trie() const { return trie_; }

  // Nothing of a document is known in the next. Threads do not change a bit. Throws std::invalid_argument for
  // an id that is not of the alphabet and for offsets that do not fit.
  template <class Id>
  SymbolScores score(std::span<const Id> ids, std::span<const std::int64_t> offsets, int threads) const;

  // Of every symbol after these, from the counts alone: in time of the alphabet.
  std::vector<double> probabilities(std::span<const std::uint32_t> before) const;

 private:
  friend class SymbolEstimator;

  static constexpr std::uint32_t kNone = 0;  // no entry leads back to the empty context

  // Contexts that were followed by something, the empty one first; then as the entries that they are. One
  // more at the end has the end of the last one's entries.
  struct Context {
    std::uint32_t first;    // entry of its first continuation
    std::uint32_t shorter;  // the context without its oldest symbol
    double entropy;
    double unseen_nll;  // -ln of what the probability of a symbol not seen here is of that in `shorter`
  };

  // A symbol that was seen in a context.
  struct Entry {
    std::uint32_t symbol;
    std::uint32_t next;  // the longest context that is known once it came
    double nll;
  };

  struct Step {
    std::uint32_t context;
    double nll;
  };

  // Place of the entry, or of the one that would follow it.
  std::uint32_t lower_bound(std::uint32_t first, std::uint32_t end, std::uint32_t symbol) const;
  Step step(std::uint32_t context, std::uint32_t symbol) const;
  void add_counts(std::uint32_t context, std::vector<double>& chances) const;

  template <class Id>
  void score_share(std::span<const Id> ids, std::span<const std::int64_t> offsets, std::size_t begin,
                   std::size_t end, SymbolScores& scores) const;
  template <class Id>
  std::uint32_t context_before(std::span<const Id> ids, std::size_t document, std::size_t position) const;

  SymbolTrie trie_;
  std::vector<Context> contexts_;
  std::vector<Entry> entries_;
  double uniform_nll_;
};

}  // namespace pyharness::symbols
