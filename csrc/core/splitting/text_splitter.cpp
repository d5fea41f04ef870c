#include "core/splitting/text_splitter.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/machine/parallel.hpp"

namespace pyharness {
namespace {

constexpr std::array<std::pair<std::string_view, SplitPattern>, 11> kNames = {{
    {"none", SplitPattern::kNone},
    {"whitespace", SplitPattern::kWhitespace},
    {"gpt2", SplitPattern::kGpt2},
    {"single_digits", SplitPattern::kSingleDigits},
    {"cl100k", SplitPattern::kCl100k},
    {"llama3", SplitPattern::kLlama3},
    {"qwen2", SplitPattern::kQwen2},
    {"o200k", SplitPattern::kO200k},
    {"tekken", SplitPattern::kTekken},
    {"deepseek_v3", SplitPattern::kDeepseekV3},
    {"digits_right_to_left", SplitPattern::kDigitsRightToLeft},
}};

// The first text of each worker's share, of about equal bytes; one more for the end.
std::vector<std::size_t> shares(std::span<const std::string_view> texts, int threads) {
  std::size_t total = 0;
  for (const std::string_view text : texts) total += text.size();
  std::vector<std::size_t> first{0};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    while (static_cast<int>(first.size()) < threads &&
           bytes >= share_begin(total, static_cast<int>(first.size()), threads))
      first.push_back(i);
    bytes += texts[i].size();
  }
  first.resize(static_cast<std::size_t>(threads) + 1, texts.size());
  return first;
}

}  // namespace

SplitPattern split_pattern(std::string_view name) {
  std::string known;
  for (const auto& [text, pattern] : kNames) {
    if (text == name) return pattern;
    known.append(known.empty() ? "" : ", ").append(text);
  }
  throw std::invalid_argument("unknown split pattern '" + std::string(name) + "'; known: " + known);
}

Splitter checked(Splitter splitter) {
  const auto* const compiled = std::get_if<std::shared_ptr<const CompiledSplitter>>(&splitter);
  if (compiled && !*compiled) throw std::invalid_argument("there is no split table");
  return splitter;
}

bool keeps_all(const Splitter& splitter) {
  const auto* const compiled = std::get_if<std::shared_ptr<const CompiledSplitter>>(&splitter);
  return !compiled || (*compiled)->keeps_all();
}

namespace {

// Calls split(index, add) for every text, where add(bytes) is to be called for each of its pieces in turn.
template <class Split>
Pieces split_on_threads(std::span<const std::string_view> texts, int threads, Split split) {
  check_threads(threads);
  const std::vector<std::size_t> first = shares(texts, threads);
  std::vector<std::vector<std::int64_t>> ends(static_cast<std::size_t>(threads));
  Pieces pieces;
  pieces.offsets.resize(texts.size() + 1);
  run_on_threads(threads, [&](int worker) {
    const auto share = static_cast<std::size_t>(worker);
    std::vector<std::int64_t>& piece_ends = ends[share];
    for (std::size_t i = first[share]; i < first[share + 1]; ++i) {
      std::int64_t end = 0;
      split(i, [&](std::string_view piece) {
        piece_ends.push_back(end += static_cast<std::int64_t>(piece.size()));
      });
      pieces.offsets[i + 1] = static_cast<std::int64_t>(piece_ends.size());
    }
  });
  pieces.ends = std::move(ends[0]);
  for (std::size_t share = 1; share < ends.size(); ++share) {
    const auto before = static_cast<std::int64_t>(pieces.ends.size());
    for (std::size_t i = first[share]; i < first[share + 1]; ++i) pieces.offsets[i + 1] += before;
    pieces.ends.insert(pieces.ends.end(), ends[share].begin(), ends[share].end());
  }
  return pieces;
}

}  // namespace

Pieces split_texts(const Splitter& splitter, std::span<const std::string_view> texts, int threads) {
  if (!keeps_all(splitter))
    throw std::invalid_argument("this splitter leaves out text: its pieces have no ends in it");
  return split_on_threads(
      texts, threads, [&](std::size_t index, auto&& add) { for_each_piece(splitter, texts[index], add); });
}

KeptPieces split_and_remove(const Splitter& splitter, std::span<const std::string_view> texts, int threads) {
  KeptPieces kept;
  kept.texts.resize(texts.size());
  kept.pieces = split_on_threads(texts, threads, [&](std::size_t index, auto&& add) {
    kept.texts[index].reserve(texts[index].size());
    for_each_piece(splitter, texts[index], [&](std::string_view piece) {
      kept.texts[index] += piece;
      add(piece);
    });
  });
  return kept;
}

}  // namespace pyharness
