// The distinct pieces of a corpus and how often each occurs: what BPE is trained on.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/splitting/text_splitter.hpp"
#include "core/training/piece_table.hpp"

namespace pyharness {

// Piece i is bytes[offsets[i]:offsets[i + 1]] and occurs counts[i] times; in the order of their first
// occurrence.
struct CountedPieces {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> offsets;
  std::vector<std::uint64_t> counts;
};

// Counts a corpus that comes in batches of texts; the result does not depend on batches or threads. Callers
// on several threads take turns.
class PieceCounter {
 public:
  // `max_bytes` bounds what the distinct pieces take, once per thread that met them.
  PieceCounter(Splitter splitter, std::size_t max_bytes)
      : splitter_(checked(std::move(splitter))), budget_(max_bytes) {}

  // Throws std::length_error when the pieces take more than max_bytes. After that, or when memory ends, part
  // of the texts is counted: it and pieces() throw std::length_error from then on.
  void add(std::span<const std::string_view> texts, int threads);

  CountedPieces pieces();

 private:
  void check_whole() const;
  void count(std::string_view text, std::uint64_t begin, PieceTable& table) const;
  void count_all(std::span<const std::string_view> texts, std::span<const std::uint64_t> begins, int threads);

  Splitter splitter_;
  MemoryBudget budget_;
  std::mutex lock_;
  bool whole_ = true;  // nothing was left before its end
  std::uint64_t bytes_seen_ = 0;
  std::vector<PieceTable> tables_;  // one per thread
};

}  // namespace pyharness
