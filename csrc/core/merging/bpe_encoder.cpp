#include "core/merging/bpe_encoder.hpp"

#include <atomic>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"
#include "core/merging/merge_loops.hpp"

namespace pyharness {
namespace {

void load_symbols(std::span<const std::uint32_t> base, EncodingWorkspace& piece) {
  if (base.size() >= kNever) throw std::invalid_argument("a piece holds fewer than 2**32 - 1 symbols");
  if (piece.ids.size() < base.size()) {
    piece.ids.resize(base.size());
    piece.ranks.resize(base.size());
    piece.results.resize(base.size());
  }
  std::copy(base.begin(), base.end(), piece.ids.begin());
}

void load_bytes(const MergeModel& model, std::span<const std::uint32_t> base, EncodingWorkspace& piece) {
  if (piece.starts.size() < base.size() + 1) piece.starts.resize(base.size() + 1);
  piece.bytes.clear();
  for (std::size_t i = 0; i < base.size(); ++i) {
    piece.starts[i] = static_cast<std::uint32_t>(piece.bytes.size());
    piece.bytes += model.bytes(base[i]);
    if (piece.bytes.size() >= kNever) throw std::invalid_argument("a piece holds fewer than 2**32 - 1 bytes");
  }
  piece.starts[base.size()] = static_cast<std::uint32_t>(piece.bytes.size());
}

}  // namespace

std::variant<RuleTable, SymbolTable> BpeEncoder::make_table(const MergeModel& model) {
  model.check();
  if (model.rules) return RuleTable(model);
  return SymbolTable(model);
}

BpeEncoder::BpeEncoder(const MergeModel& model) : model_(model), table_(make_table(model)) {}

std::span<const std::uint32_t> BpeEncoder::encode(std::span<const std::uint32_t> base,
                                                  EncodingWorkspace& workspace) const {
  check_ids(base, model_.size(), "base");
  load_symbols(base, workspace);
  std::size_t count = 0;
  if (const auto* rules = std::get_if<RuleTable>(&table_)) {
    count = merge_piece(MergeByRule{*rules, workspace}, workspace, base.size());
  } else {
    load_bytes(model_, base, workspace);
    count = merge_piece(MergeByRank{*std::get_if<SymbolTable>(&table_), workspace}, workspace, base.size());
  }
  return {workspace.ids.data(), count};
}

EncodedBatch encode_batch(const BpeEncoder& encoder, std::span<const std::uint32_t> base,
                          std::span<const std::int64_t> offsets, int threads) {
  check_offsets(offsets, base.size(), "base_offsets");
  check_ids(base, encoder.model().size(), "base");
  constexpr std::size_t kBlock = 64;  // pieces taken at a time
  EncodedBatch batch{std::vector<std::uint32_t>(base.size()), std::vector<std::int64_t>(offsets.size())};
  const std::size_t pieces = offsets.size() - 1;
  const auto begin_of = [&](std::size_t piece) { return static_cast<std::size_t>(offsets[piece]); };
  std::atomic<std::size_t> next{0};
  // A piece never grows, so its ids fit where its base symbols were; lengths go to offsets[piece + 1] for
  // now.
  run_on_threads(threads, [&](int) {
    EncodingWorkspace workspace;
    for (std::size_t first = next.fetch_add(kBlock); first < pieces; first = next.fetch_add(kBlock)) {
      for (std::size_t piece = first; piece < std::min(pieces, first + kBlock); ++piece) {
        const auto symbols = base.subspan(begin_of(piece), begin_of(piece + 1) - begin_of(piece));
        const auto ids = encoder.encode(symbols, workspace);
        std::copy(ids.begin(), ids.end(), batch.ids.begin() + offsets[piece]);
        batch.offsets[piece + 1] = static_cast<std::int64_t>(ids.size());
      }
    }
  });
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const auto from = batch.ids.begin() + offsets[piece];
    std::copy(from, from + batch.offsets[piece + 1], batch.ids.begin() + batch.offsets[piece]);
    batch.offsets[piece + 1] += batch.offsets[piece];
  }
  batch.ids.resize(static_cast<std::size_t>(batch.offsets.back()));
  return batch;
}

}  // namespace pyharness
