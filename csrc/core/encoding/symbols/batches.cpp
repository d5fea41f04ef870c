#include "core/encoding/symbols/batches.hpp"

#include <atomic>
#include <stdexcept>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"

namespace pyharness {
namespace {

void check_pieces(std::span<const std::string_view> texts, std::span<const std::int64_t> ends,
                  std::span<const std::int64_t> offsets) {
  check_length(offsets.size(), texts.size() + 1, "offsets");
  check_offsets(offsets, ends.size(), "offsets");
  for (std::size_t text = 0; text < texts.size(); ++text) {
    std::int64_t begin = 0;
    for (std::int64_t piece = offsets[text]; piece < offsets[text + 1]; ++piece) {
      const std::int64_t end = ends[static_cast<std::size_t>(piece)];
      if (end < begin || static_cast<std::uint64_t>(end) > texts[text].size())
        throw std::invalid_argument("the pieces of text " + std::to_string(text) + " do not fit it");
      begin = end;
    }
    if (static_cast<std::uint64_t>(begin) != texts[text].size())
      throw std::invalid_argument("the pieces of text " + std::to_string(text) + " do not cover it");
  }
}

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

std::unique_ptr<SymbolWorkspace> SymbolWorkspaces::take() {
  const std::lock_guard hold(lock_);
  if (idle_.empty()) return std::make_unique<SymbolWorkspace>();
  auto workspace = std::move(idle_.back());
  idle_.pop_back();
  return workspace;
}

void SymbolWorkspaces::give_back(std::unique_ptr<SymbolWorkspace> workspace) {
  const std::lock_guard hold(lock_);
  idle_.push_back(std::move(workspace));
}

EncodedBatch encode_texts(const SymbolEncoder& encoder, std::span<const std::string_view> texts,
                          std::span<const std::int64_t> ends, std::span<const std::int64_t> offsets,
                          const DropoutBatch& dropout, SymbolWorkspaces& workspaces, int threads) {
  if (!offsets.empty()) check_pieces(texts, ends, offsets);
  if (dropout.probability > 0) {
    check_length(dropout.documents.size(), texts.size(), "documents");
    check_length(dropout.positions.size(), texts.size(), "positions");
  }
  constexpr std::size_t kBlock = 16;  // texts taken at a time
  std::vector<std::vector<std::uint32_t>> ids(texts.size());
  std::atomic<std::size_t> next{0};
  run_on_threads(threads, [&](int) {
    auto workspace = workspaces.take();
    TextRun run(encoder, dropout);
    for (std::size_t first = next.fetch_add(kBlock); first < texts.size(); first = next.fetch_add(kBlock)) {
      for (std::size_t text = first; text < std::min(texts.size(), first + kBlock); ++text) {
        if (offsets.empty()) {
          run.piece(text, 0, texts[text], *workspace, ids[text]);
          continue;
        }
        std::size_t begin = 0;
        for (std::int64_t piece = offsets[text]; piece < offsets[text + 1]; ++piece) {
          const auto end = static_cast<std::size_t>(ends[static_cast<std::size_t>(piece)]);
          run.piece(text, begin, texts[text].substr(begin, end - begin), *workspace, ids[text]);
          begin = end;
        }
      }
    }
    workspaces.give_back(std::move(workspace));
  });
  return joined(ids);
}

}  // namespace pyharness
