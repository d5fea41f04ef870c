// A byte-level BPE model as PieceMerger runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/merging/bpe_encoder.hpp"
#include "core/merging/piece_merger/characters.hpp"
#include "core/merging/piece_merger/pairs.hpp"
#include "core/merging/piece_merger/window.hpp"
#include "core/model/merge_model.hpp"

namespace pyharness {

struct SymbolModel {
  PairTable pairs;
  CharacterSymbols characters;
  std::vector<std::uint32_t> ids;      // by symbol; kNever: no byte string becomes this symbol
  std::vector<std::uint32_t> lengths;  // by symbol, in bytes
};

// None for models that only BpeEncoder can run: a rule whose result is not the bytes of its parts, two merges
// of equal rank, more symbols than PairTable can hold.
std::optional<SymbolModel> reduce_to_symbols(const MergeModel& model);

// By byte, the lowest atomic id that is this byte; kNever where there is none.
std::vector<std::uint32_t> byte_ids(const MergeModel& model);

// Merges pieces of any length of a SymbolModel. The result is valid until the next call with this workspace.
struct MergingWorkspace {
  MergingWindow window;
  EncodingWorkspace queue;
  std::vector<std::uint32_t> window_symbols;
};
void merge_at_once(const SymbolModel& model, std::string_view bytes, MergingWorkspace& workspace);

// Symbols of a piece of more than one window.
void merge_long_piece(const SymbolModel& model, std::string_view bytes, MergingWorkspace& workspace,
                      std::vector<std::uint32_t>& symbols);

}  // namespace pyharness
