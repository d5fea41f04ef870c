// Byte-level BPE of one piece: the ids that BpeEncoder gives, fast for short pieces, linear for long ones.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/merging/bpe_encoder.hpp"
#include "core/merging/piece_merger/model.hpp"
#include "core/model/merge_model.hpp"

namespace pyharness {

// Internal id -> output ids: id i becomes ids[offsets[i]:offsets[i + 1]]. Empty offsets: every id is itself.
struct Expansion {
  std::vector<std::uint32_t> ids;
  std::vector<std::int64_t> offsets;
};

// Memory of one encoding thread, kept between pieces.
struct PieceMergingWorkspace {
  MergingWorkspace merging;
  std::array<MergingWindow, 8> windows;  // of pieces that take turns; more of them are not faster
  std::vector<std::uint32_t> ids;        // of one of these pieces
  std::vector<std::uint32_t> symbols;
  std::string kept;  // the bytes of a piece that have base symbols
};

class PieceMerger {
 public:
  // `model` is byte-level: base symbols are its atomic ids of one byte. `whole_pieces`: a piece that is a
  // tested or atomic token is that token, whatever the rules say; of ids with equal bytes the one with the
  // lowest rank, in the rules form the lowest id. The arrays behind the model must outlive the merger. Throws
  // std::invalid_argument for arrays that do not fit each other.
  PieceMerger(const MergeModel& model, bool whole_pieces, Expansion expansion);

  // Appends the ids of a piece. Bytes without a base symbol are left out before merging, as `tokenizers` does
  // without an unknown token.
  void encode(std::string_view piece, PieceMergingWorkspace& workspace,
              std::vector<std::uint32_t>& ids) const;

  // Calls receive(index, ids) for each of the pieces, in no certain order: they are merged in turns, a merge
  // of one while memory comes for the others.
  using Receive = std::function<void(std::size_t, std::span<const std::uint32_t>)>;
  void encode_each(std::span<const std::string_view> pieces, PieceMergingWorkspace& workspace,
                   const Receive& receive) const;

 private:
  // One id, or `count` ids from expansion_.ids[first].
  struct Output {
    std::uint32_t first;
    std::uint32_t count;
  };

  Output output_of(std::uint32_t id) const;
  void find_shift();
  void find_whole_pieces();
  void note_whole_piece(std::uint32_t id);
  std::string_view kept_bytes(std::string_view piece, PieceMergingWorkspace& workspace) const;
  void encode_in_order(std::string_view piece, PieceMergingWorkspace& workspace,
                       std::vector<std::uint32_t>& ids) const;
  void append(Output output, std::vector<std::uint32_t>& ids) const;
  void append_symbol(std::uint32_t symbol, std::vector<std::uint32_t>& ids) const;
  void append_window(const MergingWindow& window, std::vector<std::uint32_t>& ids) const;

  MergeModel model_;
  Expansion expansion_;
  std::optional<SymbolModel> symbols_;
  std::optional<BpeEncoder> encoder_;  // of models that do not reduce to symbols
  std::vector<std::uint32_t> byte_ids_;
  bool lacks_bytes_;
  std::vector<Output> outputs_;          // by symbol; by id for models that do not reduce to symbols
  std::uint32_t shifted_from_ = kNever;  // this symbol and those above have their number and `shift_` as id
  std::uint32_t shift_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> whole_;  // ids of pieces that merging does not make
};

}  // namespace pyharness
