// Pairs of ids -> the first rule for them, for models in the rules form. An open hash with linear probing.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/model/merge_model.hpp"

namespace pyharness {

class RuleTable {
 public:
  struct Found {
    std::uint32_t id = kNever;
    std::uint32_t rank = kNever;
  };

  explicit RuleTable(const MergeModel& model) : RuleTable(*model.rules) {}

  // Left, right and result of every rule in rank order, end to end.
  explicit RuleTable(std::span<const std::uint32_t> rules) {
    const std::size_t count = rules.size() / 3;
    slots_.resize(std::bit_ceil(count * 2 + 1));
    mask_ = slots_.size() - 1;
    for (std::size_t rule = 0; rule < count; ++rule) {
      const std::uint32_t* row = rules.data() + 3 * rule;
      Slot& slot = slots_[locate(key_of(row[0], row[1]))];
      // The first rank wins for a rule that occurs twice (algorithms.md, common conventions).
      if (slot.found.rank == kNever)
        slot = {key_of(row[0], row[1]), {row[2], static_cast<std::uint32_t>(rule)}};
    }
  }

  Found find(std::uint32_t left, std::uint32_t right) const {
    return slots_[locate(key_of(left, right))].found;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Found found;  // rank kNever: the slot is free
  };

  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | right;
  }

  std::size_t locate(std::uint64_t key) const {
    std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    std::size_t at = hash & mask_;
    while (slots_[at].found.rank != kNever && slots_[at].key != key) at = (at + 1) & mask_;
    return at;
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

}  // namespace pyharness
