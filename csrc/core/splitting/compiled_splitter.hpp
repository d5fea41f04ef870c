// Split patterns as tables: pyharness/vocabularies/patterns makes them of regular expressions. A
// deterministic automaton over classes of characters gives the pieces that a backtracking engine would, in
// one pass over the text: where a match ends and another begins, one transition does both.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/splitting/characters.hpp"

namespace pyharness {

// What of a text a step leaves out.
enum class Removed : std::uint8_t { kNothing, kMatches, kGaps };

// entries[row * symbols + symbol]: the next row << 3 and flags. The last two symbols are the end of the text
// and a newline that ends it. Row 0 stands for failure, 1 is where a piece starts, 2 is text that no match
// has.
struct SplitTable {
  std::vector<std::uint16_t> blocks;  // of classes, for every 64 code points; none: the classes are of bytes
  std::vector<std::uint8_t> classes;
  std::vector<std::uint32_t> entries;
  std::uint32_t symbols = 0;
  bool last_newline = false;  // whether a newline that ends the text is another symbol than one inside
  Removed removed = Removed::kNothing;
};

// One pattern. Whatever the table holds, no index leaves it, pieces are never empty, and every call ends.
class CompiledStep {
 public:
  // Throws std::invalid_argument unless every number of the table is in range.
  explicit CompiledStep(SplitTable table);

  Removed removed() const { return table_.removed; }

  // Whether a piece of such bytes alone is cut no further, and kept.
  const std::array<bool, 256>& quiet() const { return quiet_; }

  // Calls sink(piece, is_gap) for every piece in turn: never empty, together the whole text. A gap is text
  // that no match has. Throws std::invalid_argument where the pattern goes back over the text without end.
  template <class Sink>
  void for_each(std::string_view text, Sink&& sink) const {
    if (text.empty()) return;
    if (table_.blocks.empty())
      run<true>(text, sink);
    else
      run<false>(text, sink);
  }

 private:
  enum Row : std::uint32_t { kFails, kStart, kGap, kRows };
  enum Flag : std::uint32_t { kMatched = 1, kCut = 2, kLeavesGap = 4 };
  static constexpr int kFlagBits = 3;
  static constexpr std::size_t kEnds = 256;  // of pieces, given to the sink together

  struct Symbol {
    std::uint32_t number;
    std::uint32_t length;  // bytes
  };
  // Twice the place where a piece ends, and one more where it is a gap.
  using Ends = std::array<std::size_t, kEnds + 2>;

  void check_rows() const;
  void check_entry(std::size_t row, std::size_t symbol) const;
  void find_quiet_bytes();
  [[noreturn]] static void throw_too_slow();

  template <bool kBytes, class Sink>
  void run(std::string_view text, Sink& sink) const;
  template <bool kBytes>
  Symbol symbol_at(const split::Byte* at, const split::Byte* end) const;
  // Gives the pieces up to the last end, or up to the one before it, which may be taken back.
  template <class Sink>
  static std::size_t give(const char* text, Ends& ends, std::size_t size, std::size_t kept, Sink& sink);

