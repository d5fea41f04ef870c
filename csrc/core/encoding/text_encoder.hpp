// Texts to ids, as production code wants it: split, looked up in a cache of pieces, merged where that fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/encoding/id_buffer.hpp"
#include "core/encoding/piece_cache.hpp"
#include "core/encoding/piece_writer.hpp"
#include "core/machine/workspace_pool.hpp"
#include "core/merging/piece_merger/piece_merger.hpp"
#include "core/splitting/piece_ends.hpp"
#include "core/splitting/text_splitter.hpp"

namespace pyharness {

// The ids of text t are ids[offsets[t]:offsets[t + 1]].
struct EncodedTexts {
  IdBuffer ids;
  std::vector<std::int64_t> offsets;
};

// May be called from several threads at once. Results depend on nothing but the model, the splitter and the
// text.
class TextEncoder {
 public:
  // The model is as for PieceMerger. Without a splitter, only encode_pieces() works. `cache_bytes` bounds the
  // cache, which all threads share.
  TextEncoder(const MergeModel& model, bool whole_pieces, Expansion expansion,
              std::optional<Splitter> splitter, std::size_t cache_bytes);
  ~TextEncoder();

  EncodedTexts encode_batch(std::span<const std::string_view> texts, int threads);
  // Throws std::invalid_argument unless the pieces are those of the texts.
  EncodedTexts encode_pieces(std::span<const std::string_view> texts, const PieceEnds& pieces, int threads);

  // Calls receive(ids) with the ids of one text, which are valid during the call only.
  template <class Receive>
  auto encode(std::string_view text, Receive&& receive) {
    const Lease lease(workers_);
    return std::forward<Receive>(receive)(encode_with(*lease, text));
  }

  std::size_t cached_bytes() const { return cache_.bytes(); }

 private:
  struct Worker {
    void trim() noexcept;
    PieceWriterWorkspace workspace;
    IdBuffer ids;
  };
  using Lease = WorkspacePool<Worker>::Lease;

  void cache_tokens(const MergeModel& model);
  PieceWriter writer(Worker& worker, IdBuffer& ids) {
    return PieceWriter(merger_, cache_, worker.workspace, ids);
  }
  const Splitter& splitter() const;
  std::span<const std::uint32_t> encode_with(Worker& worker, std::string_view text);
  template <class EncodeText>
  EncodedTexts encode_texts(std::span<const std::string_view> texts, int threads, EncodeText encode_text);
  template <class EncodeText>
  EncodedTexts encode_on_threads(std::span<const std::string_view> texts, std::span<const std::size_t> chunks,
                                 int threads, EncodeText encode_text);

  PieceMerger merger_;
  std::optional<Splitter> splitter_;
  PieceCache cache_;
  WorkspacePool<Worker> workers_;
};

}  // namespace pyharness
