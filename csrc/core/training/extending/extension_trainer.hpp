// Continued BPE: a training that goes on from a model, over pieces as the model encodes them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "core/training/bpe_trainer.hpp"
#include "core/training/extending/piece_rules.hpp"

namespace pyharness {

struct ExtendingOptions {
  TrainingOptions training;  // its vocabulary_size: ids of the model, gaps among them, and new ones
  std::optional<PieceRules> piece_rules = std::nullopt;
  // Asked once about the string of each pair that comes first; nothing has that string if it says yes.
  std::function<bool(std::string_view)> denies = nullptr;
  // Whether what a new rule makes is merged on as the model would do it. Without, a token that the model has
  // is made by new rules alone, and the encoder gives something else.
  bool cascade = true;
};

// The model and what extending needs to know of it. Ids that no merge may make or take have no string in
// `strings`, which is what tells: all others have that of the model.
struct ExtendableModel {
  MergeModel model;
  std::span<const std::uint32_t> unreachable;  // tokens whose symbols encode to something else
};

struct ExtendedBpe {
  TrainedBpe trained;         // tokens of the model, new ones behind them, and the new rules
  TrainingCorpus::Text text;  // the last state of the pieces
};

// Pieces are ids of the model, as it encodes them. Ends early when no pair is left that may be merged. Throws
// std::invalid_argument for pieces or a model that do not fit. Source: docs/algorithms.md "Continued BPE".
ExtendedBpe extend_bpe(const WeightedPieces& pieces, TokenStrings strings, const ExtendableModel& base,
                       const ExtendingOptions& options);

}  // namespace pyharness
