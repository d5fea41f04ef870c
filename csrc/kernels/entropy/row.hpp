// How lanes read a row, or part of one, for the kernels in entropy.cu: 16 bytes at a time with four such
// loads in flight.
//
// Lanes take turns: in each, every lane reads one word, the next after its neighbour's. Only the last turn
// may have too few words for all lanes. So four turns at a time are read without a question, and up to five
// are left for the end: no lane works on loads that are empty but in the last turn.
#pragma once

#include <climits>
#include <cmath>
#include <cstdint>

#include "kernels/entropy/running.hpp"
#include "kernels/entropy/state.hpp"
#include "kernels/entropy/words.hpp"
#include "kernels/exec.hpp"

namespace pyharness::kernels {

inline constexpr int kMostThreads = 256;
inline constexpr int kLoadsInFlight = 4;

// Who reads: one of `count` lanes that share the words.
struct Lane {
  int index;
  int count;
};

using Batch = uint4[kLoadsInFlight];

// Of a lane's first word and those of the next turns.
PH_DEVICE void load_batch(Batch& bits, const Words& words, int word, Lane lane) {
#pragma unroll
  for (int k = 0; k < kLoadsInFlight; ++k) bits[k] = __ldcs(words.first + word + k * lane.count);
}

template <class Logit, bool kTop>
PH_DEVICE void add_batch(Running<kTop>& running, Batch& bits, const Words& words, int word, Lane lane,
                         const Scaling& scaling) {
  mask_head<Logit>(bits[0], words, word);
  add<Logit>(running, bits, column_of<Logit>(words, word), lane.count * kPerLoad<Logit>, scaling);
}

// The last kTurns turns; `end`: of the words that are read here.
template <class Logit, bool kTop, int kTurns>
PH_DEVICE void add_last_turns(Running<kTop>& running, const Words& words, int word, int end, Lane lane,
                              const Scaling& scaling) {
  uint4 bits[kTurns];
#pragma unroll
  for (int k = 0; k < kTurns - 1; ++k) bits[k] = __ldcs(words.first + word + k * lane.count);
  const int last = word + (kTurns - 1) * lane.count;
  bits[kTurns - 1] = last < end ? __ldcs(words.first + last) : nothing<Logit>();
  if (kTurns <= kLoadsInFlight) mask_head<Logit>(bits[0], words, word);  // more are left by batches alone
  mask_tail<Logit>(bits[kTurns - 1], words, last);
  add<Logit>(running, bits, column_of<Logit>(words, word), lane.count * kPerLoad<Logit>, scaling);
}

// How many times four turns at once. Of short rows up to five turns are left, so that a single one seldom is,
// which would be waited for like four; of long rows up to four, for want of registers.
template <int kMostLast>
PH_DEVICE int batches_of(int turns) {
  if (turns <= kLoadsInFlight) return 0;
  if (kMostLast > kLoadsInFlight && turns == kMostLast) return 1;
  return static_cast<int>(static_cast<unsigned>(turns - (kMostLast - kLoadsInFlight + 1)) / kLoadsInFlight);
}

template <int kMostLast, class Logit, bool kTop>
PH_DEVICE void add_last(Running<kTop>& running, const Words& words, int word, int end, int turns, Lane lane,
                        const Scaling& scaling) {
  if (kMostLast == 5 && turns == 5)
    add_last_turns<Logit, kTop, kMostLast>(running, words, word, end, lane, scaling);
  else if (turns == 4)
    add_last_turns<Logit, kTop, 4>(running, words, word, end, lane, scaling);
  else if (turns == 3)
    add_last_turns<Logit, kTop, 3>(running, words, word, end, lane, scaling);
  else if (turns == 2)
    add_last_turns<Logit, kTop, 2>(running, words, word, end, lane, scaling);
  else if (turns == 1)
    add_last_turns<Logit, kTop, 1>(running, words, word, end, lane, scaling);
}

// Words [first, end) of a row. In ascending order of columns: of equal logits, a thread keeps the first.
template <class Logit, bool kTop>
PH_DEVICE void add_words(Running<kTop>& running, const Words& words, int first, int end, Lane lane,
                         const Scaling& scaling) {
  const int turns = (end - first + lane.count - 1) / lane.count;
  int word = first + lane.index;
  const int batches = batches_of<4>(turns);
  for (int batch = 0; batch < batches; ++batch, word += kLoadsInFlight * lane.count) {
    Batch bits;
    load_batch(bits, words, word, lane);
    add_batch<Logit>(running, bits, words, word, lane, scaling);
  }
  add_last<4, Logit>(running, words, word, end, turns - kLoadsInFlight * batches, lane, scaling);
}

// A word of a row, logit by logit.
template <class Logit, bool kTop>
PH_DEVICE void add_singly(Running<kTop>& running, const Words& words, int word, const Scaling& scaling) {
  const int first = word == 0 ? words.head() : 0;
  const int last = word == words.count - 1 ? words.tail() : kPerLoad<Logit>;
  const uint4 bits[1] = {read_singly<Logit>(words.first + word, first, last)};
  add<Logit>(running, bits, column_of<Logit>(words, word), 0, scaling);
}

// One of `splits` parts of a row.
template <class Logit, bool kTop>
PH_DEVICE void add_part(Running<kTop>& running, const Logit* row, std::int64_t columns, const Extent& memory,
                        int part, int splits, Lane lane, const Scaling& scaling) {
  const Words words = whole_words<Logit>(words_of(row, columns), memory);
  const int each = (words.count + splits - 1) / splits;
  const int first = part * each < words.count ? part * each : words.count;
  const int end = first + each < words.count ? first + each : words.count;
  if (words.has_word_before() && part == 0 && lane.index == 0)
    add_singly<Logit>(running, words_of(row, columns), 0, scaling);
  add_words<Logit>(running, words, first, end, lane, scaling);
  if (!words.has_word_after() || part != splits - 1 || lane.index != 0) return;
  const Words all =
      words_of(row_of<Logit>(words), columns);  // again, rather than kept in registers meanwhile
  add_singly<Logit>(running, all, all.count - 1, scaling);
}

// The whole block's state, in its first warp.
template <bool kTop>
PH_DEVICE EntropyState merge_block(const Running<kTop>& running, const Scaling& scaling) {
  EntropyState state = merge_lanes<kTop, kWarp>(state_of(running, scaling), scaling.scale);
  PH_SHARED(EntropyState, warps, kMostThreads / kWarp);
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = state;
  __syncthreads();
  if (threadIdx.x >= kWarp) return state;
  state = threadIdx.x < blockDim.x / kWarp ? warps[threadIdx.x] : empty_state();
  return merge_lanes<kTop, kWarp>(state, scaling.scale);
}

// From the column of a load to the column in it; and that load's own second largest logit.
template <class Logit>
PH_DEVICE void look_again(EntropyState& state, const Logit* row, int columns) {
  const int first = state.argmax;
  int largest = kNoColumn;
#pragma unroll
  for (int i = 0; i < kPerLoad<Logit>; ++i) {
    const bool is_there = i >= -first && i < columns - first;  // the row may begin and end within the load
    const float x = is_there ? ph_float(row[first + i]) : -INFINITY;
    if (x == state.max && largest == kNoColumn)
      largest = first + i;
    else
      state.second = fmaxf(state.second, x);
  }
  state.argmax = largest;
}

}  // namespace pyharness::kernels
