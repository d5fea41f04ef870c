// The graph of a BPE model: which ids merges can produce at all, how deep, and through how many rules. No
// encoding.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/merge_model.hpp"

namespace pyharness {

struct MergeGraph {
  std::vector<std::uint8_t> derivable;     // by id: atomic, or made from derivable parts (least fixed point)
  std::vector<std::int32_t> depth;         // fewest merge levels; 0 atomic, -1 underivable
  std::vector<std::int64_t> children;      // rules that use the id; (a, a) counts once
  std::vector<std::int64_t> derivations;   // rules that produce the id
  std::vector<std::int64_t> orphan_rules;  // rules form: rows with an underivable part
  std::vector<std::int64_t>
      shadowed_rules;                     // rules form: rows whose pair has an earlier row; they never fire
  std::vector<std::uint32_t> duplicates;  // ids with more than one derivation
  std::int64_t rule_count = 0;            // shadowed rows not counted
};

// In the ranks form a rule is a split of a token, between two of its base symbols, into two strings of the
// vocabulary. A token whose base symbols do not spell it has no rules. Of ids with equal bytes one is
// produced (the lowest rank), and one is used (an atomic one if there is any).
MergeGraph merge_graph(const MergeModel& model);

}  // namespace pyharness
