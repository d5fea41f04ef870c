// Merges at most 63 bytes: small arrays, no queue, hardly a branch that depends on the bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "core/merging/piece_merger/characters.hpp"
#include "core/merging/piece_merger/pairs.hpp"

namespace pyharness {

// Symbols stand at positions 1..count, between two that merge with nothing. Keys are kept per position: what
// the symbol there makes with the next one, times 64, plus the position, so that the least key is the lowest
// rank and then the leftmost position. Of eight keys at a time the least is remembered.
class MergingWindow {
 public:
  static constexpr std::size_t kSize = 63;

  // 1 <= bytes.size() <= kSize.
  void merge(const PairTable& pairs, const CharacterSymbols& characters, std::string_view bytes) {
    load(pairs, characters, bytes);
    while (begin_merge(pairs)) end_merge(pairs);
  }

  // merge() in steps, with time between them for the memory to come that the next step looks at: load(), then
  // end_merge() as long as begin_merge() is true.
  void load(const PairTable& pairs, const CharacterSymbols& characters, std::string_view bytes) {
    // Copied and filled whole: a few vector moves instead of loops of unknown length.
    next_ = kUnmerged.next;
    previous_ = kUnmerged.previous;
    keys_.fill(kNoKey);
    end_ = 1;
    for (std::size_t i = 0; i < bytes.size();) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      if (byte >= 0x80) {
        const CharacterSymbols::Found character = characters.find(bytes, i);
        if (character.length > 0) {
          symbols_[end_] = character.symbols[0];
          symbols_[end_ + 1] = character.symbols[1];
          end_ += character.symbols[1] == PairTable::kNoSymbol ? 1 : 2;
          i += character.length;
          continue;
        }
      }
      symbols_[end_++] = byte;
      ++i;
    }
    symbols_[0] = symbols_[end_] = PairTable::kNoSymbol;
    groups_ = (end_ - 1) / kGroup + 1;
    for (std::size_t at = 1; at + 1 < end_; ++at)
      keys_[at] = key_of(pairs.find(symbols_[at], symbols_[at + 1]), at);
    for (std::size_t group = 0; group < groups_; ++group) note_least(group);
  }

  bool begin_merge(const PairTable& pairs) {
    const std::uint32_t best = least();
    if (best >= kNoKey) return false;
    const std::uint32_t result = best / kPositions;
    const std::size_t left = best % kPositions;
    const std::size_t right = next_[left];
    const std::size_t next = next_[right];
    const std::size_t previous = previous_[left];
    symbols_[left] = result;
    next_[left] = static_cast<std::uint8_t>(next);
    previous_[next] = static_cast<std::uint8_t>(left);
    keys_[right] = kNoKey;
    merge_ = {left, right, previous, pairs.query(result, symbols_[next]),
              pairs.query(symbols_[previous], result)};
    pairs.prefetch(merge_.with_next);
    pairs.prefetch(merge_.with_previous);
    return true;
  }

  void end_merge(const PairTable& pairs) {
    const auto [left, right, previous, with_next, with_previous] = merge_;
    keys_[left] = key_of(pairs.find(with_next), left);
    keys_[previous] = key_of(pairs.find(with_previous), previous);
    note_least(left / kGroup);
    if (right / kGroup != left / kGroup) note_least(right / kGroup);
    if (previous / kGroup != left / kGroup) note_least(previous / kGroup);
  }

  // Calls sink(symbol) from left to right.
  template <class Sink>
  void for_each(Sink&& sink) const {
    for (std::size_t at = 1; at != end_; at = next_[at]) sink(symbols_[at]);
  }

 private:
  static constexpr std::size_t kPositions = 64;
  static constexpr std::size_t kGroup = 8;
  static constexpr std::uint32_t kNoKey = PairTable::kNoMerge * kPositions;

  static std::uint32_t key_of(std::uint32_t result, std::size_t position) {
    return result * static_cast<std::uint32_t>(kPositions) + static_cast<std::uint32_t>(position);
  }

  std::uint32_t least() const {
    std::uint32_t best = least_[0];
    for (std::size_t group = 1; group < groups_; ++group) best = std::min(best, least_[group]);
    return best;
  }

  void note_least(std::size_t group) {
    const std::uint32_t* keys = keys_.data() + group * kGroup;
    least_[group] = std::min(std::min(std::min(keys[0], keys[1]), std::min(keys[2], keys[3])),
                             std::min(std::min(keys[4], keys[5]), std::min(keys[6], keys[7])));
  }

  using Positions = std::array<std::uint8_t, kSize + 2>;
  struct Links {
    Positions next{}, previous{};
    constexpr Links() {
      for (std::uint8_t at = 0; at < kSize + 2; ++at) {
        next[at] = static_cast<std::uint8_t>(at + 1);
        previous[at] = static_cast<std::uint8_t>(at - 1);
      }
    }
  };
  static const Links kUnmerged;

  struct Merge {  // that was begun
    std::size_t left, right, previous;
    PairTable::Query with_next, with_previous;
  };

  Merge merge_;
  std::size_t end_ = 1;
  std::size_t groups_ = 1;
  std::array<std::uint32_t, kPositions> keys_;
  std::array<std::uint32_t, kPositions / kGroup> least_;
  std::array<std::uint32_t, kSize + 2> symbols_;
  Positions next_;
  Positions previous_;
};

inline constexpr MergingWindow::Links MergingWindow::kUnmerged{};

}  // namespace pyharness
