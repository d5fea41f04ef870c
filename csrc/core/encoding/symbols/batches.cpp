#include "core/encoding/symbols/batches.hpp"

#include <atomic>

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

}  // namespace pyharness