  SplitTable table_;                         // rows in its entries are multiplied by the number of symbols
  std::array<std::uint8_t, 256> of_byte_{};  // classes of ASCII, or of all bytes
  std::array<bool, 256> quiet_{};
  bool gap_is_quiet_ = false;  // text is mostly gaps: bytes that go on with one are passed over together
};

template <bool kBytes>
[[gnu::always_inline]] inline CompiledStep::Symbol CompiledStep::symbol_at(const split::Byte* at,
                                                                           const split::Byte* end) const {
  if (kBytes || *at < 0x80) return {of_byte_[*at], 1};
  const auto class_of = [this](std::uint32_t block, std::uint32_t last_byte) -> std::uint32_t {
    return table_.classes[std::size_t{table_.blocks[block]} * split::kBlock + (last_byte & 0x3F)];
  };
  if (std::endian::native == std::endian::little && end - at >= 4) {
    std::uint32_t word;
    std::memcpy(&word, at, sizeof word);
    if ((word & 0xC0E0) == 0x80C0 && (word & 0x1E) != 0) return {class_of(word & 0x1F, word >> 8), 2};
    const std::uint32_t block = (word & 0xF) << 6 | (word >> 8 & 0x3F);
    if ((word & 0xC0C0F0) == 0x8080E0 && !split::is_overlong_or_surrogate(block))
      return {class_of(block, word >> 16), 3};
  }
  const split::Decoded point = split::checked_code_point(at, end);
  return {class_of(point.block, point.last_byte), point.length};
}

template <class Sink>
[[gnu::noinline]] std::size_t CompiledStep::give(const char* text, Ends& ends, std::size_t size,
                                                 std::size_t kept, Sink& sink) {
  for (std::size_t i = 1; i + kept <= size; ++i) {
    const std::size_t begin = ends[i - 1] >> 1, end = ends[i] >> 1;
    sink(std::string_view(text + begin, end - begin), (ends[i] & 1) != 0);
  }
  for (std::size_t i = 0; i < kept; ++i) ends[i] = ends[size - kept + i];
  return kept;
}

template <bool kBytes, class Sink>
void CompiledStep::run(std::string_view text, Sink& sink) const {
  using split::Byte;
  const Byte* const begin = reinterpret_cast<const Byte*>(text.data());
  const Byte* const end = begin + text.size();
  const Byte* const stop = end - (table_.last_newline && end[-1] == '\n');
  const std::uint32_t* const entries = table_.entries.data();
  const std::uint32_t start = kStart * table_.symbols, gap = kGap * table_.symbols;
  // A pattern that looks far ahead in vain reads a text many times, as a backtracking engine does; but not
  // for ever.
  std::size_t may_go_back = (std::size_t{1} << 26) + 64 * text.size();
  Ends ends;
  ends[0] = 0;
  std::size_t size = 1;
  std::uint32_t row = start;
  const Byte* at = begin;
  const Byte* last = begin;  // end of the best match so far
  const auto take = [&](std::uint32_t symbol) __attribute__((always_inline)) {
    const std::uint32_t entry = (entries + symbol)[row];  // so that no addition waits for the row
    ends[size] = static_cast<std::size_t>(at - begin) << 1 | (entry >> 2 & 1);
    size += entry >> 1 & 1;
    last = entry & (kMatched | kCut) ? at : last;
    row = entry >> kFlagBits;
    if (size >= kEnds) [[unlikely]]
      size = give(text.data(), ends, size, 2, sink);
    return row != kFails;
  };
  for (;;) {
    bool goes_on = true;
    while (at < stop) {
      const Symbol symbol = symbol_at<kBytes>(at, end);
      goes_on = take(symbol.number);
      if (!goes_on) [[unlikely]]
        break;
      at += symbol.length;
      if (gap_is_quiet_ && row == gap)
        while (at < stop && quiet_[*at]) ++at;
    }
    if (goes_on && at < end) {
      goes_on = take(table_.symbols - 1);
      at += goes_on;
    }
    if (goes_on && (entries[row + table_.symbols - 2] & kCut)) break;
    // No match goes on here: the piece ends with the best one, or else its first character is part of a gap.
    const std::size_t piece = ends[size - 1] >> 1;
    const Byte* const from = begin + piece;
    const bool matched = last > from;
    const Byte* const to = matched ? last : from + symbol_at<kBytes>(from, end).length;
    const auto back = static_cast<std::size_t>(at > to ? at - to : 0);
    if (back > may_go_back) throw_too_slow();
    may_go_back -= back;
    if (matched) {
      ends[size++] = static_cast<std::size_t>(to - begin) << 1;
      if (size >= kEnds) size = give(text.data(), ends, size, 2, sink);
    } else {
      size -= size > 1 && (ends[size - 1] & 1);  // the gap before goes on
    }
    at = to;
    row = matched ? start : gap;
  }
  ends[size++] = text.size() << 1 | (row == gap);
  give(text.data(), ends, size, 1, sink);
}

// Several steps, each of which cuts the pieces of the one before as if they were texts.
class CompiledSplitter {
 public:
  // Throws std::invalid_argument for a table that is out of range, or none at all.
  explicit CompiledSplitter(std::vector<SplitTable> tables);

  // Whether pieces are together the whole text.
  bool keeps_all() const;

  // Calls sink(std::string_view) for every piece in turn, those that a step removes left out.
  template <class Sink>
  void for_each(std::string_view text, Sink&& sink) const {
    for_each_of(0, text, sink);
  }

 private:
  template <class Sink>
  void for_each_of(std::size_t step, std::string_view text, Sink& sink) const {
    const Removed removed = steps_[step].removed();
    const bool is_last = step + 1 == steps_.size();
    if (is_last && removed == Removed::kNothing)
      return steps_[step].for_each(
          text, [&](std::string_view piece, bool) __attribute__((always_inline)) { sink(piece); });
    steps_[step].for_each(text, [&, removed, step, is_last](std::string_view piece, bool is_gap) {
      if (removed == (is_gap ? Removed::kGaps : Removed::kMatches)) return;
      if (is_last || is_quiet(step + 1, piece))
        sink(piece);
      else
        for_each_of(step + 1, piece, sink);
    });
  }
  // Whether a step and those after it cut a piece no further, told by its bytes alone.
  bool is_quiet(std::size_t step, std::string_view piece) const {
    const std::array<bool, 256>& quiet = quiet_[step];
    for (const char byte : piece)
      if (!quiet[static_cast<unsigned char>(byte)]) return false;
    return true;
  }

  std::vector<CompiledStep> steps_;
  std::vector<std::array<bool, 256>> quiet_;  // of each step and all after it
};

}  // namespace pyharness
