// From counts to what a symbol model is asked for: probabilities and entropies of every context.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/symbols/symbol_model.hpp"

namespace pyharness::symbols {

// Fills a model level by level: a context needs nothing but the one without its oldest symbol.
//
// The entropy of a context is exact over the alphabet in time of its continuations. With w = T(h) / (c(h) +
// T(h)),
//
//     H(h) = -sum over seen x of P ln P  +  w (H(h') + sum over seen x of P' ln P')  -  w ln w (1 - sum over
//     seen x of P')
//
// where P' = P(x | h'). Both differences are of numbers that may be nearly equal, hence long double. Its loss
// counts w times at most: it shrinks from level to level.
class SymbolEstimator {
 public:
  explicit SymbolEstimator(SymbolModel& model) : model_(model), trie_(model.trie_) {}

  // Throws std::invalid_argument for counts that no text has.
  void run(int threads);

 private:
  struct Chance {
    long double probability;
    long double nll;
  };

  // Sums over the symbols that were seen in a context; w as above.
  struct Seen {
    long double entropy = 0;          // of P
    long double shorter_mass = 0;     // of P'
    long double shorter_entropy = 0;  // of P'
  };

  void check_sizes() const;
  void lay_out();
  void estimate_level(std::size_t level, int threads);
  void estimate_context(std::uint32_t context, std::uint64_t total);
  std::uint64_t total_of(std::uint32_t context) const;
  // Entry of the same symbol in the shorter context, from `from` on.
  std::uint32_t shorter_entry(std::uint32_t entry, std::uint32_t context, std::uint32_t from) const;
  void link(std::uint32_t entry, std::uint32_t shorter);
  long double entropy_of(std::uint32_t context, const Seen& seen, long double weight) const;

  std::uint32_t first_of(std::uint32_t context) const { return model_.contexts_[context].first; }
  std::uint32_t end_of(std::uint32_t context) const { return model_.contexts_[context + 1].first; }

  SymbolModel& model_;
  const SymbolTrie& trie_;
  std::vector<std::uint32_t> level_begins_;    // of entries, and their end
  std::vector<std::uint32_t> context_begins_;  // of the contexts of 0, 1, .. symbols, and their end
  std::vector<std::uint32_t>
      context_of_;                      // [entries], the context that the n-gram is; kNone if nothing follows
  std::vector<Chance> chances_;         // [entries]
  std::vector<long double> entropies_;  // [contexts]
};

}  // namespace pyharness::symbols
