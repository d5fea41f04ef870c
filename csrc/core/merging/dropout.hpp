// BPE-dropout (Provilkov 2020) as SentencePiece has it: a candidate that comes up is discarded with a
// probability.
#pragma once

#include <array>
#include <cstdint>

#include "core/merging/merge_loops.hpp"

namespace pyharness {

// Philox4x32-10 (Salmon 2011, "Parallel random numbers: as easy as 1, 2, 3"): a function of key and counter,
// so draws depend neither on the thread nor on the time.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key);

// What decides the fate of the candidates of one piece.
struct Dropout {
  double probability = 0;
  std::uint64_t seed = 0;
  std::uint64_t document = 0;
  std::uint64_t position = 0;  // of the piece's first byte in the document

  // Whether the candidate that spans the piece's bytes [begin, end) is discarded. A span is a candidate once
  // at most: symbols only grow, so the two that first met in it are the only ones that ever do.
  bool discards(std::uint32_t begin, std::uint32_t end) const;
};

// Merges the symbols of `piece`, whose `starts` say where each begins, in bytes, and where the last ends. The
// lowest rank comes up first, then the leftmost; a candidate that is discarded never comes up again. Returns
// the number of symbols left.
template <class LookUp>
std::size_t merge_with_dropout(const LookUp& look_up, EncodingWorkspace& piece, std::size_t count,
                               const Dropout& dropout) {
  if (count < 2) return count;
  return QueueMerger(look_up, piece, count).run([&](std::size_t left, std::size_t end) {
    return dropout.discards(piece.starts[left], piece.starts[end]);
  });
}

}  // namespace pyharness
