#include "core/symbols/symbol_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"
#include "core/symbols/symbol_estimator.hpp"

namespace pyharness::symbols {

SymbolModel::SymbolModel(SymbolTrie trie, int threads)
    : trie_(std::move(trie)), uniform_nll_(std::log(static_cast<double>(trie_.alphabet_size))) {
  SymbolEstimator(*this).run(threads);
}

// Without a branch in the loop: which half it is, nobody can predict.
std::uint32_t SymbolModel::lower_bound(std::uint32_t first, std::uint32_t end, std::uint32_t symbol) const {
  const Entry* place = entries_.data() + first;
  std::size_t length = end - first;
  while (length > 0) {
    const std::size_t half = length / 2;
    place += place[half].symbol < symbol ? length - half : 0;
    length = half;
  }
  return static_cast<std::uint32_t>(place - entries_.data());
}

SymbolModel::Step SymbolModel::step(std::uint32_t context, std::uint32_t symbol) const {
  double nll = 0;
  for (;;) {
    const std::uint32_t end = contexts_[context + 1].first;
    const std::uint32_t at = lower_bound(contexts_[context].first, end, symbol);
    if (at != end && entries_[at].symbol == symbol) return {entries_[at].next, nll + entries_[at].nll};
    nll += contexts_[context].unseen_nll;
    if (context == 0) return {0, nll + uniform_nll_};
    context = contexts_[context].shorter;
  }
}

template <class Id>
SymbolScores SymbolModel::score(std::span<const Id> ids, std::span<const std::int64_t> offsets,
                                int threads) const {
  check_threads(threads);
  check_offsets(offsets, ids.size(), "offsets");
  check_ids(ids, trie_.alphabet_size, "ids");
  SymbolScores scores{std::vector<double>(ids.size()), std::vector<double>(ids.size()),
                      std::vector<double>(offsets.size() - 1, contexts_[0].entropy)};
  constexpr std::size_t kFewestIds = 1 << 14;  // of a thread: starting one takes about as long
  const int workers =
      static_cast<int>(std::min(static_cast<std::size_t>(threads), ids.size() / kFewestIds + 1));
  run_on_threads(workers, [&](int worker) {
    score_share(ids, offsets, share_begin(ids.size(), worker, workers),
                share_begin(ids.size(), worker + 1, workers), scores);
  });
  return scores;
}

template SymbolScores SymbolModel::score(std::span<const std::uint8_t>, std::span<const std::int64_t>,
                                         int) const;
template SymbolScores SymbolModel::score(std::span<const std::uint32_t>, std::span<const std::int64_t>,
                                         int) const;

template <class Id>
void SymbolModel::score_share(std::span<const Id> ids, std::span<const std::int64_t> offsets,
                              std::size_t begin, std::size_t end, SymbolScores& scores) const {
  // The document of `begin` is the last one that starts there or before: empty ones lie in front of it.
  auto document = static_cast<std::size_t>(
      std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(begin)) - offsets.begin() -
      1);
  for (std::size_t i = begin; i < end; ++document) {
    std::uint32_t context = context_before(ids, static_cast<std::size_t>(offsets[document]), i);
    const auto document_end = static_cast<std::size_t>(offsets[document + 1]);
    for (const std::size_t stop = std::min(end, document_end); i < stop; ++i) {
      scores.entropy[i] = contexts_[context].entropy;
      const Step taken = step(context, ids[i]);
      scores.nll[i] = taken.nll;
      context = taken.context;
    }
    if (i == document_end) scores.next_entropy[document] = contexts_[context].entropy;
  }
}

// The longest known context is found from the last order - 1 symbols, wherever a thread begins.
template <class Id>
std::uint32_t SymbolModel::context_before(std::span<const Id> ids, std::size_t document,
                                          std::size_t position) const {
  const std::size_t reach = std::min(position - document, trie_.level_sizes.size() - 1);
  std::uint32_t context = 0;
  for (std::size_t i = position - reach; i < position; ++i) context = step(context, ids[i]).context;
  return context;
}

std::vector<double> SymbolModel::probabilities(std::span<const std::uint32_t> before) const {
  check_ids(before, trie_.alphabet_size, "context");
  std::vector<double> chances(trie_.alphabet_size, 1.0 / trie_.alphabet_size);
  add_counts(context_before(before, 0, before.size()), chances);
  return chances;
}

void SymbolModel::add_counts(std::uint32_t context, std::vector<double>& chances) const {
  if (context != 0) add_counts(contexts_[context].shorter, chances);
  const std::uint32_t first = contexts_[context].first;
  const std::uint32_t end = contexts_[context + 1].first;
  const double distinct = end - first;
  double total = distinct;
  for (std::uint32_t at = first; at < end; ++at) total += static_cast<double>(trie_.counts[at]);
  for (double& chance : chances) chance *= distinct;
  for (std::uint32_t at = first; at < end; ++at)
    chances[entries_[at].symbol] += static_cast<double>(trie_.counts[at]);
  for (double& chance : chances) chance /= total;
}

}  // namespace pyharness::symbols
