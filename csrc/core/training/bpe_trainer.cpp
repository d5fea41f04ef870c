#include "core/training/bpe_trainer.hpp"

#include <stdexcept>

#include "core/training/state.hpp"

namespace pyharness {

TrainedBpe train_bpe(const WeightedPieces& pieces, TokenStrings base, const TrainingOptions& options) {
  TrainingState state(pieces, std::move(base), options);
  LazyQueue queue(state, options.min_frequency);
  while (state.tokens().size() < options.vocabulary_size) {
    const auto head = queue.head();
    if (!head) break;
    queue.pop();
    state.merge(static_cast<TrainingPairs::Number>(head->item), head->count);
    for (const auto number : state.risen()) queue.offer(number);
  }
  return state.take();
}

}  // namespace pyharness
