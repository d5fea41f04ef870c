#include "core/pairs/token_frequency.hpp"

#include <algorithm>

#include "core/machine/checks.hpp"

namespace pyharness {
namespace {

void check(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
           std::span<const std::uint8_t> groups, std::size_t id_limit, std::size_t n_groups) {
  check_offsets(offsets, ids.size(), "offsets");
  check_length(groups.size(), offsets.size() - 1, "groups");
  for (std::size_t d = 0; d < groups.size(); ++d) {
    if (groups[d] >= n_groups) {
      throw std::invalid_argument("groups[" + std::to_string(d) + "] = " + std::to_string(groups[d]) +
                                  " is not below the " + std::to_string(n_groups) + " rows of out");
    }
  }
  check_ids(ids, id_limit, "ids");
}

// A row is larger than the near caches and ids come in no order. Counts are prefetched so many ids ahead,
// from the next document, too.
constexpr std::size_t kPrefetchDistance = 128;

void prefetch_first(std::span<const std::uint32_t> ids, const std::uint64_t* row) {
  for (const std::uint32_t id : ids.first(std::min(kPrefetchDistance, ids.size())))
    __builtin_prefetch(row + id, 1);
}

// The counts of the first ids are prefetched.
void add(std::span<const std::uint32_t> ids, std::uint64_t* row) {
  std::size_t i = 0;
  for (; i + kPrefetchDistance < ids.size(); ++i) {
    __builtin_prefetch(row + ids[i + kPrefetchDistance], 1);
    ++row[ids[i]];
  }
  for (; i < ids.size(); ++i) ++row[ids[i]];
}

}  // namespace

void token_frequency(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                     std::span<const std::uint8_t> groups, std::size_t id_limit,
                     std::span<std::uint64_t> counts) {
  check(ids, offsets, groups, id_limit, id_limit == 0 ? 0 : counts.size() / id_limit);
  const auto document = [&](std::size_t d) {
    const auto begin = static_cast<std::size_t>(offsets[d]);
    return ids.subspan(begin, static_cast<std::size_t>(offsets[d + 1]) - begin);
  };
  const auto row = [&](std::size_t d) { return counts.data() + groups[d] * id_limit; };
  for (std::size_t d = 0; d < groups.size(); ++d) {
    if (d + 1 < groups.size()) prefetch_first(document(d + 1), row(d + 1));
    add(document(d), row(d));
  }
}

}  // namespace pyharness
