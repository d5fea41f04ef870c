#include "core/encoding/piece_cache.hpp"

#include <algorithm>
#include <bit>

namespace pyharness {

std::size_t CacheRecords::add(const Record& record) {
  const std::size_t length = words(record);
  // Nothing is taken that is not used: giving it back could hand out a record that another thread got
  // meanwhile.
  std::size_t place = used_.load(std::memory_order_relaxed);
  do {
    if (place + length > size_) return kNone;
  } while (!used_.compare_exchange_weak(place, place + length, std::memory_order_relaxed));
  auto* const to = static_cast<std::uint32_t*>(pages_.data()) + place;
  to[0] = static_cast<std::uint32_t>(record.ids.size());
  to[1] = static_cast<std::uint32_t>(record.piece.size());
  std::copy(record.ids.begin(), record.ids.end(), to + 2);
  std::copy(record.piece.begin(), record.piece.end(), reinterpret_cast<char*>(to + 2 + record.ids.size()));
  return place;
}

CacheRecords::Record CacheRecords::at(std::size_t place) const {
  const auto* const from = static_cast<const std::uint32_t*>(pages_.data()) + place;
  return {{reinterpret_cast<const char*>(from + 2 + from[0]), from[1]}, {from + 2, from[0]}};
}

CacheTable::CacheTable(int slot_bits, std::shared_ptr<CacheRecords> records)
    : shift_(64 - slot_bits),
      pages_(sizeof(CacheSlot) << slot_bits),
      slots_(static_cast<CacheSlot*>(pages_.data())),
      records_(std::move(records)) {}

const CacheSlot* CacheTable::find(const PieceKey& key, std::string_view piece) const {
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const CacheSlot* const slot = probed(key, probe);
    const std::uint64_t last = slot->last();
    if (is_of(*slot, last, key, piece)) return slot;
    if (last == 0) return nullptr;
  }
  return nullptr;
}

CacheTable::Inserted CacheTable::insert(const PieceKey& key, std::string_view piece,
                                        std::span<const std::uint32_t> ids) {
  if (used_.load(std::memory_order_relaxed) >= size() / 8 * 5) return {nullptr, true};
  std::array<std::uint64_t, 2> words{};
  if (key.is_short() && ids.size() <= CacheSlot::kInline) {
    if (!ids.empty()) std::memcpy(words.data(), ids.data(), ids.size_bytes());
    return {put(key, piece, ids.size(), words), false};
  }
  const CacheRecords::Record record{key.is_short() ? std::string_view() : piece, ids};
  if (!records_->can_hold(record)) return {nullptr, false};
  words[0] = records_->add(record);
  if (words[0] != CacheRecords::kNone) return {put(key, piece, CacheSlot::kInRecord, words), false};
  records_full_.store(true, std::memory_order_relaxed);
  return {nullptr, true};
}

const CacheSlot* CacheTable::put(const PieceKey& key, std::string_view piece, std::uint64_t count,
                                 const std::array<std::uint64_t, 2>& ids) {
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    CacheSlot& slot = *probed(key, probe);
    std::uint64_t free = 0;
    if (!slot.key[1].compare_exchange_strong(free, CacheSlot::kClaimed, std::memory_order_relaxed)) {
      if (is_of(slot, slot.last(), key, piece)) return &slot;
      continue;
    }
    used_.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < 2; ++i) slot.ids[i].store(ids[i], std::memory_order_relaxed);
    slot.key[0].store(key.words[0], std::memory_order_relaxed);
    slot.key[1].store(key.words[1] | count << (64 - CacheSlot::kCountBits), std::memory_order_release);
    return &slot;
  }
  return nullptr;
}

std::shared_ptr<CacheTable> CacheTable::copied_to(int slot_bits) const {
  auto bigger = std::make_shared<CacheTable>(slot_bits, records_);
  for (const CacheSlot* slot = slots_; slot != slots_ + size(); ++slot) {
    const std::uint64_t last = slot->last();
    if (last > CacheSlot::kClaimed) bigger->put_alone(*slot, last);
  }
  return bigger;
}

// While no other thread has the table; the piece is not in it.
void CacheTable::put_alone(const CacheSlot& from, std::uint64_t last) {
  const PieceKey key{
      {from.key[0].load(std::memory_order_relaxed), last << CacheSlot::kCountBits >> CacheSlot::kCountBits}};
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    CacheSlot& slot = *probed(key, probe);
    if (slot.key[1].load(std::memory_order_relaxed) != 0) continue;
    used_.store(used_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < 2; ++i)
      slot.ids[i].store(from.ids[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    slot.key[0].store(key.words[0], std::memory_order_relaxed);
    slot.key[1].store(last, std::memory_order_relaxed);
    return;
  }
}

PieceCache::PieceCache(std::size_t bytes, std::size_t expected) {
  constexpr std::size_t kLeast = 1 << 14;
  constexpr int kFirstBits = 10;      // what a short text touches
  constexpr std::size_t kSpread = 4;  // fewer pieces find their place taken; against 2 faster on code
  bytes = std::max(bytes, kLeast);
  bytes_ = bytes;
  record_bytes_ = bytes / 8 * 3;  // 18 MB of multilingual text take 17 MB of records
  most_bits_ = static_cast<int>(std::bit_width(bytes / 2 / sizeof(CacheSlot))) - 1;
  const int wanted = has_room_for(expected) ? static_cast<int>(std::bit_width(kSpread * expected)) : 0;
  table_ = empty_table(std::min(most_bits_, std::max(kFirstBits, wanted)));
}

std::shared_ptr<CacheTable> PieceCache::empty_table(int slot_bits) const {
  return std::make_shared<CacheTable>(slot_bits, std::make_shared<CacheRecords>(record_bytes_));
}

// One thread makes it; others go on with what there is.
void PieceCache::make_room(std::uint64_t turn) {
  const std::unique_lock hold(lock_, std::try_to_lock);
  if (!hold || turn_.load(std::memory_order_relaxed) != turn) return;
  constexpr int kGrowth = 1;  // bits
  const int slot_bits = std::min(most_bits_, table_->slot_bits() + kGrowth);
  // Both tables are there for a while.
  const bool grows = slot_bits > table_->slot_bits() && !table_->records_are_full() &&
                     table_->bytes() + (sizeof(CacheSlot) << slot_bits) <= bytes_;
  table_ = grows ? table_->copied_to(slot_bits) : empty_table(most_bits_);
  turn_.store(turn + 1, std::memory_order_relaxed);
}

std::size_t PieceCache::bytes() const {
  const std::lock_guard hold(lock_);
  return table_->bytes();
}

}  // namespace pyharness
