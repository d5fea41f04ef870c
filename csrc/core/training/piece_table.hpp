// Byte strings with how often each occurs and where it was first seen: two open hashes, one of which holds
// its short strings in its slots.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "core/encoding/piece_key.hpp"
#include "core/machine/zeroed_pages.hpp"

namespace pyharness {

// What a key of 1 to 15 bytes was made of.
inline std::size_t key_length(const PieceKey& key) { return key.words[1] >> 56; }
inline std::array<char, PieceKey::kBytes> key_bytes(const PieceKey& key) {
  std::array<char, PieceKey::kBytes> bytes;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(bytes.data(), key.words.data(), bytes.size());
  } else {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<char>(key.words[i / 8] >> (8 * (i % 8)));
  }
  return bytes;
}

// Up to 15 bytes: 99 of 100 distinct pieces of English, and nearly all that occur.
class ShortPieces {
 public:
  using Key = PieceKey;
  struct Slot {
    Key key;
    std::uint64_t count;
    std::uint64_t first;
  };

  [[gnu::always_inline]] void add(const Key& key, std::uint64_t hash, std::uint64_t count,
                                  std::uint64_t place) {
    for (std::size_t at = hash >> shift_;; at = (at + 1) & (capacity() - 1)) {
      Slot& slot = slots_[at];
      if (((slot.key.words[0] ^ key.words[0]) | (slot.key.words[1] ^ key.words[1])) == 0) {
        slot.count += count;
        if (place < slot.first) [[unlikely]]
          slot.first = place;
        return;
      }
      if (slot.key.empty()) return insert({key, count, place}, hash);
    }
  }

  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash >> shift_], 1); }

  std::size_t size() const { return size_; }
  std::size_t memory() const { return capacity() * sizeof(Slot); }

  // As many slots as another table has: its pieces come in the order of their hashes, which in fewer slots
  // would make one long run of them (pieces of two threads took 20 times as long).
  void reserve_as(const ShortPieces& other) {
    while (capacity() < other.capacity()) grow();
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t at = 0; at < capacity(); ++at) {
      if (!slots_[at].key.empty()) visit(slots_[at]);
    }
  }

 private:
  static constexpr int kFirstBits = 12;
  static constexpr int kGrowthBits = 2;  // doubling maps and unmaps twice as often, which stops all threads

  std::size_t capacity() const { return std::size_t{1} << (64 - shift_); }
  void insert(const Slot& slot, std::uint64_t hash);
  void place(const Slot& slot, std::uint64_t hash);
  void grow();

  int shift_ = 64 - kFirstBits;
  std::size_t size_ = 0;
  std::unique_ptr<ZeroedPages> pages_ = std::make_unique<ZeroedPages>(sizeof(Slot) << kFirstBits);
  Slot* slots_ = static_cast<Slot*>(pages_->data());
};

// Any length.
class LongPieces {
 public:
  struct Entry {
    std::uint64_t begin;  // in the bytes of all entries
    std::uint64_t count;
    std::uint64_t first;
    std::uint32_t length;
    std::uint32_t hash;
  };

  // Throws std::length_error for a piece, or more of them, than 32 bits count.
  void add(std::string_view piece, std::uint64_t count, std::uint64_t place);

  const std::vector<Entry>& entries() const { return entries_; }
  std::string_view piece(const Entry& entry) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + entry.begin, entry.length};
  }
  std::size_t memory() const;

 private:
  std::uint32_t& slot_of(std::string_view piece, std::uint32_t hash);
  void grow();

  std::vector<std::uint8_t> bytes_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(std::size_t{1} << 8);  // entry + 1; 0: free
};

// What tables of several threads may take together.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t most) : most_(most) {}

  // Throws std::length_error when that is more than `most`.
  void take(std::size_t bytes);
  void give_back(std::size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> taken_{0};
};

// On lines of its own: tables of several threads lie side by side.
class alignas(128) PieceTable {
 public:
  // Throws std::length_error when the budget, which must outlive the table, is exceeded; what has been
  // allocated by then, the last doubling, is more than it.
  explicit PieceTable(MemoryBudget& budget) : budget_(&budget) { account(); }

  // `readable`: 16 bytes can be read at the piece. Counted at once or by the next flush().
  [[gnu::always_inline]] void add(std::string_view piece, bool readable, std::uint64_t place) {
    if (piece.size() > ShortPieces::Key::kLongest) [[unlikely]]
      return add_long(piece, 1, place);
    const auto key = short_key(piece.data(), piece.size(), readable);
    const std::uint64_t hash = key.hash();
    short_.prefetch(hash);
    waiting_[n_waiting_++] = {key, hash, place};
    if (n_waiting_ == waiting_.size()) flush();
  }

  void flush();
  void absorb(PieceTable&& other);  // both without anything that waits

  const ShortPieces& short_pieces() const { return short_; }
  const LongPieces& long_pieces() const { return long_; }
  std::size_t size() const { return short_.size() + long_.entries().size(); }

 private:
  struct Waiting {
    ShortPieces::Key key;
    std::uint64_t hash;
    std::uint64_t place;
  };

  void add_long(std::string_view piece, std::uint64_t count, std::uint64_t place);
  void account();

  MemoryBudget* budget_;
  std::size_t taken_ = 0;  // of the budget
  ShortPieces short_;
  LongPieces long_;
  // Slots come from memory while the text goes on being split: without, counting takes 1.4 times as long.
  std::array<Waiting, 64> waiting_;
  std::size_t n_waiting_ = 0;
};

}  // namespace pyharness
