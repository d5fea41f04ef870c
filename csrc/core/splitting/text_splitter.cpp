#include "core/splitting/text_splitter.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

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
UnitEnds split_on_threads(std::span<const std::string_view> texts, int threads, Split split) {
  return cut_on_threads(texts, threads, [&](std::size_t index, auto&& add) {
    std::size_t end = 0;
    split(index, [&](std::string_view piece) { add(end += piece.size()); });
  });
}

}  // namespace

UnitEnds split_texts(const Splitter& splitter, std::span<const std::string_view> texts, int threads) {
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
