// Groups of the vocabulary curriculum (arXiv 2502.17910): runs of tokens that a model finds ever easier.
//
// The first token of a group is free; every later one has a signal below a threshold, and not above that of
// the token before it. Groups are taken greedily from left to right, end where the rule does, and have two
// tokens or more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pyharness::curriculum {

struct GroupRule {
  double epsilon = 0.3;                  // of the signal, in its unit
  bool strict = false;                   // below the token before, not only not above
  std::optional<double> row_quantile;    // of the signals of a document: the threshold is no higher than that
  std::uint32_t id_limit = 0xFFFFFFFFu;  // ids from here on are in no group and end one: special tokens
};

// The quantile of a document's signals, linear between two of them. `scratch` is overwritten.
inline double quantile_of(std::span<const double> signal, double quantile, std::vector<double>& scratch) {
  scratch.assign(signal.begin(), signal.end());
  const double place = quantile * static_cast<double>(scratch.size() - 1);
  const auto low = scratch.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(scratch.begin(), low, scratch.end());
  const double high = low + 1 == scratch.end() ? *low : *std::min_element(low + 1, scratch.end());
  return *low + (high - *low) * (place - static_cast<double>(low - scratch.begin()));
}

// Calls visit(begin, end) for every group of a document, in order.
template <class Id, class Visit>
void for_each_group(std::span<const Id> ids, std::span<const double> signal, const GroupRule& rule,
                    std::vector<double>& scratch, Visit&& visit) {
  if (ids.size() < 2) return;
  double threshold = rule.epsilon;
  if (rule.row_quantile) threshold = std::min(threshold, quantile_of(signal, *rule.row_quantile, scratch));
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= ids.size(); ++i) {
    const bool falls = i < ids.size() && signal[i] < threshold &&
                       (rule.strict ? signal[i] < signal[i - 1] : signal[i] <= signal[i - 1]);
    if (falls && ids[i] < rule.id_limit && ids[i - 1] < rule.id_limit) continue;
    if (i - begin > 1) visit(begin, i);
    begin = i;
  }
}

}  // namespace pyharness::curriculum
