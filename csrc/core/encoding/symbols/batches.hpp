// Batches of texts through a SymbolEncoder.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "core/encoding/symbols/symbol_encoder.hpp"
#include "core/merging/bpe_encoder.hpp"
#include "core/splitting/text_splitter.hpp"

namespace pyharness {

// Which draws dropout makes: text t is a part of document documents[t] that starts at its byte positions[t].
struct DropoutBatch {
  double probability = 0;
  std::uint64_t seed = 0;
  std::span<const std::uint64_t> documents, positions;
};

// Workspaces that outlive a batch, so that their caches stay warm. One is with one thread at a time.
class SymbolWorkspaces {
 public:
  std::unique_ptr<SymbolWorkspace> take();
  void give_back(std::unique_ptr<SymbolWorkspace> workspace);

 private:
  std::mutex lock_;
  std::vector<std::unique_ptr<SymbolWorkspace>> idle_;
};

// Encodes the pieces of texts; without `pieces` a text is one piece. The result does not depend on `threads`.
EncodedBatch encode_texts(const SymbolEncoder& encoder, std::span<const std::string_view> texts,
                          std::span<const std::int64_t> ends, std::span<const std::int64_t> offsets,
                          const DropoutBatch& dropout, SymbolWorkspaces& workspaces, int threads);

}  // namespace pyharness
