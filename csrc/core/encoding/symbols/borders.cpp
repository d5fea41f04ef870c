#include "core/encoding/symbols/borders.hpp"

#include <algorithm>
#include <bit>

#include "core/text/code_points.hpp"

namespace pyharness {
namespace {

// First and last symbol of every token; kNever: nothing makes it.
struct Edges {
  std::vector<std::uint32_t> first, last;

  bool known(std::uint32_t token) const { return first[token] != kNever; }
};

enum class Step { kNothingNew, kNew, kAmbiguous };

Step derive(const std::uint32_t* rule, Edges& edges) {
  const std::uint32_t left = rule[0], right = rule[1], result = rule[2];
  if (!edges.known(left) || !edges.known(right)) return Step::kNothingNew;
  if (edges.known(result)) {
    const bool same = edges.first[result] == edges.first[left] && edges.last[result] == edges.last[right];
    return same ? Step::kNothingNew : Step::kAmbiguous;
  }
  edges.first[result] = edges.first[left];
  edges.last[result] = edges.last[right];
  return Step::kNew;
}

// False when a token can start or end with several symbols, or when that takes too long to find out.
bool derive_all(const MergeModel& model, Edges& edges) {
  constexpr int kMostRounds = 64;  // rules mostly come after those that make their parts: two rounds
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    for (std::size_t rule = 0; rule < model.rule_count(); ++rule) {
      const Step step = derive(model.rules->data() + 3 * rule, edges);
      if (step == Step::kAmbiguous) return false;
      changed |= step == Step::kNew;
    }
    if (!changed) return true;
  }
  return false;
}

}  // namespace

SymbolBorders::SymbolBorders(std::span<const Pair> crossed) {
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(16 * crossed.size(), 64));
  bits_.resize(size / 64);
  shift_ = 64 - std::countr_zero(size);
  for (const Pair& pair : crossed) {
    const std::uint64_t bit = bit_of(pair.left, pair.right);
    bits_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
}

SymbolBorders SymbolBorders::of_rules(const MergeModel& model, std::span<const std::uint32_t> symbols) {
  Edges edges{std::vector<std::uint32_t>(model.size(), kNever),
              std::vector<std::uint32_t>(model.size(), kNever)};
  for (const std::uint32_t symbol : symbols) edges.first[symbol] = edges.last[symbol] = symbol;
  if (!derive_all(model, edges)) return {};
  std::vector<Pair> crossed;
  for (std::size_t rule = 0; rule < model.rule_count(); ++rule) {
    const std::uint32_t* row = model.rules->data() + 3 * rule;
    if (edges.known(row[0]) && edges.known(row[1]))
      crossed.push_back({edges.last[row[0]], edges.first[row[1]]});
  }
  return SymbolBorders(crossed);
}

SymbolBorders SymbolBorders::of_strings(const MergeModel& model) {
  std::vector<Pair> crossed;
  for (std::size_t id = 0; id < model.size(); ++id) {
    if ((*model.ranks)[id] == kNever) continue;
    const std::string_view token = model.bytes(id);
    if (token.empty()) continue;
    auto left = code_point_or_byte(token, 0);
    for (std::size_t at = left.length; at < token.size();) {
      const auto right = code_point_or_byte(token, at);
      crossed.push_back({left.point, right.point});
      at += right.length;
      left = right;
    }
  }
  return SymbolBorders(crossed);
}

}  // namespace pyharness
