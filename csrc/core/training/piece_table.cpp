#include "core/training/piece_table.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/model/merge_model.hpp"
#include "core/model/symbol_table.hpp"

namespace pyharness {

void ShortPieces::insert(const Slot& slot, std::uint64_t hash) {
  if (2 * size_ >= capacity()) grow();
  ++size_;
  place(slot, hash);
}

void ShortPieces::place(const Slot& slot, std::uint64_t hash) {
  std::size_t at = hash >> shift_;
  while (!slots_[at].key.empty()) at = (at + 1) & (capacity() - 1);
  slots_[at] = slot;
}

void ShortPieces::grow() {
  const std::size_t before = capacity();
  auto bigger = std::make_unique<ZeroedPages>(memory() << kGrowthBits);
  const auto old_pages = std::exchange(pages_, std::move(bigger));
  const Slot* const old = std::exchange(slots_, static_cast<Slot*>(pages_->data()));
  shift_ -= kGrowthBits;
  for (std::size_t at = 0; at < before; ++at) {
    if (!old[at].key.empty()) place(old[at], old[at].key.hash());
  }
}

std::uint32_t& LongPieces::slot_of(std::string_view piece, std::uint32_t hash) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    if (slots_[at] == 0) return slots_[at];
    const Entry& entry = entries_[slots_[at] - 1];
    if (entry.hash == hash && this->piece(entry) == piece) return slots_[at];
  }
}

void LongPieces::add(std::string_view piece, std::uint64_t count, std::uint64_t place) {
  const auto hash = static_cast<std::uint32_t>(hash_bytes(piece));
  std::uint32_t* slot = &slot_of(piece, hash);
  if (*slot != 0) {
    Entry& entry = entries_[*slot - 1];
    entry.count += count;
    entry.first = std::min(entry.first, place);
    return;
  }
  if (2 * entries_.size() >= slots_.size()) {
    grow();
    slot = &slot_of(piece, hash);
  }
  if (piece.size() > std::numeric_limits<std::uint32_t>::max() || entries_.size() >= kNever - 1)
    throw std::length_error("a piece of " + std::to_string(piece.size()) + " bytes after " +
                            std::to_string(entries_.size()) +
                            " distinct ones is too much: 2^32 are held of each");
  entries_.push_back({bytes_.size(), count, place, static_cast<std::uint32_t>(piece.size()), hash});
  bytes_.insert(bytes_.end(), piece.begin(), piece.end());
  *slot = static_cast<std::uint32_t>(entries_.size());
}

void LongPieces::grow() {
  slots_.assign(slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t at = entries_[i].hash & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

std::size_t LongPieces::memory() const {
  return bytes_.capacity() + entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(slots_[0]);
}

void MemoryBudget::take(std::size_t bytes) {
  if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes > most_)
    throw std::length_error("the distinct pieces take more than " + std::to_string(most_) +
                            " bytes: train on less text, or on a pattern with shorter pieces");
}

void PieceTable::account() {
  const std::size_t memory = short_.memory() + long_.memory();
  if (memory != taken_) budget_->take(memory - std::exchange(taken_, memory));
}

void PieceTable::flush() {
  for (std::size_t i = 0; i < n_waiting_; ++i)
    short_.add(waiting_[i].key, waiting_[i].hash, 1, waiting_[i].place);
  n_waiting_ = 0;
  account();
}

void PieceTable::add_long(std::string_view piece, std::uint64_t count, std::uint64_t place) {
  long_.add(piece, count, place);
  account();
}

void PieceTable::absorb(PieceTable&& other) {
  const PieceTable gone = std::move(other);
  budget_->give_back(gone.taken_);
  short_.reserve_as(gone.short_);
  gone.short_.for_each(
      [&](const ShortPieces::Slot& slot) { short_.add(slot.key, slot.key.hash(), slot.count, slot.first); });
  for (const auto& entry : gone.long_.entries()) long_.add(gone.long_.piece(entry), entry.count, entry.first);
  account();
}

}  // namespace pyharness
