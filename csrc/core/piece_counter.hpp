// The distinct pieces of a corpus and how often each occurs: what BPE is trained on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/text_splitter.hpp"

namespace pyharness {

// Piece i is bytes[offsets[i]:offsets[i + 1]] and occurs counts[i] times; in the order of their first
// occurrence.
struct CountedPieces {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> offsets;
  std::vector<std::uint64_t> counts;
};

// An open hash of byte strings; every string has a count and the place where it was first seen.
class PieceTable {
 public:
  void add(std::string_view piece, std::uint64_t count, std::uint64_t place);

  struct Entry {
    std::uint64_t begin;  // in the bytes of all entries
    std::uint64_t count;
    std::uint64_t first;
    std::uint32_t length;
    std::uint32_t hash;
  };
  std::span<const Entry> entries() const { return entries_; }
  std::string_view piece(const Entry& entry) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + entry.begin, entry.length};
  }
  std::size_t memory() const;  // bytes held

 private:
  std::uint32_t& slot_of(std::string_view piece, std::uint32_t hash);
  void grow();

  std::vector<std::uint8_t> bytes_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(std::size_t{1} << 12);  // entry + 1; 0: free
};

// Counts a corpus that comes in batches of texts; the result does not depend on batches or threads.
class PieceCounter {
 public:
  // `max_bytes` bounds what the distinct pieces take.
  PieceCounter(SplitPattern pattern, std::size_t max_bytes) : pattern_(pattern), max_bytes_(max_bytes) {}

  // Throws std::length_error when the pieces take more than max_bytes; then nothing more can be counted.
  void add(std::span<const std::string_view> texts, int threads);

  CountedPieces pieces() const;

 private:
  SplitPattern pattern_;
  std::size_t max_bytes_;
  std::uint64_t bytes_seen_ = 0;
  std::vector<PieceTable> tables_;  // one per thread
};

}  // namespace pyharness
