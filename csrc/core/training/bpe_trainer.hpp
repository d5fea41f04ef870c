// Training of byte-pair encodings: plain BPE, and Scaffold-BPE with its demotions and promotions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/model/token_strings.hpp"
#include "core/training/corpus.hpp"

namespace pyharness {

// Which of several pairs with the highest count is merged first.
enum class TieRule {
  kSmallestIds,    // the smallest (left, right): `tokenizers`
  kFirstSeen,      // the one that occurs first in the text as merged so far: minbpe
  kLexicographic,  // the smallest (bytes of left, bytes of right): tokenizer-extension
  kSentencePiece,  // the shortest in code points, then the smallest bytes
};

// Of the text that a base symbol stands for.
struct TextLength {
  std::uint64_t bytes, characters;  // characters that start in it
};

struct TrainingOptions {
  std::size_t vocabulary_size = 0;       // tokens wanted, base tokens among them
  std::uint64_t min_frequency = 1;       // a pair that occurs less often is not merged
  std::size_t max_token_length = 0;      // bytes of text; 0: no limit
  std::size_t max_token_characters = 0;  // characters that start in a token; 0: no limit
  std::string prefix = {};  // of the symbols that do not start a piece: a merge drops that of its right part
  std::vector<TextLength> lengths = {};  // of the base symbols; empty: their strings are text
  TieRule tie_rule = TieRule::kSmallestIds;
  // Called now and then with the number of tokens so far; an exception of it ends the training.
  std::function<void(std::size_t)> progress = nullptr;
};

struct MergeRule {
  std::uint32_t left, right, result;
};

struct TrainedBpe {
  TokenStrings tokens;                // base tokens, then one per new string in the order of the rules
  std::vector<MergeRule> rules;       // in rank order; several may give one token
  std::vector<std::uint64_t> counts;  // of each rule's pair when it was chosen
};

// `base` holds the strings of the ids that the pieces are made of. Ends early when no pair is left that may
// be merged. Throws std::invalid_argument for pieces that do not fit (see TrainingCorpus). Source:
// docs/algorithms.md "Byte-pair encoding".
TrainedBpe train_bpe(const WeightedPieces& pieces, TokenStrings base, const TrainingOptions& options);

// ------------------------------------------------------------------------------------------------
// Scaffold-BPE

// What Scaffold-BPE did besides merging, in order.
struct ScaffoldEvent {
  enum Kind : std::uint8_t { kDemoted, kPromoted };
  Kind kind;
  std::uint32_t token;
  std::uint32_t rules;      // made before
  std::uint64_t frequency;  // of the token
  std::uint64_t head;       // count at the head of the queue
};

struct TrainedScaffold {
  TrainedBpe expanded;  // tokens and rules of the expanded vocabulary, scaffold tokens among them
  std::vector<std::uint8_t> scaffold;  // by token
  std::vector<ScaffoldEvent> events;   // when they were asked for
};

// `vocabulary_size` counts tokens that are not scaffold; base tokens are never scaffold. Only kSmallestIds;
// equal counts take a scaffold token before a pair. Source: arXiv 2404.17808, Algorithm 1, as resolved in
// docs/algorithms.md "Scaffold-BPE".
TrainedScaffold train_scaffold_bpe(const WeightedPieces& pieces, TokenStrings base,
                                   const TrainingOptions& options, bool keep_events);

}  // namespace pyharness
