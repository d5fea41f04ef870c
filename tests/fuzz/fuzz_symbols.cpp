// The encoder of characters and marked bytes against the definition, its dropout at 0 and 1, longest match,
// pieces on several threads, and the cutter at added tokens.
#include <map>

#include "core/encoding/added_tokens.hpp"
#include "core/encoding/symbols/batches.hpp"
#include "core/encoding/symbols/symbol_encoder.hpp"
#include "fuzzing.hpp"
#include "model_reader.hpp"
#include "slow_bpe.hpp"

namespace pyharness {
namespace {

using fuzz::Ids;
using fuzz::OwnedModel;
using fuzz::require;

// Symbols are single bytes here, so the model's own base is the alphabet; the rest is as BpeEncoder has it.
SymbolOptions options_of(const OwnedModel& model, FuzzedDataProvider& input) {
  SymbolOptions options;
  options.characters = input.ConsumeBool();
  for (int byte = 0; byte < 256; ++byte) {
    const char symbol = static_cast<char>(byte);
    if (options.characters && byte >= 0x80) break;  // no character by itself
    const auto ids = model.base_of({&symbol, 1});
    if (!ids.empty()) options.alphabet.emplace_back(std::string(1, symbol), ids[0]);
  }
  return options;
}

Ids encode(const SymbolEncoder& encoder, std::string_view piece, SymbolWorkspace& workspace) {
  Ids ids;
  encoder.encode(piece, workspace, ids);
  return ids;
}

Ids sample(const SymbolEncoder& encoder, std::string_view piece, double probability, std::uint64_t seed,
           SymbolWorkspace& workspace) {
  Ids ids;
  encoder.encode(piece, Dropout{probability, seed, 1, 2}, workspace, ids);
  return ids;
}

std::string bytes_of(const MergeModel& model, const Ids& ids) {
  std::string bytes;
  for (const std::uint32_t id : ids) bytes += model.bytes(id);
  return bytes;
}

void check_merging(const OwnedModel& model, const SymbolOptions& options, std::string_view piece,
                   std::uint64_t seed) {
  const SymbolEncoder encoder(model.view(), options);
  SymbolWorkspace workspace;
  Ids base;
  for (const std::uint32_t id : model.base_of(piece)) {
    if (!options.characters || static_cast<signed char>(model.view().bytes(id)[0]) >= 0) base.push_back(id);
  }
  const Ids right = fuzz::SlowEncoder(model.view()).encode(base);
  require(encode(encoder, piece, workspace) == right, "symbols are merged as defined");
  require(encode(encoder, piece, workspace) == right, "the cache gives what it was given");
  require(sample(encoder, piece, 0, seed, workspace) == right, "dropout 0 is no dropout");
  require(sample(encoder, piece, 1, seed, workspace) == base, "dropout 1 merges nothing");
  const Ids sampled = sample(encoder, piece, 0.4, seed, workspace);
  require(sampled == sample(encoder, piece, 0.4, seed, workspace), "a seed gives the same again");
  require(bytes_of(model.view(), sampled) == bytes_of(model.view(), base), "dropout loses nothing");
}

void check_pieces(const OwnedModel& model, const SymbolOptions& options, std::string_view text,
                  std::size_t cut) {
  const SymbolEncoder encoder(model.view(), options);
  SymbolWorkspace workspace;
  EncodedBatch right{{}, {0}};
  std::vector<std::int64_t> offsets{0};
  for (const std::size_t end : {cut / 2, cut, text.size(), text.size()}) {
    const auto begin = static_cast<std::size_t>(offsets.back());
    encoder.encode(text.substr(begin, end - begin), workspace, right.ids);
    right.offsets.push_back(static_cast<std::int64_t>(right.ids.size()));
    offsets.push_back(static_cast<std::int64_t>(end));
  }
  SymbolWorkspaces workspaces;
  for (const int threads : {1, 2, 5}) {
    const EncodedBatch found = encode_pieces(encoder, text, offsets, workspaces, threads);
    require(found.ids == right.ids && found.offsets == right.offsets, "pieces are encoded one by one");
  }
}

std::vector<AddedToken> added_tokens(std::string_view text, FuzzedDataProvider& input) {
  std::vector<AddedToken> tokens;
  for (std::uint32_t left = input.ConsumeIntegralInRange(0u, 6u); left > 0 && !text.empty(); --left) {
    const auto begin = input.ConsumeIntegralInRange<std::size_t>(0, text.size() - 1);
    const std::string_view content = text.substr(begin, input.ConsumeIntegralInRange<std::size_t>(1, 5));
    tokens.push_back({.content = std::string(content), .id = left, .off = input.ConsumeBool()});
  }
  return tokens;
}

const AddedToken* longest_at(const std::vector<AddedToken>& tokens, std::string_view text) {
  const AddedToken* longest = nullptr;
  for (const AddedToken& token : tokens) {
    if (text.starts_with(token.content) && (!longest || token.content.size() > longest->content.size()))
      longest = &token;
  }
  return longest;
}

void check_added_tokens(std::string_view text, std::vector<AddedToken> tokens, FuzzedDataProvider& input) {
  const std::string_view texts[] = {text};
  CutTexts expected{{}, {}, {0}};
  std::size_t after = 0;
  const auto stretch = [&](std::size_t end) {
    if (after < end) {
      expected.stretches.push_back(text.substr(after, end - after));
      expected.items.push_back(CutTexts::kStretch);
    }
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* const found = longest_at(tokens, text.substr(at));
    const std::size_t length = found ? found->content.size() : 1;
    if (found && !found->off) {
      stretch(at);
      expected.items.push_back(found->id);
      after = at + length;
    }
    at += length;
  }
  if (!text.empty()) {
    stretch(text.size());
    const CutTexts cut = AddedTokenCutter(tokens).cut(texts, 1);
    require(cut.items == expected.items, "leftmost first, the longest of those that start together");
    require(cut.stretches == expected.stretches, "what stands between tokens is kept");
  }
  for (AddedToken& token : tokens) {
    token.lstrip = input.ConsumeBool();
    token.rstrip = input.ConsumeBool();
    token.single_word = input.ConsumeBool();
  }
  for (const std::string_view part : AddedTokenCutter(tokens).cut(texts, 1).stretches)
    require(part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size(),
            "stretches are parts of the text");
}

}  // namespace
}  // namespace pyharness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pyharness;
  FuzzedDataProvider input(data, size);
  const fuzz::OwnedModel model = fuzz::ModelReader(input).read();
  const SymbolOptions options = options_of(model, input);
  const auto seed = input.ConsumeIntegral<std::uint64_t>();
  const fuzz::ExactText text(input.ConsumeBytesAsString(200));
  check_merging(model, options, text.view(), seed);
  check_pieces(model, options, text.view(), input.ConsumeIntegralInRange<std::size_t>(0, text.view().size()));
  check_added_tokens(text.view(), added_tokens(text.view(), input), input);
  return 0;
}
