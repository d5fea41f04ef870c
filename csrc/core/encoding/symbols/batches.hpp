// Batches of texts through a SymbolEncoder.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/encoding/symbols/symbol_encoder.hpp"
#include "core/machine/workspace_pool.hpp"
#include "core/merging/bpe_encoder.hpp"
#include "core/splitting/piece_ends.hpp"

namespace pyharness {

// Which draws dropout makes: text t is a part of document documents[t] that starts at its byte positions[t].
struct DropoutBatch {
  double probability = 0;
  std::uint64_t seed = 0;
  std::span<const std::uint64_t> documents, positions;
};

using SymbolWorkspaces = WorkspacePool<SymbolWorkspace>;

// Encodes the pieces of texts; where `pieces` is null, a text is one piece. The result does not depend on
// `threads`.
EncodedBatch encode_texts(const SymbolEncoder& encoder, std::span<const std::string_view> texts,
                          const PieceEnds* pieces, const DropoutBatch& dropout, SymbolWorkspaces& workspaces,
                          int threads);

// Encodes pieces that lie end to end: piece p is data[offsets[p]:offsets[p + 1]]. The result does not depend
// on `threads`. Throws std::invalid_argument for offsets that do not fit.
EncodedBatch encode_pieces(const SymbolEncoder& encoder, std::string_view data,
                           std::span<const std::int64_t> offsets, SymbolWorkspaces& workspaces, int threads);

}  // namespace pyharness
