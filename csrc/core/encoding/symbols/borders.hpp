// Where a long piece can be cut without changing its ids: between symbols that no merge ever brings together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/merge_model.hpp"

namespace pyharness {

// A merge crosses the border between two neighbouring symbols exactly when its parts end and start with them.
// Where no rule has such parts, the symbols left and right of the border never meet, and the two sides encode
// by themselves.
class SymbolBorders {
 public:
  // Nothing can be cut.
  SymbolBorders() = default;

  // Rules form: symbols are ids; `symbols` are all that a piece can start as. Where a token can start or end
  // with several symbols, nothing can be cut.
  static SymbolBorders of_rules(const MergeModel& model, std::span<const std::uint32_t> symbols);
  // Ranks form: symbols are characters, named by their code points.
  static SymbolBorders of_strings(const MergeModel& model);

  bool any() const { return !bits_.empty(); }

  // False where a merge may cross the border. Some borders that none crosses are not known (see `bits_`).
  bool can_cut(std::uint32_t left, std::uint32_t right) const {  // needs any()
    const std::uint64_t bit = bit_of(left, right);
    return (bits_[bit / 64] >> bit % 64 & 1) == 0;
  }

 private:
  struct Pair {
    std::uint32_t left, right;
  };
  explicit SymbolBorders(std::span<const Pair> crossed);

  std::uint64_t bit_of(std::uint32_t left, std::uint32_t right) const {
    const std::uint64_t hash = (static_cast<std::uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15u;
    return hash >> shift_;
  }

  // One bit per pair that a merge crosses, sixteen bits per pair: one border in sixteen is taken for crossed
  // that is not, which costs a longer unit and nothing else.
  std::vector<std::uint64_t> bits_;
  int shift_ = 0;
};

}  // namespace pyharness
