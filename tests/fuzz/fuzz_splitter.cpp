// The text splitter: what it gives is a partition, by windows and by single pieces alike, and a cut text
// splits as the whole one did. Tables of any numbers are refused, or cut every text.
#include <iterator>
#include <stdexcept>
#include <vector>

#include "core/splitting/text_splitter.hpp"
#include "core/training/piece_counter.hpp"
#include "fuzzing.hpp"

namespace pyharness {
namespace {

using fuzz::ExactText;
using fuzz::require;
using Ends = std::vector<std::size_t>;

// Rules without their windows: composition, so that window_starts() does not find them.
template <class Rules>
struct OnePieceAtATime {
  Rules rules;
  const split::Byte* piece_end(const split::Byte* at, const split::Byte* end) {
    return rules.piece_end(at, end);
  }
};

template <class Rules>
Ends ends_by(Rules rules, std::string_view text) {
  Ends ends;
  split::pieces_by(rules, text, [&](std::string_view piece) {
    ends.push_back(static_cast<std::size_t>(piece.data() + piece.size() - text.data()));
  });
  return ends;
}

Ends ends_of(SplitPattern pattern, std::string_view text) {
  Ends ends;
  const char* at = text.data();
  for_each_piece(pattern, text, [&](std::string_view piece) {
    require(piece.data() == at, "pieces lie next to each other");
    require(!piece.empty(), "no piece is empty");
    at += piece.size();
    ends.push_back(static_cast<std::size_t>(at - text.data()));
  });
  require(at == text.data() + text.size(), "pieces are together the whole text");
  return ends;
}

Ends ends_one_at_a_time(SplitPattern pattern, std::string_view text) {
  using namespace split;
  switch (pattern) {
    case SplitPattern::kNone:
      return ends_by(OnePieceAtATime<NoRules>{}, text);
    case SplitPattern::kWhitespace:
      return ends_by(OnePieceAtATime<WhitespaceRules>{}, text);
    case SplitPattern::kGpt2:
      return ends_by(OnePieceAtATime<Gpt2Rules<false>>{}, text);
    case SplitPattern::kSingleDigits:
      return ends_by(OnePieceAtATime<Gpt2Rules<true>>{}, text);
    case SplitPattern::kCl100k:
      return ends_by(OnePieceAtATime<Cl100kRules<3, Space::kEndOfTextThenNewlines>>{}, text);
    case SplitPattern::kLlama3:
      return ends_by(OnePieceAtATime<Cl100kRules<3, Space::kNewlinesFirst>>{}, text);
    case SplitPattern::kQwen2:
      return ends_by(OnePieceAtATime<Cl100kRules<1, Space::kNewlinesFirst>>{}, text);
    case SplitPattern::kO200k:
      return ends_by(OnePieceAtATime<O200kRules<3, true>>{}, text);
    case SplitPattern::kTekken:
      return ends_by(OnePieceAtATime<O200kRules<1, false>>{}, text);
    case SplitPattern::kDeepseekV3:
      return ends_by(OnePieceAtATime<DeepseekV3Rules>{}, text);
    case SplitPattern::kDigitsRightToLeft:
      return ends_by(OnePieceAtATime<RightToLeftRules>{}, text);
  }
  return {};
}

bool ends_in_white_space(std::string_view piece) {
  const auto* at = reinterpret_cast<const split::Byte*>(piece.data());
  const auto* const end = at + piece.size();
  split::Character last{};
  for (; at < end; at += last.length) last = split::character_at(at, end);
  return last.classes & split::kSpace;
}

// No pattern looks back, and only white space minds whether the text goes on after it.
void check_cut(SplitPattern pattern, std::string_view text, const Ends& whole, std::size_t piece) {
  const auto after = whole.begin() + static_cast<std::ptrdiff_t>(piece) + 1;
  const std::size_t cut = whole[piece];
  const std::size_t begin = piece == 0 ? 0 : whole[piece - 1];
  const ExactText rest(text.substr(cut));
  Ends found = ends_of(pattern, rest.view());
  for (std::size_t& end : found) end += cut;
  require(std::equal(found.begin(), found.end(), after, whole.end()), "the rest splits as in the whole text");
  if (ends_in_white_space(text.substr(begin, cut - begin))) return;
  const ExactText start(text.substr(0, cut));
  found = ends_of(pattern, start.view());
  require(std::equal(found.begin(), found.end(), whole.begin(), after),
          "the start splits as in the whole text");
}

void check_counts(SplitPattern pattern, std::string_view text, const Ends& ends) {
  PieceCounter counter(pattern, std::size_t{1} << 30);
  const std::string_view texts[] = {text, {}, text};
  counter.add(texts, 1);
  const CountedPieces counted = counter.pieces();
  std::uint64_t total = 0;
  for (const std::uint64_t count : counted.counts) total += count;
  require(total == 2 * ends.size(), "every piece is counted");
}

// Numbers that are mostly in range, or else nearly every table would be refused.
SplitTable any_table(FuzzedDataProvider& input) {
  const bool reads_bytes = input.ConsumeBool();
  const auto classes = input.ConsumeIntegralInRange<std::uint32_t>(1, 4);
  const auto rows = input.ConsumeIntegralInRange<std::uint32_t>(3, 8);
  SplitTable table;
  table.symbols = classes + 2;
  table.last_newline = !reads_bytes && input.ConsumeBool();
  table.removed = static_cast<Removed>(input.ConsumeIntegralInRange(0, 2));
  if (!reads_bytes) table.blocks.resize(0x110000 / split::kBlock);
  table.classes.resize(reads_bytes ? 256 : split::kBlock);
  for (std::uint8_t& number : table.classes)
    number =
        static_cast<std::uint8_t>(input.ConsumeIntegral<std::uint8_t>() % (classes + input.ConsumeBool()));
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::uint32_t symbol = 0; symbol < table.symbols; ++symbol) {
      const std::uint32_t next = input.ConsumeIntegralInRange(row == 1 || row == 2 ? 1u : 0u, rows - 1);
      const bool leaves = row == 2 && (next != 2 || symbol == classes);
      const std::uint32_t flags = row < 3 ? (leaves ? 6 : 0)
                                  : next  ? input.ConsumeIntegralInRange(0u, 2u)
                                          : 0;
      table.entries.push_back(row == 0 ? 0 : next << 3 | flags);
    }
  return table;
}

void check_any_table(FuzzedDataProvider& input) {
  std::vector<SplitTable> tables(input.ConsumeIntegralInRange(1, 3));
  for (SplitTable& table : tables) table = any_table(input);
  const ExactText text(input.ConsumeRemainingBytesAsString());
  try {
    const CompiledSplitter splitter(std::move(tables));
    const char* at = text.view().data();
    splitter.for_each(text.view(), [&](std::string_view piece) {
      require(!piece.empty() && piece.data() >= at, "pieces are in order, and none is empty");
      require(!splitter.keeps_all() || piece.data() == at, "pieces lie next to each other");
      at = piece.data() + piece.size();
    });
    require(at <= text.view().data() + text.view().size(), "pieces are of the text");
    require(!splitter.keeps_all() || at == text.view().data() + text.view().size(), "pieces are the text");
  } catch (const std::invalid_argument&) {
  }
}

}  // namespace
}  // namespace pyharness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pyharness;
  FuzzedDataProvider input(data, size);
  if (input.ConsumeBool()) {
    check_any_table(input);
    return 0;
  }
  const auto pattern =
      static_cast<SplitPattern>(input.ConsumeIntegralInRange(0, static_cast<int>(SplitPattern::kDigitsRightToLeft)));
  const auto chosen = input.ConsumeIntegral<std::uint16_t>();
  const fuzz::ExactText text(input.ConsumeRemainingBytesAsString());
  const Ends ends = ends_of(pattern, text.view());
  fuzz::require(ends == ends_one_at_a_time(pattern, text.view()), "windows split as single pieces do");
  if (!ends.empty()) check_cut(pattern, text.view(), ends, chosen % ends.size());
  if (chosen % 16 == 0) check_counts(pattern, text.view(), ends);
  return 0;
}
