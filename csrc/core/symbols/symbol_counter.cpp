#include "core/symbols/symbol_counter.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"

namespace pyharness::symbols {
namespace {

using Counters = std::variant<GramCounter<NarrowGram>, GramCounter<WideGram>>;

int checked_bits(std::uint64_t alphabet_size, int order) {
  check_alphabet(alphabet_size, order);
  return std::max(1, static_cast<int>(std::bit_width(alphabet_size - 1)));
}

Counters counter_of(int order, int bits, std::size_t max_bytes) {
  if (order * bits <= 64)
    return Counters(std::in_place_type<GramCounter<NarrowGram>>, order, bits, max_bytes);
  return Counters(std::in_place_type<GramCounter<WideGram>>, order, bits, max_bytes);
}

// How many rows of `level` continue each row of `shorter`; both are sorted, and every beginning of an n-gram
// that was counted was counted, too.
template <class Row>
void append_children(std::span<const Row> shorter, std::span<const Row> level, int bits,
                     std::vector<std::uint32_t>& children) {
  auto next = level.begin();
  for (const Row& row : shorter) {
    const auto first = next;
    while (next != level.end() && next->key >> bits == row.key) ++next;
    children.push_back(static_cast<std::uint32_t>(next - first));
  }
}

template <class Row>
void append_level(std::vector<Row>&& rows, std::uint32_t symbol_mask, SymbolTrie& trie) {
  trie.level_sizes.push_back(rows.size());
  for (const Row& row : rows) {
    trie.symbols.push_back(static_cast<std::uint32_t>(row.key) & symbol_mask);
    trie.counts.push_back(row.count);
  }
  std::vector<Row>().swap(rows);
}

template <class Row>
SymbolTrie trie_of(std::vector<std::vector<Row>> levels, std::uint32_t alphabet_size, int bits) {
  std::size_t entries = 0;
  for (const auto& rows : levels) entries += rows.size();
  if (entries >= std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("the text has more than 4,294,967,294 distinct n-grams");
  SymbolTrie trie;
  trie.alphabet_size = alphabet_size;
  trie.symbols.reserve(entries);
  trie.counts.reserve(entries);
  trie.children.reserve(entries - levels.back().size());
  for (std::size_t n = 0; n < levels.size(); ++n) {
    if (n + 1 < levels.size()) append_children<Row>(levels[n], levels[n + 1], bits, trie.children);
    append_level(std::move(levels[n]), (std::uint32_t{1} << bits) - 1, trie);
  }
  return trie;
}

}  // namespace

void check_alphabet(std::uint64_t alphabet_size, int order) {
  if (order < 1 || order > kHighestOrder)
    throw std::invalid_argument("order is " + std::to_string(order) + "; it must be 1.." +
                                std::to_string(kHighestOrder));
  if (alphabet_size < 1 || alphabet_size > kLargestAlphabet)
    throw std::invalid_argument("alphabet_size is " + std::to_string(alphabet_size) + "; it must be 1.." +
                                std::to_string(kLargestAlphabet));
}

SymbolCounter::SymbolCounter(std::uint64_t alphabet_size, int order, std::size_t max_bytes)
    : alphabet_size_(static_cast<std::uint32_t>(alphabet_size)),
      order_(order),
      bits_(checked_bits(alphabet_size, order)),
      counter_(counter_of(order, bits_, max_bytes)) {}

template <class Id>
void SymbolCounter::add(std::span<const Id> ids, std::span<const std::int64_t> offsets, int threads) {
  check_threads(threads);
  check_offsets(offsets, ids.size(), "offsets");
  check_ids(ids, alphabet_size_, "ids");
  std::visit([&](auto& counter) { counter.add(ids, offsets, threads); }, counter_);
  symbols_ += ids.size();
}

template void SymbolCounter::add(std::span<const std::uint8_t>, std::span<const std::int64_t>, int);
template void SymbolCounter::add(std::span<const std::uint32_t>, std::span<const std::int64_t>, int);

SymbolTrie SymbolCounter::take_trie() {
  symbols_ = 0;
  return std::visit([&](auto& counter) { return trie_of(counter.take_levels(), alphabet_size_, bits_); },
                    counter_);
}

}  // namespace pyharness::symbols
