// The encoder of characters and marked bytes against the definition, its dropout at 0 and 1, longest match,
// and the finder of added tokens.
#include <map>

#include "core/added_tokens.hpp"
#include "core/symbol_encoder.hpp"
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

void check_added_tokens(std::string_view text, FuzzedDataProvider& input) {
  std::vector<std::string> tokens;
  for (int left = input.ConsumeIntegralInRange(0, 6); left > 0 && !text.empty(); --left) {
    const auto begin = input.ConsumeIntegralInRange<std::size_t>(0, text.size() - 1);
    tokens.emplace_back(text.substr(begin, input.ConsumeIntegralInRange<std::size_t>(1, 5)));
  }
  const std::string_view texts[] = {text};
  const AddedTokenMatches found = AddedTokenFinder(tokens).find(texts, 1);
  std::size_t match = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t longest = 0;
    for (const std::string& token : tokens)
      if (text.substr(at).starts_with(token)) longest = std::max(longest, token.size());
    if (longest != 0) {
      require(match < found.starts.size() && found.starts[match] == static_cast<std::int64_t>(at),
              "leftmost first");
      require(tokens[found.tokens[match]].size() == longest, "the longest of those that start together");
      ++match;
    }
    at += std::max<std::size_t>(longest, 1);
  }
  require(match == found.starts.size(), "no token more");
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
  check_added_tokens(text.view(), input);
  return 0;
}
