#include "core/splitting/compiled_splitter.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace pyharness {
namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 22, kBlocks = 0x110000 / split::kBlock;

void check(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("split table: ") + what);
}

}  // namespace

CompiledStep::CompiledStep(SplitTable table) : table_(std::move(table)) {
  const std::vector<std::uint8_t>& classes = table_.classes;
  check(table_.symbols >= 3 && table_.symbols <= 258, "needs 3 to 258 symbols");
  check(table_.removed <= Removed::kGaps, "what is removed is unknown");
  if (table_.blocks.empty()) {
    check(classes.size() == of_byte_.size(), "classes of bytes are not 256");
    check(!table_.last_newline, "bytes have no last newline");
  } else {
    check(table_.blocks.size() == kBlocks, "blocks do not cover the code points");
    check(classes.size() % split::kBlock == 0, "classes are not whole blocks");
    const std::size_t most = *std::ranges::max_element(table_.blocks);
    check(most < classes.size() / split::kBlock, "a block has no classes");
  }
  check(*std::ranges::max_element(classes) < table_.symbols - 2, "a class is no symbol");
  check_rows();
  for (unsigned byte = 0; byte < of_byte_.size(); ++byte) {
    if (table_.blocks.empty())
      of_byte_[byte] = classes[byte];
    else if (byte < 0x80)
      of_byte_[byte] =
          classes[std::size_t{table_.blocks[byte / split::kBlock]} * split::kBlock + byte % split::kBlock];
  }
  for (std::uint32_t& entry : table_.entries)
    entry = (entry >> kFlagBits) * table_.symbols << kFlagBits | (entry & ((1u << kFlagBits) - 1));
  find_quiet_bytes();
}

// Bytes that leave a piece in one row, the row of the letter e: those of English words, or of what is no
// match.
void CompiledStep::find_quiet_bytes() {
  const auto entry = [this](std::uint32_t row, std::uint32_t symbol) { return table_.entries[row + symbol]; };
  const std::uint32_t start = kStart * table_.symbols, gap = kGap * table_.symbols;
  const std::uint32_t row = entry(start, of_byte_['e']) >> kFlagBits;
  if (!(entry(row, table_.symbols - 2) & kCut)) return;
  if (table_.removed == (row == gap ? Removed::kGaps : Removed::kMatches)) return;
  const std::size_t bytes = table_.blocks.empty() ? 256 : 128;
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    const std::uint32_t goes_on = entry(row, of_byte_[byte]);
    quiet_[byte] = entry(start, of_byte_[byte]) >> kFlagBits == row && goes_on >> kFlagBits == row &&
                   !(goes_on & kCut) && !(table_.last_newline && byte == '\n');
  }
  gap_is_quiet_ = row == gap && quiet_['e'];
}

void CompiledStep::check_rows() const {
  const std::size_t size = table_.entries.size();
  check(size <= kMostEntries && size % table_.symbols == 0 && size / table_.symbols >= kRows,
        "entries are no rows, or too many");
  for (std::size_t row = kStart; row < size / table_.symbols; ++row)
    for (std::size_t symbol = 0; symbol < table_.symbols; ++symbol) check_entry(row, symbol);
  std::for_each(table_.entries.begin(), table_.entries.begin() + table_.symbols,
                [](std::uint32_t entry) { check(entry == 0, "the row of failure goes on"); });
}

void CompiledStep::check_entry(std::size_t row, std::size_t symbol) const {
  const std::uint32_t entry = table_.entries[row * table_.symbols + symbol];
  const std::uint32_t next = entry >> kFlagBits, flags = entry & ((1u << kFlagBits) - 1);
  check(next < table_.entries.size() / table_.symbols, "a row is out of range");
  const bool is_end = symbol == table_.symbols - 2;
  if (row == kStart)
    check(next != kFails && flags == 0, "a piece ends where it starts");
  else if (row == kGap)
    check(next != kFails && flags == (next == kGap && !is_end ? 0u : std::uint32_t{kCut | kLeavesGap}),
          "a gap does not end where a match starts");
  else
    check(next == kFails ? flags == 0 : flags == 0 || flags == kMatched || flags == kCut,
          "flags are out of range");
}

void CompiledStep::throw_too_slow() {
  throw std::invalid_argument(
      "the split pattern goes back over this text again and again, as it looks far ahead for what does not "
      "come: "
      "use another pattern, or cut the text");
}

CompiledSplitter::CompiledSplitter(std::vector<SplitTable> tables) {
  check(!tables.empty(), "there is none");
  for (SplitTable& table : tables) steps_.emplace_back(std::move(table));
  for (const CompiledStep& step : steps_) quiet_.push_back(step.quiet());
  for (std::size_t step = steps_.size() - 1; step > 0; --step)
    for (std::size_t byte = 0; byte < 256; ++byte)
      quiet_[step - 1][byte] = quiet_[step - 1][byte] && quiet_[step][byte];
}

bool CompiledSplitter::keeps_all() const {
  return std::ranges::all_of(steps_,
                             [](const CompiledStep& step) { return step.removed() == Removed::kNothing; });
}

}  // namespace pyharness
