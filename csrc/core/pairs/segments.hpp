// The runs of positions that start a pair: position i stands for the pair (ids[i], ids[i + 1]).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "core/machine/checks.hpp"
#include "shared/pairs.hpp"

namespace pyharness {

class PairRuns {
 public:
  // Throws std::invalid_argument for offsets that do not cut ids 0..total-1, a negative weight, and a
  // weighted number of pairs that leaves 64 bits. The arrays outlive this.
  PairRuns(std::size_t total, const PairSegments& segments)
      : whole_{0, static_cast<std::int64_t>(total)}, segments_(segments) {
    if (segments.offsets != nullptr) check_offsets(bounds(), total, "offsets");
    if (segments.weights == nullptr) return;
    if (segments.signed_weights) check_signs();
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
      if (first < last) run(first, last, segments_.weights != nullptr ? segments_.weights[segment] : 1);
    }
  }

 private:
  std::span<const std::int64_t> bounds() const {
    if (segments_.offsets == nullptr) return whole_;
    return {segments_.offsets, static_cast<std::size_t>(segments_.size) + 1};
  }

  void check_signs() const {
    for (std::int64_t segment = 0; segment < segments_.size; ++segment) {
      const auto weight = static_cast<std::int64_t>(segments_.weights[segment]);
      if (weight < 0) throw negative_weight(segment, weight);
    }
  }

  void check_total() const {
    const auto offsets = bounds();
    std::uint64_t total = 0;
    for (std::size_t segment = 0; segment + 1 < offsets.size(); ++segment) {
      const auto length = static_cast<std::uint64_t>(offsets[segment + 1] - offsets[segment]);
      std::uint64_t pairs = 0;
      if (length < 2) continue;
      if (__builtin_mul_overflow(length - 1, segments_.weights[segment], &pairs) ||
          __builtin_add_overflow(total, pairs, &total)) {
        throw std::invalid_argument("the weighted number of pairs does not fit 64 bits (segment " +
                                    std::to_string(segment) + ")");
      }
    }
  }

  std::int64_t whole_[2];
  PairSegments segments_;
};

}  // namespace pyharness
