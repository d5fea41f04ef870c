#include "core/piece_counter.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/parallel.hpp"
#include "core/symbol_table.hpp"

namespace pyharness {

std::uint32_t& PieceTable::slot_of(std::string_view piece, std::uint32_t hash) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    if (slots_[at] == 0) return slots_[at];
    const Entry& entry = entries_[slots_[at] - 1];
    if (entry.hash == hash && this->piece(entry) == piece) return slots_[at];
  }
}

void PieceTable::add(std::string_view piece, std::uint64_t count, std::uint64_t place) {
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

void PieceTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t at = entries_[i].hash & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

std::size_t PieceTable::memory() const {
  return bytes_.capacity() + entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(slots_[0]);
}

void PieceCounter::add(std::span<const std::string_view> texts, int threads) {
  check_threads(threads);
  std::vector<std::uint64_t> begins(texts.size() + 1, bytes_seen_);
  for (std::size_t t = 0; t < texts.size(); ++t) begins[t + 1] = begins[t] + texts[t].size();
  if (tables_.size() < static_cast<std::size_t>(threads)) tables_.resize(static_cast<std::size_t>(threads));
  const std::uint64_t share = (begins.back() - bytes_seen_) / static_cast<std::uint64_t>(threads) + 1;
  const std::size_t most = max_bytes_ / tables_.size();
  run_on_threads(threads, [&](int worker) {
    PieceTable& table = tables_[static_cast<std::size_t>(worker)];
    const std::uint64_t from = bytes_seen_ + share * static_cast<std::uint64_t>(worker);
    // The texts that begin in this thread's share of the bytes; the pieces of one text need its beginning.
    const auto first = std::lower_bound(begins.begin(), begins.end() - 1, from) - begins.begin();
    for (auto t = static_cast<std::size_t>(first); t < texts.size() && begins[t] < from + share; ++t) {
      const char* const text = texts[t].data();
      for_each_piece(pattern_, texts[t], [&](std::string_view piece) {
        table.add(piece, 1, begins[t] + static_cast<std::uint64_t>(piece.data() - text));
      });
      if (table.memory() > most)
        throw std::length_error("the distinct pieces take more than " + std::to_string(max_bytes_) +
                                " bytes: train on less text, or on a pattern with shorter pieces");
    }
  });
  bytes_seen_ = begins.back();
}

CountedPieces PieceCounter::pieces() const {
  PieceTable all;
  for (const PieceTable& table : tables_) {
    for (const auto& entry : table.entries()) all.add(table.piece(entry), entry.count, entry.first);
  }
  std::vector<std::size_t> order(all.entries().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return all.entries()[a].first < all.entries()[b].first; });
  CountedPieces found;
  found.offsets.push_back(0);
  for (const std::size_t index : order) {
    const std::string_view piece = all.piece(all.entries()[index]);
    found.bytes.insert(found.bytes.end(), piece.begin(), piece.end());
    found.offsets.push_back(static_cast<std::int64_t>(found.bytes.size()));
    found.counts.push_back(all.entries()[index].count);
  }
  return found;
}

}  // namespace pyharness
