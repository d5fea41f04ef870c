#include "core/symbols/symbol_estimator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/machine/parallel.hpp"

namespace pyharness::symbols {
namespace {

constexpr std::uint64_t kMostCount = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void refuse(const char* what) {
  throw std::invalid_argument(std::string("no text has these counts: ") + what);
}

}  // namespace

void SymbolEstimator::run(int threads) {
  check_threads(threads);
  check_sizes();
  lay_out();
  for (std::size_t level = 0; level < trie_.level_sizes.size(); ++level) estimate_level(level, threads);
}

// Sizes first, so that nothing is read outside of the arrays; what they hold is checked where it is used.
void SymbolEstimator::check_sizes() const {
  check_alphabet(trie_.alphabet_size, trie_.order());
  std::uint64_t entries = 0;
  for (const std::uint64_t size : trie_.level_sizes) {
    if (size > std::numeric_limits<std::uint32_t>::max() - 1 - entries)
      refuse("more n-grams than 32 bits can number");
    entries += size;
  }
  if (entries != trie_.symbols.size() || entries != trie_.counts.size() ||
      entries - trie_.level_sizes.back() != trie_.children.size())
    refuse("the sizes of levels and arrays differ");
  if (trie_.level_sizes.front() == 0) refuse("there is no symbol");
}

// Numbers the contexts: the empty one, then the entries that something follows, in their order.
void SymbolEstimator::lay_out() {
  level_begins_ = {0};
  for (const std::uint64_t size : trie_.level_sizes)
    level_begins_.push_back(level_begins_.back() + static_cast<std::uint32_t>(size));
  context_of_.assign(trie_.symbols.size(), SymbolModel::kNone);
  model_.contexts_ = {{0, 0, 0, 0}};
  context_begins_ = {0, 1};
  for (std::size_t level = 0; level + 1 < trie_.level_sizes.size(); ++level) {
    std::uint64_t next = level_begins_[level + 1];
    for (std::uint32_t entry = level_begins_[level]; entry < level_begins_[level + 1]; ++entry) {
      if (trie_.children[entry] == 0) continue;
      context_of_[entry] = static_cast<std::uint32_t>(model_.contexts_.size());
      model_.contexts_.push_back({static_cast<std::uint32_t>(next), 0, 0, 0});
      next += trie_.children[entry];
      if (next > level_begins_[level + 2]) refuse("more n-grams follow than there are");
    }
    if (next != level_begins_[level + 2]) refuse("there are more n-grams than follow");
    context_begins_.push_back(static_cast<std::uint32_t>(model_.contexts_.size()));
  }
  model_.contexts_.push_back({level_begins_.back(), 0, 0, 0});
  entropies_.resize(model_.contexts_.size());
  chances_.resize(trie_.symbols.size());
  model_.entries_.resize(trie_.symbols.size());
  for (std::size_t entry = 0; entry < trie_.symbols.size(); ++entry)
    model_.entries_[entry].symbol = trie_.symbols[entry];
}

void SymbolEstimator::estimate_level(std::size_t level, int threads) {
  constexpr std::uint32_t kChunk = 256;  // contexts
  std::atomic<std::uint64_t> next{context_begins_[level]};
  const std::uint32_t end = context_begins_[level + 1];
  run_on_threads(threads, [&](int) {
    for (std::uint64_t begin = next.fetch_add(kChunk); begin < end; begin = next.fetch_add(kChunk)) {
      const auto stop = static_cast<std::uint32_t>(std::min<std::uint64_t>(end, begin + kChunk));
      for (auto context = static_cast<std::uint32_t>(begin); context < stop; ++context)
        estimate_context(context, total_of(context));
    }
  });
}

std::uint64_t SymbolEstimator::total_of(std::uint32_t context) const {
  std::uint64_t total = 0;
  for (std::uint32_t entry = first_of(context); entry < end_of(context); ++entry) {
    const std::uint64_t count = trie_.counts[entry];
    if (count == 0) refuse("an n-gram that does not occur");
    if (count > kMostCount - total) refuse("more symbols than 64 bits can count");
    total += count;
    if (trie_.symbols[entry] >= trie_.alphabet_size) refuse("a symbol that is not of the alphabet");
    if (entry > first_of(context) && trie_.symbols[entry] <= trie_.symbols[entry - 1])
      refuse("symbols that are not in order");
  }
  return total;
}

void SymbolEstimator::estimate_context(std::uint32_t context, std::uint64_t total) {
  const auto distinct = static_cast<long double>(end_of(context) - first_of(context));
  const long double divisor = static_cast<long double>(total) + distinct;
  const Chance uniform{1.0L / trie_.alphabet_size, std::log(static_cast<long double>(trie_.alphabet_size))};
  Seen seen;
  std::uint32_t from = context == 0 ? 0 : first_of(model_.contexts_[context].shorter);
  for (std::uint32_t entry = first_of(context); entry < end_of(context); ++entry) {
    if (context != 0) from = shorter_entry(entry, context, from);
    link(entry, from);
    const Chance shorter = context == 0 ? uniform : chances_[from];
    const long double probability =
        (static_cast<long double>(trie_.counts[entry]) + distinct * shorter.probability) / divisor;
    const long double nll = -std::log(probability);
    chances_[entry] = {probability, nll};
    model_.entries_[entry].nll = static_cast<double>(nll);
    seen.entropy += probability * nll;
    seen.shorter_mass += shorter.probability;
    seen.shorter_entropy += shorter.probability * shorter.nll;
  }
  entropies_[context] = entropy_of(context, seen, distinct / divisor);
  model_.contexts_[context].entropy = static_cast<double>(entropies_[context]);
  model_.contexts_[context].unseen_nll = static_cast<double>(-std::log(distinct / divisor));
}

std::uint32_t SymbolEstimator::shorter_entry(std::uint32_t entry, std::uint32_t context,
                                             std::uint32_t from) const {
  const std::uint32_t end = end_of(model_.contexts_[context].shorter);
  const std::uint32_t found = model_.lower_bound(from, end, trie_.symbols[entry]);
  if (found == end || trie_.symbols[found] != trie_.symbols[entry]) refuse("an n-gram without its own end");
  if (trie_.counts[found] < trie_.counts[entry]) refuse("an n-gram more frequent than its own end");
  return found;
}

// `shorter` is the same n-gram without its oldest symbol; for a single symbol there is none.
void SymbolEstimator::link(std::uint32_t entry, std::uint32_t shorter) {
  const bool single = entry < level_begins_[1];
  std::uint32_t& next = model_.entries_[entry].next;
  next = context_of_[entry];
  if (next == SymbolModel::kNone) {
    next = single ? 0 : model_.entries_[shorter].next;
    return;
  }
  if (!single && context_of_[shorter] == SymbolModel::kNone) refuse("a context without its own end");
  model_.contexts_[next].shorter = single ? 0 : context_of_[shorter];
}

long double SymbolEstimator::entropy_of(std::uint32_t context, const Seen& seen, long double weight) const {
  if (end_of(context) - first_of(context) == trie_.alphabet_size) return seen.entropy;
  const long double shorter = context == 0 ? std::log(static_cast<long double>(trie_.alphabet_size))
                                           : entropies_[model_.contexts_[context].shorter];
  const long double mass = std::max(0.0L, 1 - seen.shorter_mass);
  const long double entropy = std::max(0.0L, shorter - seen.shorter_entropy);
  return seen.entropy + weight * entropy - weight * std::log(weight) * mass;
}

}  // namespace pyharness::symbols
