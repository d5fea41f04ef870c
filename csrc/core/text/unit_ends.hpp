// Where the units of texts end: pieces of a split pattern, segments, characters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/parallel.hpp"

namespace pyharness {

// The units of text t end at the bytes ends[offsets[t]..offsets[t + 1]) of it.
struct UnitEnds {
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> offsets;
};

// The first text of each worker's share, of about equal bytes; one more for the end.
inline std::vector<std::size_t> shares_of_texts(std::span<const std::string_view> texts, int threads) {
  std::size_t total = 0;
  for (const std::string_view text : texts) total += text.size();
  std::vector<std::size_t> first{0};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    while (static_cast<int>(first.size()) < threads &&
           bytes >= share_begin(total, static_cast<int>(first.size()), threads))
      first.push_back(i);
    bytes += texts[i].size();
  }
  first.resize(static_cast<std::size_t>(threads) + 1, texts.size());
  return first;
}

// What is set aside for ends of units, as growing costs more than cutting does; pages that are not written
// cost none.
inline constexpr std::size_t kBytesPerUnit = 2;

// Calls cut(index, add) for every text, where add(end) is to be called for each of its units in turn. Does
// not depend on `threads`, which share the texts.
template <class Cut>
UnitEnds cut_on_threads(std::span<const std::string_view> texts, int threads, Cut cut) {
  check_threads(threads);
  const std::vector<std::size_t> first = shares_of_texts(texts, threads);
  std::vector<std::vector<std::int64_t>> ends(static_cast<std::size_t>(threads));
  UnitEnds units;
  units.offsets.resize(texts.size() + 1);
  run_on_threads(threads, [&](int worker) {
    const auto share = static_cast<std::size_t>(worker);
    std::vector<std::int64_t>& own = ends[share];
    std::size_t bytes = 0;
    const std::size_t held = share == 0 ? texts.size() : first[share + 1];  // the first takes in all others
    for (std::size_t i = first[share]; i < held; ++i) bytes += texts[i].size();
    own.reserve(bytes / kBytesPerUnit);
    for (std::size_t i = first[share]; i < first[share + 1]; ++i) {
      cut(i, [&own](std::size_t end) { own.push_back(static_cast<std::int64_t>(end)); });
      units.offsets[i + 1] = static_cast<std::int64_t>(own.size());
    }
  });
  units.ends = std::move(ends[0]);
  for (std::size_t share = 1; share < ends.size(); ++share) {
    const auto before = static_cast<std::int64_t>(units.ends.size());
    for (std::size_t i = first[share]; i < first[share + 1]; ++i) units.offsets[i + 1] += before;
    units.ends.insert(units.ends.end(), ends[share].begin(), ends[share].end());
  }
  return units;
}

}  // namespace pyharness
