#include "core/merging/piece_merger/model.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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
// are left, they are that pair. Where a rule says which two that would be, it is enough to look at the border
// between them.
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
    const auto pair = pair_of(merge, bytes);
    if (!pair) return;
    const auto [left, right] = *pair;
    const std::uint32_t symbol = kBytes + merge;
    reduced_.pairs.add(left, right, symbol);
    merges_[merge] = {left, right, bytes};
    reduced_.ids[symbol] = id;
    reduced_.lengths[symbol] = static_cast<std::uint32_t>(bytes.size());
    symbol_of_[id] = symbol;
    in_order_ = in_order_ && std::max(left, right) < symbol;
  }

  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  std::optional<Pair> pair_of(std::uint32_t merge, std::string_view bytes) {
    if (!model_.rules) return encoded(bytes);
    const std::uint32_t* row = model_.rules->data() + 3 * static_cast<std::size_t>(merge);
    const Pair parts{symbol_of_[row[0]], symbol_of_[row[1]]};
    if (parts.first == kNever || parts.second == kNever) return std::nullopt;
    if (in_order_ ? !stay_apart(parts.first, parts.second) : encoded(bytes) != parts) return std::nullopt;
    return parts;
  }

  // The two symbols that some bytes encode to, if that is what they encode to.
  std::optional<Pair> encoded(std::string_view bytes) {
    if (bytes.size() < 2 || !all_have_ids(bytes)) return std::nullopt;
    merge_at_once(reduced_, bytes, workspace_);
    const auto& symbols = workspace_.window_symbols;
    return symbols.size() == 2 ? std::optional(Pair{symbols[0], symbols[1]}) : std::nullopt;
  }

  // Whether the bytes of two symbols, one behind the other, encode to the two. No symbol may be made before
  // its parts are (`in_order_`): then merges happen in the order of their symbols, equal ones from the left.
  // So what stands on both sides of the border is known for every moment, from the last one back, and all
  // depends on whether a merge across it comes before the merge that ends that moment.
  bool stay_apart(std::uint32_t left, std::uint32_t right) const {
    for (std::uint32_t end = PairTable::kNoMerge; reduced_.pairs.find(left, right) >= end;) {
      if (std::max(left, right) < kBytes) return true;
      if (left > right) {
        end = left;
        left = merges_[left - kBytes].right;
      } else {
        end = right + 1;  // of equal merges, the one across the border is further left
        right = merges_[right - kBytes].left;
      }
    }
    return false;
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
  bool in_order_ = true;  // every symbol so far has a higher number than its parts
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
