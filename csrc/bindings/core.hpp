// The parts of the extension module, one per file.
#pragma once

#include <pybind11/pybind11.h>

namespace pyharness::bindings {

void bind_added_tokens(pybind11::module_& module);     // TextParts, AddedTokenCutter, join_stretches
void bind_text(pybind11::module_& module);             // text_statistics, character_splits
void bind_pairs(pybind11::module_& module);            // pair_histogram, check_segments, token_frequency
void bind_entropy(pybind11::module_& module);          // entropy, its states and reference
void bind_machine(pybind11::module_& module);          // describe_array, instruction sets
void bind_bpe(pybind11::module_& module);              // BpeEncoder, merge_graph, self_tokenization
void bind_training(pybind11::module_& module);         // train_bpe, demolition
void bind_piece_merging(pybind11::module_& module);    // PieceMerger
void bind_splitting(pybind11::module_& module);        // CompiledSplitter, split_texts, split_and_remove
void bind_symbol_encoding(pybind11::module_& module);  // SymbolEncoder, decode, philox
void bind_text_encoding(pybind11::module_& module);    // TextEncoder

}  // namespace pyharness::bindings
