// Byte strings of a vocabulary -> id, for models in the ranks form. An open hash over the caller's own bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/model/merge_model.hpp"

namespace pyharness {

// Packs up to eight bytes into one word, first byte lowest on every machine.
inline std::uint64_t pack_bytes(const char* bytes, std::size_t length) {
  std::uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    // Two overlapping loads instead of a loop: most symbols are 3 to 8 bytes long.
    if (length >= 4) {
      std::uint32_t low = 0, high = 0;
      std::memcpy(&low, bytes, 4);
      std::memcpy(&high, bytes + length - 4, 4);
      return low | static_cast<std::uint64_t>(high) << (8 * (length - 4));
    }
  }
  for (std::size_t i = 0; i < length; ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return word;
}

inline std::uint64_t mix_word(std::uint64_t word) {
  word *= 0x9E3779B97F4A7C15u;
  word ^= word >> 32;
  word *= 0xD6E8FEB86659FD93u;
  return word ^ word >> 29;
}

inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = bytes.size() * 0xC2B2AE3D27D4EB4Fu;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left > 8; left -= 8, at += 8) hash = mix_word(hash ^ pack_bytes(at, 8));
  return mix_word(hash ^ pack_bytes(at, left));
}

// Only ids that take part are in the table. Of ids with equal bytes the lowest rank wins, then the lowest id:
// the first rule wins, as with duplicate rules.
class SymbolTable {
 public:
  struct Found {
    std::uint32_t id = kNever;
    std::uint32_t rank = kNever;
  };

  explicit SymbolTable(const MergeModel& model);

  // The id of exactly these bytes and its rank; {kNever, kNever} when there is none. An atomic id that no
  // merge produces is found with rank kNever.
  Found find(std::string_view bytes) const {
    if (bytes.size() == 2) return pairs_[pair_index(bytes)];
    if (bytes.empty() || bytes.size() > longest_) return {};
    const Key key = key_of(bytes);
    return may_hold(key) ? slots_[locate(key, bytes)].found : Found{};
  }

  // Asks for the memory that find(bytes) will read.
  void prefetch(std::string_view bytes) const {
    if (bytes.size() > 2) __builtin_prefetch(&slots_[key_of(bytes).hash & mask_]);
  }

 private:
  // `exact` tells strings of up to seven bytes apart by itself: the bytes, and the length on top. Of longer
  // ones it is a hash with 255 on top, and the bytes are compared.
  struct Key {
    std::uint64_t exact;
    std::uint64_t hash;
  };
  struct Slot {
    std::uint64_t exact = 0;  // 0: free
    Found found;
  };
  static constexpr std::size_t kExactLength = 7;
  static constexpr std::uint64_t kLong = std::uint64_t{255} << 56;

  static Key key_of(std::string_view bytes) {
    if (bytes.size() > kExactLength) {
      const std::uint64_t hash = hash_bytes(bytes);
      return {hash | kLong, hash};
    }
    const std::uint64_t exact = pack_bytes(bytes.data(), bytes.size()) | std::uint64_t{bytes.size()} << 56;
    return {exact, mix_word(exact)};
  }

  static std::size_t pair_index(std::string_view bytes) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[0])) << 8 |
           static_cast<unsigned char>(bytes[1]);
  }

  // Many strings that merging asks about are in no vocabulary. One bit per string, at least eight per entry,
  // answers most such questions from a quarter of a megabyte instead of a miss in a table of several.
  bool may_hold(Key key) const {
    const std::uint64_t bit = key.hash >> 32 & filter_mask_;
    return filter_[bit / 64] >> bit % 64 & 1;
  }

  // The slot of these bytes, or the free one where they would go.
  std::size_t locate(Key key, std::string_view bytes) const {
    std::size_t at = key.hash & mask_;
    while (slots_[at].exact != 0 && !holds(slots_[at], key, bytes)) at = (at + 1) & mask_;
    return at;
  }

  bool holds(const Slot& slot, Key key, std::string_view bytes) const {
    return slot.exact == key.exact && (bytes.size() <= kExactLength || model_.bytes(slot.found.id) == bytes);
  }

  void insert(std::string_view bytes, Found found);

  MergeModel model_;
  std::size_t longest_ = 0;
  std::size_t mask_ = 0;
  std::uint64_t filter_mask_ = 0;
  std::vector<std::uint64_t> filter_;
  std::vector<Slot> slots_;
  std::vector<Found> pairs_;  // strings of two bytes: the first merge of nearly every piece
};

}  // namespace pyharness
