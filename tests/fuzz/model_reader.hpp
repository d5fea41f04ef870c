// Merge models of whatever a fuzzer's bytes say.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fuzzing.hpp"
#include "owned_model.hpp"

namespace pyharness::fuzz {

// Bytes of at most `most` distinct values, some of which have no symbol; strings and rules over them.
class ModelReader {
 public:
  explicit ModelReader(FuzzedDataProvider& input) : input_(input) {
    const auto symbols = input.ConsumeIntegralInRange<std::size_t>(1, 6);
    for (std::size_t i = 0; i < symbols; ++i) {
      const std::string symbol(
          1, input.ConsumeBool() ? static_cast<char>('a' + i) : input.ConsumeIntegral<char>());
      if (std::ranges::find(bytes_, symbol) == bytes_.end()) bytes_.push_back(symbol);
    }
    for (std::uint32_t id = 0; id < bytes_.size(); ++id) base_.push_back({id});
  }

  OwnedModel read() { return input_.ConsumeBool() ? read_rules() : read_ranks(); }

 private:
  static constexpr std::size_t kLongest = 40;

  std::uint32_t any_id() {
    return input_.ConsumeIntegralInRange<std::uint32_t>(0, static_cast<std::uint32_t>(bytes_.size()) - 1);
  }

  std::uint32_t add(std::uint32_t left, std::uint32_t right) {
    bytes_.push_back(bytes_[left] + bytes_[right]);
    base_.push_back(base_[left]);
    base_.back().insert(base_.back().end(), base_[right].begin(), base_[right].end());
    return static_cast<std::uint32_t>(bytes_.size()) - 1;
  }

  // Sometimes a string has two ids, or an id two rules, or a pair two rules of which one never fires.
  OwnedModel read_rules() {
    std::vector<std::uint32_t> rules;
    for (auto left_to_do = input_.ConsumeIntegralInRange(0, 60); left_to_do > 0; --left_to_do) {
      const std::uint32_t left = any_id(), right = any_id();
      if (bytes_[left].size() + bytes_[right].size() > kLongest) continue;
      const auto known = std::ranges::find(bytes_, bytes_[left] + bytes_[right]);
      const bool again = known != bytes_.end() && input_.ConsumeIntegralInRange(0, 7) != 0;
      const auto result = again ? static_cast<std::uint32_t>(known - bytes_.begin()) : add(left, right);
      rules.insert(rules.end(), {left, right, result});
    }
    return OwnedModel::with_rules(bytes_, base_, std::move(rules));
  }

  OwnedModel read_ranks() {
    const std::size_t n_base = bytes_.size();
    for (auto left_to_do = input_.ConsumeIntegralInRange(0, 60); left_to_do > 0; --left_to_do) {
      const std::uint32_t left = any_id(), right = any_id();
      if (bytes_[left].size() + bytes_[right].size() <= kLongest) add(left, right);
    }
    std::vector<std::uint32_t> ranks(bytes_.size(), kNever);
    const bool own_ranks = input_.ConsumeBool();  // else the ids are the ranks, as tiktoken has it
    for (std::size_t id = n_base; id < bytes_.size(); ++id)
      ranks[id] = own_ranks ? input_.ConsumeIntegral<std::uint8_t>() : static_cast<std::uint32_t>(id);
    return OwnedModel::with_ranks(bytes_, base_, std::move(ranks));
  }

  FuzzedDataProvider& input_;
  std::vector<std::string> bytes_;
  std::vector<std::vector<std::uint32_t>> base_;
};

}  // namespace pyharness::fuzz
