#include "core/merging/piece_merger/model.hpp"

#include <algorithm>
#include <numeric>

namespace pyharness {
namespace {

constexpr std::uint32_t kBytes = PairTable::kBytes;

// Result ids of all merges in rank order; none if two ranks are equal.
std::optional<std::vector<std::uint32_t>> merges_by_rank(const MergeModel& model) {
  std::vector<std::uint32_t> results;
  if (model.rules) {
    results.resize(model.rule_count());
    for (std::size_t rule = 0; rule < results.size(); ++rule) results[rule] = (*model.rules)[3 * rule + 2];
    return results;
  }
  const auto rank = [&](std::uint32_t id) { return (*model.ranks)[id]; };
  for (std::uint32_t id = 0; id < model.size(); ++id) {
    if (rank(id) != kNever && model.bytes(id).size() > 1) results.push_back(id);
  }
  const auto lower = [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); };
  if (!std::is_sorted(results.begin(), results.end(), lower))
    std::sort(results.begin(), results.end(), lower);
  const auto equal = [&](std::uint32_t a, std::uint32_t b) { return rank(a) == rank(b); };
  if (std::adjacent_find(results.begin(), results.end(), equal) != results.end()) return std::nullopt;
  return results;
}

bool results_are_their_parts(const MergeModel& model) {
  if (!model.rules) return true;
  for (std::size_t rule = 0; rule < model.rule_count(); ++rule) {
    const std::uint32_t* row = model.rules->data() + 3 * rule;
    const auto left = model.bytes(row[0]);
    const auto result = model.bytes(row[2]);
    if (!result.starts_with(left) || result.substr(left.size()) != model.bytes(row[1])) return false;
  }
  return true;
}

// Finds the one pair of every byte string by encoding it with the pairs of all shorter ones: if two symbols
// are left, they are that pair.
class Reduction {
 public:
  Reduction(const MergeModel& model, const std::vector<std::uint32_t>& results)
      : model_(model),
        results_(results),
        symbol_of_(model.size(), kNever),
        merges_(results.size()),
        reduced_{PairTable(results.size()), {}, {}, {}} {
    reduced_.ids.assign(kBytes + results.size(), kNever);
    reduced_.lengths.assign(kBytes + results.size(), 1);
    const auto bytes = byte_ids(model);
    std::copy(bytes.begin(), bytes.end(), reduced_.ids.begin());
    for (std::uint32_t byte = 0; byte < kBytes; ++byte) {
      if (bytes[byte] != kNever) symbol_of_[bytes[byte]] = byte;
    }
  }

  SymbolModel run() {
    for (const std::uint32_t merge : shortest_first()) add(merge);
    reduced_.characters = CharacterSymbols(reduced_.pairs, merges_);
    return std::move(reduced_);
  }

 private:
  std::vector<std::uint32_t> shortest_first() const {
    const auto length = [&](std::size_t merge) { return model_.bytes(results_[merge]).size(); };
    std::size_t longest = 0;
    for (std::size_t merge = 0; merge < results_.size(); ++merge) longest = std::max(longest, length(merge));
    std::vector<std::uint32_t> begin(longest + 2);
    for (std::size_t merge = 0; merge < results_.size(); ++merge) ++begin[length(merge) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::uint32_t> order(results_.size());
    for (std::uint32_t merge = 0; merge < results_.size(); ++merge) order[begin[length(merge)]++] = merge;
    return order;
  }

  void add(std::uint32_t merge) {
    const std::uint32_t id = results_[merge];
    const std::string_view bytes = model_.bytes(id);
    if (bytes.size() < 2 || !all_have_ids(bytes)) return;
    merge_at_once(reduced_, bytes, workspace_);
    const auto& symbols = workspace_.window_symbols;
    if (symbols.size() != 2 || !is_pair_of(merge, symbols[0], symbols[1])) return;
    const std::uint32_t symbol = kBytes + merge;
    reduced_.pairs.add(symbols[0], symbols[1], symbol);
    merges_[merge] = {symbols[0], symbols[1], bytes};
    reduced_.ids[symbol] = id;
    reduced_.lengths[symbol] = static_cast<std::uint32_t>(bytes.size());
    symbol_of_[id] = symbol;
  }

  bool is_pair_of(std::uint32_t merge, std::uint32_t left, std::uint32_t right) const {
    if (!model_.rules) return true;
    const std::uint32_t* row = model_.rules->data() + 3 * static_cast<std::size_t>(merge);
    return symbol_of_[row[0]] == left && symbol_of_[row[1]] == right;
  }

  bool all_have_ids(std::string_view bytes) const {
    return std::all_of(bytes.begin(), bytes.end(),
                       [&](char byte) { return reduced_.ids[static_cast<unsigned char>(byte)] != kNever; });
  }

  const MergeModel& model_;
  const std::vector<std::uint32_t>& results_;
  std::vector<std::uint32_t> symbol_of_;  // by id
  std::vector<SymbolMerge> merges_;
  SymbolModel reduced_;
  MergingWorkspace workspace_;
};

}  // namespace

std::vector<std::uint32_t> byte_ids(const MergeModel& model) {
  std::vector<std::uint32_t> ids(kBytes, kNever);
  for (std::size_t id = model.size(); id-- > 0;) {
    const auto bytes = model.bytes(id);
    if (model.atomic[id] && bytes.size() == 1)
      ids[static_cast<unsigned char>(bytes[0])] = static_cast<std::uint32_t>(id);
  }
  return ids;
}

std::optional<SymbolModel> reduce_to_symbols(const MergeModel& model) {
  const auto results = merges_by_rank(model);
  if (!results || results->size() + kBytes > PairTable::kMostSymbols) return std::nullopt;
  if (!results_are_their_parts(model)) return std::nullopt;
  return Reduction(model, *results).run();
}

}  // namespace pyharness
