// The rules of a BPE model as the callers hold them: views of their arrays, checked once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pyharness {

inline constexpr std::uint32_t kNever = 0xFFFFFFFFu;  // rank of what no merge produces

// See MergeModel in pyharness/types/vocabularies.py, field by field.
struct MergeModel {
  std::span<const std::uint8_t> data;
  std::span<const std::int64_t> offsets;
  std::span<const std::uint32_t> base;
  std::span<const std::int64_t> base_offsets;
  std::span<const std::uint8_t> tested;
  std::span<const std::uint8_t> atomic;
  std::optional<std::span<const std::uint32_t>> rules;  // [n_rules * 3]: left, right, result in rank order
  std::optional<std::span<const std::uint32_t>> ranks;  // [n]

  std::size_t size() const { return atomic.size(); }
  std::size_t rule_count() const { return rules->size() / 3; }

  std::string_view bytes(std::size_t id) const {
    const auto begin = static_cast<std::size_t>(offsets[id]);
    return {reinterpret_cast<const char*>(data.data()) + begin,
            static_cast<std::size_t>(offsets[id + 1]) - begin};
  }
  std::span<const std::uint32_t> base_of(std::size_t id) const {
    const auto begin = static_cast<std::size_t>(base_offsets[id]);
    return base.subspan(begin, static_cast<std::size_t>(base_offsets[id + 1]) - begin);
  }
  // In the ranks form: whether a symbol of this id can be part of a merge or its result.
  bool takes_part(std::size_t id) const { return atomic[id] || (*ranks)[id] != kNever; }

  // Throws std::invalid_argument unless every array fits the others and every id is below size().
  void check() const;
};

}  // namespace pyharness
