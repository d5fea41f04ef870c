// What plain BPE and Scaffold-BPE share: the text, the vocabulary and the order of candidate pairs.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/training/bpe_trainer.hpp"
#include "core/training/lazy_queue.hpp"

namespace pyharness {

class TrainingState {
 public:
  TrainingState(const WeightedPieces& pieces, TokenStrings base, const TrainingOptions& options)
      : options_(options), corpus_(pieces, base.size()), trained_{std::move(base), {}, {}} {
    if (options.max_token_length != 0 || options.max_token_characters != 0) measure_base();
  }

  const TokenStrings& tokens() const { return trained_.tokens; }
  const std::vector<MergeRule>& rules() const { return trained_.rules; }
  std::span<const TrainingPairs::Number> risen() const { return corpus_.risen(); }
  TrainedBpe take() { return std::move(trained_); }

  // Replaces the pair by its token in the text. Returns how often (weighted) that was; the rule is
  // rules().back().
  std::uint64_t merge(TrainingPairs::Number number, std::uint64_t count) {
    const std::uint64_t replaced = corpus_.merge(number, make_rule(number, count));
    report();
    return replaced;
  }

  // Makes the pair's token, or takes the one that has its bytes, and the rule; the text stays as it is.
  std::uint32_t make_rule(TrainingPairs::Number number, std::uint64_t count) {
    const std::uint64_t key = key_of(number);
    const std::string bytes = string_of(key);
    std::uint32_t token = tokens().find(bytes);
    if (token == TokenStrings::kNone) {
      token = trained_.tokens.add(bytes);
      if (!lengths_.empty()) lengths_.push_back(length_of(key));
    }
    trained_.rules.push_back({left_of(key), right_of(key), token});
    trained_.counts.push_back(count);
    return token;
  }

  void report() const {
    if (options_.progress && trained_.rules.size() % kReportEvery == 0) options_.progress(tokens().size());
  }

  TrainingCorpus& corpus() { return corpus_; }
  std::uint64_t key_of(TrainingPairs::Number number) const { return corpus_.pairs()[number].key; }

  // Of the token that the pair makes.
  std::string string_of(std::uint64_t key) const {
    std::string_view right = tokens()[right_of(key)];
    if (right.starts_with(options_.prefix)) right.remove_prefix(options_.prefix.size());
    return std::string(tokens()[left_of(key)]).append(right);
  }

  // ------------------------------------------------------------------ the source of a LazyQueue: items are
  // pairs

  QueueEntry entry(std::uint64_t item) {
    const auto number = static_cast<TrainingPairs::Number>(item);
    const auto& pair = corpus_.pairs()[number];
    if (pair.count == 0 || is_too_long(pair.key)) return {0, 0, item};
    const bool by_place = options_.tie_rule == TieRule::kFirstSeen;
    return {pair.count, by_place ? corpus_.first_place(number) : pair.key, item};
  }

  bool before(const QueueEntry& a, const QueueEntry& b) const {
    switch (options_.tie_rule) {
      case TieRule::kLexicographic:
        return parts_of(a.tie) < parts_of(b.tie);
      case TieRule::kSentencePiece:
        return piece_of(a.tie) < piece_of(b.tie);
      default:
        return a.tie < b.tie;
    }
  }

  template <class Visit>
  void for_each_item(Visit&& visit) const {
    for (std::size_t number = 0; number < corpus_.pairs().size(); ++number) visit(number);
  }

  static constexpr std::size_t kSteps = TrainingCorpus::kSteps;
  void prefetch(std::uint64_t item, std::size_t step) const {
    corpus_.prefetch(static_cast<TrainingPairs::Number>(item), step);
  }

 private:
  static constexpr std::size_t kReportEvery = 256;

  bool is_too_long(std::uint64_t key) const {
    if (lengths_.empty()) return false;
    const TextLength length = length_of(key);
    return (options_.max_token_length != 0 && length.bytes > options_.max_token_length) ||
           (options_.max_token_characters != 0 && length.characters > options_.max_token_characters);
  }

  TextLength length_of(std::uint64_t key) const {
    const TextLength left = lengths_[left_of(key)], right = lengths_[right_of(key)];
    return {left.bytes + right.bytes, left.characters + right.characters};
  }

  void measure_base() {
    lengths_ = options_.lengths;
    for (std::size_t id = lengths_.size(); id < tokens().size(); ++id)
      lengths_.push_back({tokens().length(id), characters_in(tokens()[id])});
  }

  static std::size_t characters_in(std::string_view bytes) {
    return static_cast<std::size_t>(
        std::count_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
  }

  // Base ids with equal strings would tie for ever: the ids decide at the end.
  std::tuple<std::string_view, std::string_view, std::uint64_t> parts_of(std::uint64_t key) const {
    return {tokens()[left_of(key)], tokens()[right_of(key)], key};
  }

  std::tuple<std::size_t, std::string, std::uint64_t> piece_of(std::uint64_t key) const {
    std::string bytes = string_of(key);
    const std::size_t characters = characters_in(bytes);
    return {characters, std::move(bytes), key};
  }

  const TrainingOptions& options_;
  TrainingCorpus corpus_;
  TrainedBpe trained_;
  std::vector<TextLength> lengths_;  // by token, where something limits them
};

}  // namespace pyharness
