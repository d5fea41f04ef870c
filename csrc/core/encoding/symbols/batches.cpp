#include "core/encoding/symbols/batches.hpp"

#include <atomic>
#include <numeric>
#include <utility>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"

namespace pyharness {
namespace {

// Encodes a text piece by piece.
class TextRun {
 public:
  TextRun(const SymbolEncoder& encoder, const DropoutBatch& batch) : encoder_(encoder), batch_(batch) {
    dropout_.probability = batch.probability;
    dropout_.seed = batch.seed;
  }

  void piece(std::size_t text, std::size_t begin, std::string_view bytes, SymbolWorkspace& workspace,
             std::vector<std::uint32_t>& ids) {
    if (batch_.probability <= 0) return encoder_.encode(bytes, workspace, ids);
    dropout_.document = batch_.documents[text];
    dropout_.position = batch_.positions[text] + begin;
    encoder_.encode(bytes, dropout_, workspace, ids);
  }

 private:
  const SymbolEncoder& encoder_;
  const DropoutBatch& batch_;
  Dropout dropout_;
};

EncodedBatch joined(const std::vector<std::vector<std::uint32_t>>& texts) {
  EncodedBatch batch;
  batch.offsets.reserve(texts.size() + 1);
  batch.offsets.push_back(0);
  for (const auto& ids : texts)
    batch.offsets.push_back(batch.offsets.back() + static_cast<std::int64_t>(ids.size()));
  batch.ids.reserve(static_cast<std::size_t>(batch.offsets.back()));
  for (const auto& ids : texts) batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
  return batch;
}

}  // namespace

EncodedBatch encode_texts(const SymbolEncoder& encoder, std::span<const std::string_view> texts,
                          const PieceEnds* pieces, const DropoutBatch& dropout, SymbolWorkspaces& workspaces,
                          int threads) {
  if (pieces != nullptr) check_pieces(texts, *pieces);
  if (dropout.probability > 0) {
    check_length(dropout.documents.size(), texts.size(), "documents");
    check_length(dropout.positions.size(), texts.size(), "positions");
  }
  constexpr std::size_t kBlock = 16;  // texts taken at a time
  std::vector<std::vector<std::uint32_t>> ids(texts.size());
  std::atomic<std::size_t> next{0};
  run_on_threads(threads, [&](int) {
    const SymbolWorkspaces::Lease workspace(workspaces);
    TextRun run(encoder, dropout);
    for (std::size_t first = next.fetch_add(kBlock); first < texts.size(); first = next.fetch_add(kBlock)) {
      for (std::size_t text = first; text < std::min(texts.size(), first + kBlock); ++text) {
        if (pieces == nullptr) {
          run.piece(text, 0, texts[text], *workspace, ids[text]);
          continue;
        }
        std::size_t begin = 0;
        for (auto piece = pieces->offsets[text]; piece < pieces->offsets[text + 1]; ++piece) {
          const auto end = static_cast<std::size_t>(pieces->ends[static_cast<std::size_t>(piece)]);
          run.piece(text, begin, texts[text].substr(begin, end - begin), *workspace, ids[text]);
          begin = end;
        }
      }
    }
  });
  return joined(ids);
}

EncodedBatch encode_pieces(const SymbolEncoder& encoder, std::string_view data,
                           std::span<const std::int64_t> offsets, SymbolWorkspaces& workspaces, int threads) {
  check_offsets(offsets, data.size(), "offsets");
  check_threads(threads);
  const std::size_t pieces = offsets.size() - 1;
  std::vector<std::vector<std::uint32_t>> shares(static_cast<std::size_t>(threads));
  EncodedBatch batch{{}, std::vector<std::int64_t>(offsets.size())};
  run_on_threads(threads, [&](int worker) {
    const SymbolWorkspaces::Lease workspace(workspaces);
    auto& ids = shares[static_cast<std::size_t>(worker)];
    const std::size_t last = share_begin(pieces, worker + 1, threads);
    for (std::size_t piece = share_begin(pieces, worker, threads); piece < last; ++piece) {
      const auto begin = static_cast<std::size_t>(offsets[piece]);
      const std::size_t before = ids.size();
      encoder.encode(data.substr(begin, static_cast<std::size_t>(offsets[piece + 1]) - begin), *workspace,
                     ids);
      batch.offsets[piece + 1] = static_cast<std::int64_t>(ids.size() - before);
    }
  });
  std::partial_sum(batch.offsets.begin(), batch.offsets.end(), batch.offsets.begin());
  batch.ids = std::move(shares[0]);
  for (std::size_t share = 1; share < shares.size(); ++share)
    batch.ids.insert(batch.ids.end(), shares[share].begin(), shares[share].end());
  return batch;
}

}  // namespace pyharness
