#include "core/model/merge_model.hpp"

#include "core/machine/checks.hpp"

namespace pyharness {

void MergeModel::check() const {
  const std::size_t n = size();
  if (n >= kNever) throw std::invalid_argument("a model holds fewer than 2**32 - 1 ids");
  check_length(tested.size(), n, "tested");
  check_length(offsets.size(), n + 1, "offsets");
  check_length(base_offsets.size(), n + 1, "base_offsets");
  check_offsets(offsets, data.size(), "offsets");
  check_offsets(base_offsets, base.size(), "base_offsets");
  check_ids(base, n, "base");
  if (rules.has_value() == ranks.has_value()) {
    throw std::invalid_argument("a model has either rules or ranks, not both and not neither");
  }
  if (ranks) check_length(ranks->size(), n, "ranks");
  if (rules) {
    if (rules->size() % 3 != 0) throw std::invalid_argument("rules must have three columns");
    if (rule_count() >= kNever) throw std::invalid_argument("a model holds fewer than 2**32 - 1 rules");
    check_ids(*rules, n, "rules");
  }
}

}  // namespace pyharness
