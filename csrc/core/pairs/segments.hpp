// The runs of positions that start a pair: position i stands for the pair (ids[i], ids[i + 1]).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "core/machine/checks.hpp"

namespace pyharness {

class PairSegments {
 public:
  PairSegments(std::size_t n_ids, std::optional<std::span<const std::int64_t>> offsets,
               std::optional<std::span<const std::uint64_t>> weights)
      : whole_{0, static_cast<std::int64_t>(n_ids)}, weights_(weights) {
    if (offsets) {
      check_offsets(*offsets, n_ids, "offsets");
      offsets_ = *offsets;
    }
    if (weights) check_length(weights->size(), bounds().size() - 1, "weights");
    check_total();
  }

  // Calls run(first, last, weight) for every run of pair positions first..last-1 that lies in begin..end-1.
  template <class Run>
  void for_each_run(std::size_t begin, std::size_t end, Run&& run) const {
    if (begin >= end) return;
    const auto offsets = bounds();
    const auto after = std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(begin));
    auto segment = static_cast<std::size_t>(after - offsets.begin()) - 1;
    for (; segment + 1 < offsets.size() && static_cast<std::size_t>(offsets[segment]) < end; ++segment) {
      const auto stop = static_cast<std::size_t>(offsets[segment + 1]);
      const std::size_t first = std::max(begin, static_cast<std::size_t>(offsets[segment]));
      const std::size_t last = std::min(end, stop == 0 ? 0 : stop - 1);
      if (first < last) run(first, last, weights_ ? (*weights_)[segment] : 1);
    }
  }

 private:
  std::span<const std::int64_t> bounds() const { return offsets_.empty() ? std::span(whole_) : offsets_; }

  void check_total() const {
    if (!weights_) return;
    const auto offsets = bounds();
    std::uint64_t total = 0;
    for (std::size_t segment = 0; segment + 1 < offsets.size(); ++segment) {
      const auto length = static_cast<std::uint64_t>(offsets[segment + 1] - offsets[segment]);
      std::uint64_t pairs = 0;
      if (length < 2) continue;
      if (__builtin_mul_overflow(length - 1, (*weights_)[segment], &pairs) ||
          __builtin_add_overflow(total, pairs, &total)) {
        throw std::invalid_argument("the weighted number of pairs does not fit 64 bits (segment " +
                                    std::to_string(segment) + ")");
      }
    }
  }

  std::int64_t whole_[2];
  std::span<const std::int64_t> offsets_;
  std::optional<std::span<const std::uint64_t>> weights_;
};

}  // namespace pyharness
