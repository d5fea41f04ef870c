// The two merge loops of bpe_encoder.cpp, over one small look-up interface:
//   Found merge(left, right, end)   what symbol `left` makes with `right`; `end` is the symbol after `right`,
//   or the
//                                   position just past the last symbol
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/merging/bpe_encoder.hpp"

namespace pyharness {

// Rules form: symbols are ids.
struct MergeByRule {
  const RuleTable& table;
  const EncodingWorkspace& piece;

  static constexpr bool kUsesBytes = false;
  RuleTable::Found merge(std::size_t left, std::size_t right, std::size_t) const {
    return table.find(piece.ids[left], piece.ids[right]);
  }
};

// Ranks form: symbols are byte strings that lie next to each other in the piece.
struct MergeByRank {
  const SymbolTable& table;
  const EncodingWorkspace& piece;

  static constexpr bool kUsesBytes = true;
  SymbolTable::Found merge(std::size_t left, std::size_t, std::size_t end) const {
    const std::size_t begin = piece.starts[left];
    return table.find({piece.bytes.data() + begin, piece.starts[end] - begin});
  }
};

template <class LookUp>
void note_merge(const LookUp& look_up, EncodingWorkspace& piece, std::size_t left, std::size_t right,
                std::size_t end) {
  const auto merged = look_up.merge(left, right, end);
  piece.ranks[left] = merged.rank;
  piece.results[left] = merged.id;
}

template <class Value>
void erase_at(std::vector<Value>& values, std::size_t index, std::size_t count) {
  std::copy(values.begin() + static_cast<std::ptrdiff_t>(index + 1),
            values.begin() + static_cast<std::ptrdiff_t>(count),
            values.begin() + static_cast<std::ptrdiff_t>(index));
}

// Finds the lowest rank by a scan after every merge. Returns the number of symbols left.
template <class LookUp>
std::size_t merge_by_scanning(const LookUp& look_up, EncodingWorkspace& piece, std::size_t count) {
  for (std::size_t i = 0; i + 1 < count; ++i) note_merge(look_up, piece, i, i + 1, i + 2);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) best = piece.ranks[i] < piece.ranks[best] ? i : best;
    if (piece.ranks[best] == kNever) break;
    piece.last_left = piece.ids[best];
    piece.last_right = piece.ids[best + 1];
    piece.ids[best] = piece.results[best];
    erase_at(piece.ids, best + 1, count);
    if constexpr (LookUp::kUsesBytes) erase_at(piece.starts, best + 1, count + 1);
    erase_at(piece.ranks, best, count - 1);
    erase_at(piece.results, best, count - 1);
    --count;
    if (best + 1 < count) note_merge(look_up, piece, best, best + 1, best + 2);
    if (best > 0) note_merge(look_up, piece, best - 1, best, best + 1);
  }
  return count;
}

// A queue of (rank, position) over a linked list of symbols. An entry is stale when the merge at its position
// has another rank by now; stale entries are dropped when they come up.
template <class LookUp>
class QueueMerger {
 public:
  QueueMerger(const LookUp& look_up, EncodingWorkspace& piece, std::size_t count)
      : look_up_(look_up), piece_(piece), count_(count) {
    piece_.next.resize(count + 1);
    piece_.previous.resize(count + 1);
    std::iota(piece_.next.begin(), piece_.next.end(), 1u);
    std::iota(piece_.previous.begin(), piece_.previous.end(), ~0u);  // of the first symbol: kNever
    piece_.queue.clear();
  }

  std::size_t run() {
    return run([](std::size_t, std::size_t) { return false; });
  }

  // discard(left, end) is asked about every candidate that comes up; a discarded one does not come up again.
  template <class Discard>
  std::size_t run(Discard&& discard) {
    piece_.ranks[count_ - 1] = kNever;
    for (std::size_t i = 0; i + 1 < count_; ++i) {
      note_merge(look_up_, piece_, i, i + 1, i + 2);
      if (piece_.ranks[i] != kNever) piece_.queue.push_back(entry(i));
    }
    std::make_heap(piece_.queue.begin(), piece_.queue.end(), std::greater<>());
    while (!piece_.queue.empty()) {
      std::pop_heap(piece_.queue.begin(), piece_.queue.end(), std::greater<>());
      const std::uint64_t top = piece_.queue.back();
      piece_.queue.pop_back();
      const std::size_t left = top & kNever;
      if (piece_.ranks[left] != top >> 32) continue;
      if (discard(left, piece_.next[piece_.next[left]])) {
        piece_.ranks[left] = kNever;
      } else {
        apply(left);
      }
    }
    return compact();
  }

 private:
  std::uint64_t entry(std::size_t position) const {
    return static_cast<std::uint64_t>(piece_.ranks[position]) << 32 | position;
  }

  void apply(std::size_t left) {
    const std::size_t right = piece_.next[left];
    const std::size_t end = piece_.next[right];
    piece_.last_left = piece_.ids[left];
    piece_.last_right = piece_.ids[right];
    piece_.ids[left] = piece_.results[left];
    piece_.next[left] = static_cast<std::uint32_t>(end);
    piece_.previous[end] = static_cast<std::uint32_t>(left);
    piece_.ranks[right] = kNever;  // no entry of a symbol that is gone may look fresh
    refresh(left);
    if (piece_.previous[left] != kNever) refresh(piece_.previous[left]);
  }

  void refresh(std::size_t left) {
    const std::size_t right = piece_.next[left];
    if (right == count_) {
      piece_.ranks[left] = kNever;
      return;
    }
    note_merge(look_up_, piece_, left, right, piece_.next[right]);
    if (piece_.ranks[left] == kNever) return;
    piece_.queue.push_back(entry(left));
    std::push_heap(piece_.queue.begin(), piece_.queue.end(), std::greater<>());
  }

  std::size_t compact() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i != count_; i = piece_.next[i]) piece_.ids[kept++] = piece_.ids[i];
    return kept;
  }

  const LookUp& look_up_;
  EncodingWorkspace& piece_;
  std::size_t count_;
};

template <class LookUp>
std::size_t merge_piece(const LookUp& look_up, EncodingWorkspace& piece, std::size_t count) {
  if (count < 2) return count;
  if (count <= BpeEncoder::kLinearLimit) return merge_by_scanning(look_up, piece, count);
  return QueueMerger(look_up, piece, count).run();
}

}  // namespace pyharness
