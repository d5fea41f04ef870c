#include "core/text/character_splits.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/machine/checks.hpp"

namespace pyharness {
namespace {

// One bit for each id: whether it has any flag. The flags of 200,000 ids fill a near cache, and these bits an
// eighth of it: most ids have none, so that most are looked up here alone.
class FlaggedIds {
 public:
  explicit FlaggedIds(std::span<const std::uint8_t> flags) : words_(flags.size() / 64 + 1) {
    for (std::size_t id = 0; id < flags.size(); id += 8)
      words_[id / 64] |= eight_bits(flags.subspan(id, std::min<std::size_t>(8, flags.size() - id)))
                         << (id % 64);
  }

  bool any_of(std::span<const std::uint32_t> ids) const {
    std::uint64_t any = 0;
    for (const std::uint32_t id : ids) any |= words_[id / 64] >> (id % 64);
    return (any & 1) != 0;
  }

 private:
  static std::uint64_t eight_bits(std::span<const std::uint8_t> flags) {
    std::uint64_t bits = 0;
    if (flags.size() < sizeof bits) {
      for (std::size_t i = 0; i < flags.size(); ++i) bits |= static_cast<std::uint64_t>(flags[i] != 0) << i;
      return bits;
    }
    std::memcpy(&bits, flags.data(), sizeof bits);  // three bits in each byte, lowest first
    bits = (bits | bits >> 1 | bits >> 2) & 0x0101010101010101;
    return bits * 0x0102040810204080 >> 56;
  }

  std::vector<std::uint64_t> words_;
};

// Splits of one document, whose ids come in parts.
class SplitCounter {
 public:
  void add(std::span<const std::uint32_t> ids, std::span<const std::uint8_t> flags) {
    for (const std::uint32_t id : ids) {
      const std::uint8_t flag = flags[id];
      if (flag & kEmptyToken) continue;
      const bool inside = started_ && (flag & kStartsInsideCharacter);
      splits_ += inside && !same_split_;
      same_split_ = inside && (flag & kOnlyContinuationBytes);
      started_ = true;
    }
  }
  // As the other with ids that have no flags.
  void add_plain() {
    started_ = true;
    same_split_ = false;
  }
  std::int64_t splits() const { return splits_; }

 private:
  std::int64_t splits_ = 0;
  bool started_ = false;     // a token with bytes came before
  bool same_split_ = false;  // the next byte, if a continuation byte, continues a character already counted
};

std::int64_t splits_of_document(std::span<const std::uint32_t> ids, std::span<const std::uint8_t> flags,
                                const FlaggedIds& flagged) {
  constexpr std::size_t kPart = 16;
  SplitCounter counter;
  for (std::size_t at = 0; at < ids.size(); at += kPart) {
    const auto part = ids.subspan(at, std::min(kPart, ids.size() - at));
    if (flagged.any_of(part))
      counter.add(part, flags);
    else
      counter.add_plain();
  }
  return counter.splits();
}

}  // namespace

void character_splits(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                      std::span<const std::uint8_t> flags, std::span<std::int64_t> splits) {
  check_offsets(offsets, ids.size(), "offsets");
  check_length(splits.size(), offsets.size() - 1, "splits");
  check_ids(ids, flags.size(), "ids");
  const FlaggedIds flagged(flags);
  for (std::size_t d = 0; d < splits.size(); ++d) {
    const auto begin = static_cast<std::size_t>(offsets[d]);
    splits[d] = splits_of_document(ids.subspan(begin, static_cast<std::size_t>(offsets[d + 1]) - begin),
                                   flags, flagged);
  }
}

std::vector<std::uint8_t> utf8_flags(std::span<const std::uint8_t> data,
                                     std::span<const std::int64_t> offsets) {
  check_offsets(offsets, data.size(), "offsets");
  std::vector<std::uint8_t> flags(offsets.size() - 1);
  const auto continues = [](std::uint8_t byte) { return (byte & 0xC0) == 0x80; };
  for (std::size_t id = 0; id < flags.size(); ++id) {
    const auto begin = static_cast<std::size_t>(offsets[id]);
    const auto token = data.subspan(begin, static_cast<std::size_t>(offsets[id + 1]) - begin);
    if (token.empty())
      flags[id] = kEmptyToken;
    else if (continues(token[0]))
      flags[id] = std::ranges::all_of(token, continues) ? kStartsInsideCharacter | kOnlyContinuationBytes
                                                        : kStartsInsideCharacter;
  }
  return flags;
}

}  // namespace pyharness
