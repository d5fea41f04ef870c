#include "core/text/character_splits.hpp"

#include "core/machine/checks.hpp"

namespace pyharness {
namespace {

std::int64_t splits_of_document(std::span<const std::uint32_t> ids, std::span<const std::uint8_t> flags) {
  std::int64_t splits = 0;
  bool started = false;     // a token with bytes came before
  bool same_split = false;  // the next byte, if a continuation byte, continues a character already counted
  for (const std::uint32_t id : ids) {
    const std::uint8_t flag = flags[id];
    if (flag & kEmptyToken) continue;
    const bool inside = started && (flag & kStartsInsideCharacter);
    splits += inside && !same_split;
    same_split = inside && (flag & kOnlyContinuationBytes);
    started = true;
  }
  return splits;
}

}  // namespace

void character_splits(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                      std::span<const std::uint8_t> flags, std::span<std::int64_t> splits) {
  check_offsets(offsets, ids.size(), "offsets");
  check_length(splits.size(), offsets.size() - 1, "splits");
  check_ids(ids, flags.size(), "ids");
  for (std::size_t d = 0; d < splits.size(); ++d) {
    const auto begin = static_cast<std::size_t>(offsets[d]);
    splits[d] =
        splits_of_document(ids.subspan(begin, static_cast<std::size_t>(offsets[d + 1]) - begin), flags);
  }
}

}  // namespace pyharness
