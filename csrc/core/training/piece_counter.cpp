#include "core/training/piece_counter.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/machine/parallel.hpp"
#include "core/machine/radix_sort.hpp"

namespace pyharness {
namespace {

// The pieces of a table with their numbers, short ones first, in the order of first occurrence.
std::vector<KeyedRow> in_order(const PieceTable& table, std::vector<const ShortPieces::Slot*>& short_pieces) {
  std::vector<KeyedRow> rows;  // first occurrence, number
  rows.reserve(table.size());
  short_pieces.reserve(table.short_pieces().size());
  table.short_pieces().for_each([&](const ShortPieces::Slot& slot) {
    rows.push_back({slot.first, short_pieces.size()});
    short_pieces.push_back(&slot);
  });
  for (const auto& entry : table.long_pieces().entries()) rows.push_back({entry.first, rows.size()});
  std::vector<KeyedRow> spare;
  if (!rows.empty()) sort_by_key(rows, spare);
  return rows;
}

std::uint64_t bytes_in(const PieceTable& table) {
  std::uint64_t total = 0;
  table.short_pieces().for_each([&](const ShortPieces::Slot& slot) { total += key_length(slot.key); });
  for (const auto& entry : table.long_pieces().entries()) total += entry.length;
  return total;
}

CountedPieces pieces_of(const PieceTable& table) {
  constexpr std::size_t kAhead = 16;  // slots are read all over the table
  std::vector<const ShortPieces::Slot*> short_pieces;
  const std::vector<KeyedRow> rows = in_order(table, short_pieces);
  CountedPieces pieces;
  pieces.offsets.reserve(rows.size() + 1);
  pieces.counts.reserve(rows.size());
  pieces.offsets.push_back(0);
  pieces.bytes.resize(bytes_in(table) + ShortPieces::Key::kBytes);  // a key is written whole
  std::uint8_t* to = pieces.bytes.data();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t number = rows[i].count;
    if (const std::size_t next = rows[std::min(i + kAhead, rows.size() - 1)].count;
        next < short_pieces.size())
      __builtin_prefetch(short_pieces[next]);
    if (number < short_pieces.size()) {
      const ShortPieces::Slot& slot = *short_pieces[number];
      const auto bytes = key_bytes(slot.key);
      std::memcpy(to, bytes.data(), bytes.size());
      to += key_length(slot.key);
      pieces.counts.push_back(slot.count);
    } else {
      const auto& entry = table.long_pieces().entries()[number - short_pieces.size()];
      to = std::copy_n(table.long_pieces().piece(entry).data(), entry.length, to);
      pieces.counts.push_back(entry.count);
    }
    pieces.offsets.push_back(to - pieces.bytes.data());
  }
  pieces.bytes.resize(static_cast<std::size_t>(pieces.offsets.back()));
  return pieces;
}

}  // namespace

void PieceCounter::count(std::string_view text, std::uint64_t begin, PieceTable& table) const {
  const char* const start = text.data();
  const bool any_readable = text.size() >= ShortPieces::Key::kBytes;
  const char* const last_readable = start + (any_readable ? text.size() - ShortPieces::Key::kBytes : 0);
  for_each_piece(splitter_, text, [&](std::string_view piece) {
    table.add(piece, any_readable && piece.data() <= last_readable,
              begin + static_cast<std::uint64_t>(piece.data() - start));
  });
}

void PieceCounter::check_whole() const {
  if (!whole_)
    throw std::length_error("counting the distinct pieces has failed before; count them with a new counter");
}

void PieceCounter::count_all(std::span<const std::string_view> texts, std::span<const std::uint64_t> begins,
                             int threads) {
  // Small beside a batch, so that a slow core takes fewer of them, and large beside what taking one costs.
  constexpr std::uint64_t kShare = 1 << 16;
  std::atomic<std::uint64_t> next{begins.front()};
  run_on_threads(threads, [&](int worker) {
    PieceTable& table = tables_[static_cast<std::size_t>(worker)];
    for (auto from = next.fetch_add(kShare); from <= begins.back(); from = next.fetch_add(kShare)) {
      // The texts that begin in this share of the bytes; the pieces of one text need its beginning.
      const auto first = std::lower_bound(begins.begin(), begins.end() - 1, from) - begins.begin();
      for (auto t = static_cast<std::size_t>(first); t < texts.size() && begins[t] < from + kShare; ++t)
        count(texts[t], begins[t], table);
    }
    table.flush();
  });
}

void PieceCounter::add(std::span<const std::string_view> texts, int threads) {
  check_threads(threads);
  const std::lock_guard hold(lock_);
  check_whole();
  std::vector<std::uint64_t> begins(texts.size() + 1, bytes_seen_);
  for (std::size_t t = 0; t < texts.size(); ++t) begins[t + 1] = begins[t] + texts[t].size();
  whole_ = false;
  while (tables_.size() < static_cast<std::size_t>(threads)) tables_.emplace_back(budget_);
  count_all(texts, begins, threads);
  bytes_seen_ = begins.back();
  whole_ = true;
}

CountedPieces PieceCounter::pieces() {
  const std::lock_guard hold(lock_);
  check_whole();
  if (tables_.empty()) return {{}, {0}, {}};
  whole_ = false;
  for (; tables_.size() > 1; tables_.pop_back()) tables_.front().absorb(std::move(tables_.back()));
  whole_ = true;
  return pieces_of(tables_.front());
}

}  // namespace pyharness
