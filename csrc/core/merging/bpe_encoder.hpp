// Exact rank-order BPE of one piece: apply the rule of the lowest rank, the leftmost position first, until
// none applies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/model/merge_model.hpp"
#include "core/model/rule_table.hpp"
#include "core/model/symbol_table.hpp"

namespace pyharness {

// Memory of one encoding thread, kept between pieces.
struct EncodingWorkspace {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> starts;   // first byte of every symbol; ranks form only
  std::vector<std::uint32_t> ranks;    // of the merge of symbol i with its right neighbour; kNever: none
  std::vector<std::uint32_t> results;  // what that merge gives
  std::vector<std::uint32_t> next, previous;
  std::vector<std::uint64_t> queue;
  std::string bytes;                            // of the whole piece; ranks form only
  std::uint32_t last_left = 0, last_right = 0;  // ids of the latest merge's parts
};

class BpeEncoder {
 public:
  // Pieces up to this many symbols are merged by scanning an array: no queue, no links. Measured with o200k,
  // ms per MB of base symbols, scan against queue: 83/94 at 16 symbols, 125/119 at 32, 149/118 at 64, 654/184
  // at 1,024.
  static constexpr std::size_t kLinearLimit = 32;

  // Checks the model. The arrays behind it must outlive the encoder.
  explicit BpeEncoder(const MergeModel& model);

  // Ids of the piece that starts as the symbols `base`; valid until the workspace is used again.
  std::span<const std::uint32_t> encode(std::span<const std::uint32_t> base,
                                        EncodingWorkspace& workspace) const;

  // Asks for the memory of the merge that gives `id`; encoding its base symbols ends there, and it is seldom
  // cached.
  void prefetch(std::size_t id) const {
    if (const auto* symbols = std::get_if<SymbolTable>(&table_)) symbols->prefetch(model_.bytes(id));
  }

  const MergeModel& model() const { return model_; }

 private:
  static std::variant<RuleTable, SymbolTable> make_table(const MergeModel& model);

  MergeModel model_;
  std::variant<RuleTable, SymbolTable> table_;
};

struct EncodedBatch {
  std::vector<std::uint32_t> ids;
  std::vector<std::int64_t> offsets;
};

// Piece d is base[offsets[d]:offsets[d + 1]]. The result does not depend on `threads`.
EncodedBatch encode_batch(const BpeEncoder& encoder, std::span<const std::uint32_t> base,
                          std::span<const std::int64_t> offsets, int threads);

}  // namespace pyharness
