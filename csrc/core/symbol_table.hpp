// Byte strings of a vocabulary -> id, for models in the ranks form. An open hash over the caller's own bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/merge_model.hpp"

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

// Only ids that take part are in the table. Of ids with equal bytes the lowest rank wins, then the lowest id: the first
// rule wins, as with duplicate rules.
class SymbolTable {
 public:
  struct Found {
    std::uint32_t id = kNever;
    std::uint32_t rank = kNever;
  };

  explicit SymbolTable(const MergeModel& model);

  // The id of exactly these bytes and its rank; {kNever, kNever} when there is none. An atomic id that no merge
  // produces is found with rank kNever.
  Found find(std::string_view bytes) const {
    if (bytes.size() == 2) return pairs_[pair_index(bytes)];
    if (bytes.size() > longest_) return {};
    const std::uint64_t hash = hash_bytes(bytes);
    for (std::size_t at = hash & mask_; slots_[at].entry != kNever; at = (at + 1) & mask_) {
      const Slot slot = slots_[at];
      if (slot.tag == tag_of(hash) && matches(entries_[slot.entry], bytes)) {
        return {slot.entry, entries_[slot.entry].rank};
      }
    }
    return {};
  }

 private:
  struct Slot {
    std::uint32_t tag;
    std::uint32_t entry;  // an id, or kNever
  };
  // Strings of up to eight bytes are compared without touching the data of the vocabulary.
  struct Entry {
    std::uint64_t packed_or_start;
    std::uint32_t length;
    std::uint32_t rank;
  };

  static std::size_t pair_index(std::string_view bytes) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[0])) << 8 | static_cast<unsigned char>(bytes[1]);
  }
  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  bool matches(const Entry& entry, std::string_view bytes) const {
    if (entry.length != bytes.size()) return false;
    if (bytes.size() <= 8) return entry.packed_or_start == pack_bytes(bytes.data(), bytes.size());
    return std::memcmp(data_ + entry.packed_or_start, bytes.data(), bytes.size()) == 0;
  }

  void insert(std::uint32_t id, std::string_view bytes);

  const char* data_;
  std::size_t longest_ = 0;
  std::size_t mask_ = 0;
  std::vector<Slot> slots_;
  std::vector<Entry> entries_;  // by id
  std::vector<Found> pairs_;    // strings of two bytes: the first merge of nearly every piece
};

}  // namespace pyharness
