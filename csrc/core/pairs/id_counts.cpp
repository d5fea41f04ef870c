#include "core/pairs/id_counts.hpp"

#include <algorithm>
#include <numeric>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"
#include "core/text/character_splits.hpp"

namespace pyharness {
namespace {

void check(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
           std::span<const std::uint8_t> groups, const IdQuestions& questions, std::size_t id_limit,
           std::size_t n_groups) {
  check_offsets(offsets, ids.size(), "offsets");
  check_length(groups.size(), offsets.size() - 1, "groups");
  if (questions.keys) check_length(questions.keys->size(), groups.size(), "keys");
  for (std::size_t d = 0; d < groups.size(); ++d) {
    if (groups[d] >= n_groups) {
      throw std::invalid_argument("groups[" + std::to_string(d) + "] = " + std::to_string(groups[d]) +
                                  " is not below the " + std::to_string(n_groups) + " rows of out");
    }
  }
  check_ids(ids, questions.flags ? std::min(id_limit, questions.flags->size()) : id_limit, "ids");
}

// A row is larger than the near caches and ids come in no order: asked for ahead, lines come while others are
// counted.
void add(std::span<const std::uint32_t> ids, std::uint64_t* row) {
  constexpr std::size_t kAhead = 24;
  std::size_t i = 0;
  for (; i + kAhead < ids.size(); ++i) {
    __builtin_prefetch(row + ids[i + kAhead], 1);
    ++row[ids[i]];
  }
  for (; i < ids.size(); ++i) ++row[ids[i]];
}

}  // namespace

IdCounts count_ids(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                   std::span<const std::uint8_t> groups, const IdQuestions& questions, std::size_t id_limit,
                   std::span<std::uint64_t> counts, int threads) {
  check(ids, offsets, groups, questions, id_limit, id_limit == 0 ? 0 : counts.size() / id_limit);
  check_threads(threads);
  IdCounts found;
  if (questions.flags) found.splits.resize(groups.size());
  DocumentDigests digests(offsets, questions.token_bytes);
  std::vector<std::uint64_t> totals(static_cast<std::size_t>(threads));
  run_on_threads(threads, [&](int worker) {
    for (std::size_t d = 0; d < groups.size(); ++d) {
      if (groups[d] % threads != worker) continue;
      const auto begin = static_cast<std::size_t>(offsets[d]);
      const auto document = ids.subspan(begin, static_cast<std::size_t>(offsets[d + 1]) - begin);
      add(document, counts.data() + groups[d] * id_limit);
      if (questions.flags) found.splits[d] = character_splits(document, *questions.flags);
      if (questions.keys)
        totals[static_cast<std::size_t>(worker)] += digests.add(d, document, (*questions.keys)[d]);
    }
  });
  if (questions.keys)
    found.digests = digests.take(std::accumulate(totals.begin(), totals.end(), std::uint64_t{0}));
  return found;
}

}  // namespace pyharness
