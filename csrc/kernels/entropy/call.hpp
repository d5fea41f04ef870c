// What the kernels in entropy.cu are given, and what becomes of a state once its columns are read.
#pragma once

#include <cstdint>

#include "kernels/entropy/row.hpp"
#include "kernels/entropy/state.hpp"
#include "kernels/exec.hpp"

namespace pyharness::kernels {

struct RowsCall {
  Logits logits;
  Targets targets;
  std::int64_t first_column;
  Extent memory;  // of the logits
  Scaling scaling;
  EntropyState* states;  // [rows], or null to finish at once
  Finish finish;
};

PH_DEVICE std::int64_t target_of(const Targets& targets, std::int64_t row) {
  return targets.wide ? static_cast<const std::int64_t*>(targets.data)[row]
                      : static_cast<const std::int32_t*>(targets.data)[row];
}

template <class Logit>
PH_DEVICE const Logit* row_of(const RowsCall& call, std::int64_t at) {
  return static_cast<const Logit*>(call.logits.data) + at * call.logits.row_stride;
}

template <class Logit>
PH_DEVICE float target_logit(const Logit* row, std::int64_t at, const RowsCall& call) {
  if (!call.targets.data) return -INFINITY;
  const std::int64_t id = target_of(call.targets, at);
  if (id < call.first_column) return -INFINITY;  // first: the difference of any two ids may overflow
  const std::int64_t column = id - call.first_column;
  return column < call.logits.columns ? ph_float(row[column]) : -INFINITY;
}

// From what the lanes kept to the state of these columns: no column while none had a number, and true ids.
template <class Logit, bool kTop>
PH_DEVICE void settle(EntropyState& state, const Logit* row, const RowsCall& call) {
  if (state.sum == 0.0f) state = empty_state();
  if (!kTop || state.argmax == kNoColumn) return;
  look_again(state, row, static_cast<int>(call.logits.columns));
  state.argmax += static_cast<std::int32_t>(call.first_column);
}

PH_DEVICE void hand_out(const EntropyState& state, std::int64_t at, const RowsCall& call) {
  if (call.states)
    call.states[at] = state;
  else
    finish_row(state, at, call.finish);
}

}  // namespace pyharness::kernels
