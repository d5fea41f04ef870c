// The merges of a model and of what it has learnt since.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/model/rule_table.hpp"
#include "core/model/token_strings.hpp"
#include "core/training/bpe_trainer.hpp"

namespace pyharness {

// `tokens` are the model's strings and then the new ones; ids that never merge have none. Whoever learns a
// rule has added its string to them.
class ExtendedMerges {
 public:
  using NextMerge = TrainingCorpus::NextMerge;

  ExtendedMerges(const MergeModel& model, const TokenStrings& tokens,
                 std::span<const std::uint32_t> unreachable)
      : model_(model), tokens_(tokens) {
    if (model.rules) {
      table_.emplace(model);
    } else {
      note_affixes(unreachable);
    }
  }

  bool has_rules() const { return table_.has_value(); }

  NextMerge find(std::uint32_t left, std::uint32_t right) const {
    if (!has_rules()) return by_string(left, right);
    if (const auto found = table_->find(left, right); found.rank != kNever) return {found.id, found.rank};
    const auto learnt = learnt_.find(pair_key(left, right));
    return learnt == learnt_.end() ? NextMerge{} : learnt->second;
  }

  void learn(const MergeRule& rule) {
    if (has_rules())
      learnt_.try_emplace(pair_key(rule.left, rule.right), NextMerge{rule.result, kLearnt + learnt_.size()});
  }

  // Whether what a rule makes may merge at once with what is beside it. Such a merge makes a token that the
  // model could not reach before (docs/algorithms.md "Continued BPE").
  bool may_go_on(const MergeRule& rule) const {
    return has_rules() ? rule.result < model_.size() : may_be_part(tokens_[rule.result]);
  }

 private:
  static constexpr std::uint64_t kLearnt = std::uint64_t{1} << 32;  // behind the ranks of the model

  NextMerge by_string(std::uint32_t left, std::uint32_t right) const {
    const std::uint32_t id = tokens_.find(std::string(tokens_[left]).append(tokens_[right]));
    if (id == TokenStrings::kNone) return {};
    if (id >= model_.size()) return {id, kLearnt + id};
    const std::uint32_t rank = (*model_.ranks)[id];
    return rank == kNever ? NextMerge{} : NextMerge{id, rank};
  }

  void note_affixes(std::span<const std::uint32_t> unreachable) {
    for (const std::uint32_t id : unreachable) {
      forward_.emplace_back(model_.bytes(id));
      backward_.emplace_back(forward_.back().rbegin(), forward_.back().rend());
    }
    std::sort(forward_.begin(), forward_.end());
    std::sort(backward_.begin(), backward_.end());
  }

  bool may_be_part(std::string_view bytes) const {
    return starts_one(forward_, bytes) || starts_one(backward_, std::string(bytes.rbegin(), bytes.rend()));
  }

  static bool starts_one(const std::vector<std::string>& strings, std::string_view bytes) {
    const auto first = std::lower_bound(strings.begin(), strings.end(), bytes);
    return first != strings.end() && first->starts_with(bytes);
  }

  MergeModel model_;
  const TokenStrings& tokens_;
  std::optional<RuleTable> table_;                       // rules form
  std::unordered_map<std::uint64_t, NextMerge> learnt_;  // rules form
  std::vector<std::string> forward_, backward_;          // ranks form: unreachable tokens, as they are read
};

}  // namespace pyharness
