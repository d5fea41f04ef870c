// What pieces were encoded to: a bounded memory that threads share without locks.
//
// An open hash of slots that are written once and never changed, so a reader that finds its key finds its
// ids. A full table is copied to a bigger one; where the bound forbids that, everything is forgotten.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "core/encoding/piece_key.hpp"
#include "core/machine/zeroed_pages.hpp"

namespace pyharness {

// Half a cache line.
struct CacheSlot {
  static constexpr std::size_t kInline = 4;     // ids
  static constexpr std::uint64_t kClaimed = 1;  // a last word that no key has

  std::atomic<std::uint64_t> key[2];  // the last word is written last; on top the number of ids, or kInRecord
  std::atomic<std::uint64_t> ids[2];  // or where the record is

  static constexpr int kCountBits = 4;
  static constexpr std::size_t kInRecord = 15;

  std::uint64_t last() const { return key[1].load(std::memory_order_acquire); }
  static std::size_t count(std::uint64_t last_word) { return last_word >> (64 - kCountBits); }

  bool holds(const PieceKey& wanted, std::uint64_t last_word) const {
    const std::uint64_t different = (key[0].load(std::memory_order_relaxed) ^ wanted.words[0]) |
                                    (last_word ^ wanted.words[1]) << kCountBits;
    return different == 0;
  }

  // Writes kInline ids, of which the slot may hold fewer.
  void copy_inline(std::uint32_t* to) const {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::uint64_t pair = ids[i].load(std::memory_order_relaxed);
      std::memcpy(to + 2 * i, &pair, sizeof pair);
    }
  }
};

// Ids that a slot has no room for, and the bytes of long pieces.
class CacheRecords {
 public:
  struct Record {
    std::string_view piece;  // empty for short pieces
    std::span<const std::uint32_t> ids;
  };

  explicit CacheRecords(std::size_t bytes) : pages_(bytes), size_(bytes / sizeof(std::uint32_t)) {}

  bool can_hold(const Record& record) const { return words(record) < size_ / 16; }

  // Where it is, or kNone.
  std::size_t add(const Record& record);
  Record at(std::size_t place) const;
  void prefetch(std::size_t place) const {
    __builtin_prefetch(static_cast<const std::uint32_t*>(pages_.data()) + place);
  }

  std::size_t bytes() const { return used_.load(std::memory_order_relaxed) * sizeof(std::uint32_t); }

  static constexpr std::size_t kNone = ~std::size_t{0};

 private:
  static std::size_t words(const Record& record) {
    return 2 + record.ids.size() + (record.piece.size() + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
  }

  ZeroedPages pages_;
  std::size_t size_;
  std::atomic<std::size_t> used_{0};
};

class CacheTable {
 public:
  CacheTable(int slot_bits, std::shared_ptr<CacheRecords> records);

  const CacheSlot* home(const PieceKey& key) const { return slots_ + (key.hash() >> shift_); }

  // The slot of a piece, or nullptr.
  const CacheSlot* find(const PieceKey& key, std::string_view piece) const;
  CacheRecords::Record record(const CacheSlot& slot) const {
    return records_->at(slot.ids[0].load(std::memory_order_relaxed));
  }

  void prefetch_record(const CacheSlot& slot) const {
    records_->prefetch(slot.ids[0].load(std::memory_order_relaxed));
  }

  // Keeps the ids of a piece. It may be there twice, when threads meet.
  struct Inserted {
    const CacheSlot* slot;  // where it is now, or nullptr
    bool is_full;           // the table, or its records
  };
  Inserted insert(const PieceKey& key, std::string_view piece, std::span<const std::uint32_t> ids);

  // One with the pieces of this one, and the same records.
  std::shared_ptr<CacheTable> copied_to(int slot_bits) const;

  int slot_bits() const { return 64 - shift_; }
  bool records_are_full() const { return records_full_.load(std::memory_order_relaxed); }
  std::size_t bytes() const { return size() * sizeof(CacheSlot) + records_->bytes(); }

 private:
  static constexpr std::size_t kProbes = 16;

  std::size_t size() const { return std::size_t{1} << slot_bits(); }
  // The second probe is in the cache line of the first, the next two are in the line beside it.
  CacheSlot* probed(const PieceKey& key, std::size_t probe) const {
    return slots_ + ((key.hash() >> shift_) ^ probe);
  }
  bool is_of(const CacheSlot& slot, std::uint64_t last, const PieceKey& key, std::string_view piece) const {
    return slot.holds(key, last) && (key.is_short() || record(slot).piece == piece);
  }
  const CacheSlot* put(const PieceKey& key, std::string_view piece, std::uint64_t count,
                       const std::array<std::uint64_t, 2>& ids);
  void put_alone(const CacheSlot& from, std::uint64_t last);

  int shift_;
  ZeroedPages pages_;
  CacheSlot* slots_;
  std::shared_ptr<CacheRecords> records_;
  std::atomic<std::size_t> used_{0};
  std::atomic<bool> records_full_{false};
};

class PieceCache {
 public:
  // Longer ones are not kept: they hardly come again.
  static constexpr std::size_t kLongest = 255;

  // What a thread looks at; it keeps the table alive, so it is refreshed often and dropped after a call.
  struct View {
    std::shared_ptr<CacheTable> table;
    std::uint64_t turn = 0;
  };

  // `bytes` is a bound (but a little is always taken); room for `expected` pieces is taken at once.
  PieceCache(std::size_t bytes, std::size_t expected);

  void refresh(View& view) const {
    if (view.table && view.turn == turn_.load(std::memory_order_relaxed)) return;
    const std::lock_guard hold(lock_);
    view = {table_, turn_.load(std::memory_order_relaxed)};
  }

  // The slot of the piece in the table of the view, or nullptr where it was not kept.
  const CacheSlot* insert(const View& view, const PieceKey& key, std::string_view piece,
                          std::span<const std::uint32_t> ids) {
    const auto [slot, is_full] = view.table->insert(key, piece, ids);
    if (is_full) make_room(view.turn);
    return slot;
  }

  bool has_room_for(std::size_t pieces) const { return pieces <= (std::size_t{1} << most_bits_) / 4; }
  std::size_t bytes() const;

 private:
  void make_room(std::uint64_t turn);
  std::shared_ptr<CacheTable> empty_table(int slot_bits) const;

  std::size_t bytes_, record_bytes_;
  int most_bits_;
  mutable std::mutex lock_;
  std::shared_ptr<CacheTable> table_;
  std::atomic<std::uint64_t> turn_{0};
};

}  // namespace pyharness
