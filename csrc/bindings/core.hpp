// The parts of `_core`, one file per room of csrc/core.
#pragma once

#include <pybind11/pybind11.h>

namespace pyharness::bindings {

void bind_machine(pybind11::module_& module);  // describe_array, instruction sets
void bind_text(
    pybind11::module_& module);  // text_statistics, segment_ends, character_splits, JsonTexts, ReadTexts
void bind_splitting(pybind11::module_& module);       // CompiledSplitter, split_texts, split_and_remove
void bind_merging(pybind11::module_& module);         // BpeEncoder, PieceMerger, philox
void bind_text_encoder(pybind11::module_& module);    // encoding: TextEncoder
void bind_symbol_encoder(pybind11::module_& module);  // encoding: SymbolEncoder, decode
void bind_added_tokens(pybind11::module_& module);    // encoding: TextParts, AddedTokenCutter, join_stretches
void bind_training(pybind11::module_& module);        // PieceCounter, train_bpe, demolition
void bind_extending(pybind11::module_& module);       // training: extend_bpe
void bind_reachability(pybind11::module_& module);    // leaf_order, merge_graph, self_tokenization
void bind_pairs(pybind11::module_& module);           // pair_histogram, check_segments, token_frequency
void bind_entropy(pybind11::module_& module);         // entropy, its states and reference
void bind_symbols(pybind11::module_& module);         // SymbolCounter, SymbolModel
void bind_curriculum(pybind11::module_& module);      // GroupCounter, FixpointEncoder

}  // namespace pyharness::bindings
