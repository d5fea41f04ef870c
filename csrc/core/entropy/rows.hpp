// The pass over all rows: how they are shared among threads and put together again. For entropy.cpp alone:
// its includes are not for the files of the instruction sets (row.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/entropy/entropy.hpp"
#include "core/entropy/logits.hpp"
#include "core/entropy/row.hpp"
#include "core/machine/instruction_set.hpp"
#include "core/machine/parallel.hpp"

namespace pyharness::entropy_rows {

// Below this many logits per thread starting the thread costs more than it saves (about 20 us).
inline constexpr std::int64_t kLeastPerThread = std::int64_t{1} << 16;

inline AddToRow add_to_row(LogitType type, [[maybe_unused]] InstructionSet instructions) {
  const auto index = static_cast<std::size_t>(type);
#if defined(__x86_64__)
  if (instructions == InstructionSet::kAvx512) return kAvx512[index];
  if (instructions == InstructionSet::kAvx2) return kAvx2[index];
#endif
  return kPortable[index];
}

inline RowState merged(const RowState& a, const RowState& b, double scale) {
  RowState both = a.max >= b.max ? a : b;
  if (a.max == b.max) both.argmax = std::min(a.argmax, b.argmax);
  both.second = std::max({std::min(a.max, b.max), a.second, b.second});
  both.target = std::max(a.target, b.target);
  both.sum = both.weighted = 0;
  for (const RowState* part : {&a, &b}) {
    if (part->sum == 0) continue;  // no column yet, or -inf only
    const double shift = (static_cast<double>(part->max) - static_cast<double>(both.max)) * scale;
    const double factor = std::exp2(shift);
    both.sum += part->sum * factor;
    if (factor != 0) both.weighted += (part->weighted + shift * part->sum) * factor;
  }
  return both;
}

// All rows by equal shares of blocks: a share may begin and end inside a row, so a single long row keeps all
// threads busy as well.
class RowsPass {
 public:
  RowsPass(const Logits& logits, const Targets& targets, std::int64_t first_column, double scale,
           InstructionSet instructions, int threads)
      : logits_(logits),
        targets_(targets),
        first_column_(first_column),
        scale_(scale),
        add_(add_to_row(logits.type, instructions)),
        row_blocks_((logits.columns + kBlock - 1) / kBlock),
        threads_(threads) {
    check_threads(threads);
    const std::int64_t useful = logits.rows * logits.columns / kLeastPerThread + 1;
    threads_ = static_cast<int>(std::min(useful, std::int64_t{threads}));
  }

  // Calls done(row, state) once for every row, from several threads.
  template <class Done>
  void run(const Done& done) {
    if (logits_.rows == 0) return;
    std::vector<Share> shares(static_cast<std::size_t>(threads_));
    run_on_threads(threads_,
                   [&](int worker) { shares[static_cast<std::size_t>(worker)] = run(worker, done); });
    finish_cut_rows(shares, done);
  }

 private:
  struct Part {
    std::int64_t row = -1;
    RowState state;
  };
  // The rows that a share does not own as a whole: at most its first and its last.
  struct Share {
    Part head;
    Part tail;
  };

  template <class Done>
  Share run(int worker, const Done& done) const {
    const auto blocks = static_cast<std::size_t>(logits_.rows * row_blocks_);
    auto block = static_cast<std::int64_t>(share_begin(blocks, worker, threads_));
    const auto end = static_cast<std::int64_t>(share_begin(blocks, worker + 1, threads_));
    Share share;
    while (block < end) {
      const std::int64_t row = block / row_blocks_;
      const std::int64_t from = block % row_blocks_;
      const std::int64_t to = std::min(row_blocks_, from + end - block);
      const RowState state = part_of_row(row, from * kBlock, std::min(to * kBlock, logits_.columns));
      if (from == 0 && to == row_blocks_)
        done(row, state);
      else
        (from == 0 ? share.tail : share.head) = {row, state};
      block += to - from;
    }
    return share;
  }

  RowState part_of_row(std::int64_t row, std::int64_t from, std::int64_t to) const {
    RowState state;
    add_(logit_at(logits_, row, from), to - from, static_cast<std::int32_t>(first_column_ + from), scale_,
         state);
    if (targets_.data != nullptr) {
      const std::int64_t id = target_of(targets_, row);  // any: of another chunk, or no id at all
      if (id >= first_column_ + from && id < first_column_ + to)
        state.target = logit_value(logits_, row, id - first_column_);
    }
    return state;
  }

  template <class Done>
  void finish_cut_rows(const std::vector<Share>& shares, const Done& done) const {
    Part open;
    const auto take = [&](const Part& part) {
      if (part.row < 0) return;
      if (part.row == open.row) {
        open.state = merged(open.state, part.state, scale_);
        return;
      }
      if (open.row >= 0) done(open.row, open.state);
      open = part;
    };
    for (const Share& share : shares) {
      take(share.head);
      take(share.tail);
    }
    if (open.row >= 0) done(open.row, open.state);
  }

  Logits logits_;
  Targets targets_;
  std::int64_t first_column_;
  double scale_;
  AddToRow add_;
  std::int64_t row_blocks_;
  int threads_;
};

}  // namespace pyharness::entropy_rows
