#include "core/text/character_splits.hpp"

#include <algorithm>

namespace pyharness {

std::int64_t character_splits(std::span<const std::uint32_t> ids, std::span<const std::uint8_t> flags) {
  constexpr std::size_t kRun = 16;  // most runs of this many tokens cut no character
  std::int64_t splits = 0;
  bool started = false;     // a token with bytes came before
  bool same_split = false;  // the next byte, if a continuation byte, continues a character already counted
  for (std::size_t begin = 0; begin < ids.size(); begin += kRun) {
    const auto run = ids.subspan(begin, std::min(kRun, ids.size() - begin));
    std::uint8_t any = 0;
    for (const std::uint32_t id : run) any |= flags[id];
    if (any == 0) {
      started = true;
      same_split = false;
      continue;
    }
    for (const std::uint32_t id : run) {
      const std::uint8_t flag = flags[id];
      if (flag & kEmptyToken) continue;
      const bool inside = started && (flag & kStartsInsideCharacter);
      splits += inside && !same_split;
      same_split = inside && (flag & kOnlyContinuationBytes);
      started = true;
    }
  }
  return splits;
}

}  // namespace pyharness
