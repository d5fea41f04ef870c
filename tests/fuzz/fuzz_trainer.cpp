// Training: equal to recounting everything before every merge, for every tie rule and for Scaffold-BPE;
// encoding replays it; demolition spells the tokens it takes apart.
#include "core/merging/bpe_encoder.hpp"
#include "core/training/bpe_trainer.hpp"
#include "core/training/demolition.hpp"
#include "fuzzing.hpp"
#include "owned_model.hpp"
#include "slow_bpe.hpp"

namespace pyharness {
namespace {

using fuzz::require;
using fuzz::SlowPiece;
using fuzz::SlowTrainer;

struct Case {
  std::vector<std::string> base;
  std::vector<SlowPiece> pieces;
  TrainingOptions options;

  explicit Case(FuzzedDataProvider& input) {
    // A few letters; sometimes a longer symbol, which merges can make a second time, or a character's bytes.
    static const char* const kBase[] = {"a", "b", "c", "\xE4", "\xB8", "ab", "aa", "abc", "d"};
    base.assign(kBase, kBase + input.ConsumeIntegralInRange(1, 9));
    options.vocabulary_size = base.size() + input.ConsumeIntegralInRange<std::size_t>(0, 40);
    options.min_frequency = input.ConsumeIntegralInRange<std::uint64_t>(0, 5);
    options.max_token_length = input.ConsumeIntegralInRange<std::size_t>(0, 9);
    options.max_token_characters = input.ConsumeIntegralInRange<std::size_t>(0, 9);
    options.tie_rule = static_cast<TieRule>(input.ConsumeIntegralInRange(0, 3));
    const auto unit = std::uint64_t{1} << input.ConsumeIntegralInRange(0, 40);
    read_text(input.ConsumeRemainingBytesAsString(), unit);
  }

 private:
  // A byte is a symbol, or with its low bits set the end of a piece and the weight of the next.
  void read_text(const std::string& text, std::uint64_t unit) {
    pieces.push_back({{}, unit});
    for (const char character : text) {
      const auto byte = static_cast<std::uint8_t>(character);
      if (byte % 16 == 15) {
        pieces.push_back({{}, unit * (byte / 16)});
      } else {
        pieces.back().ids.push_back(static_cast<std::uint32_t>(byte % 16 % base.size()));
      }
    }
  }
};

// The core's form of the pieces and the base.
struct Flat {
  std::vector<std::uint32_t> symbols;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint64_t> weights;
  TokenStrings base;

  explicit Flat(const Case& given) {
    for (const SlowPiece& piece : given.pieces) {
      symbols.insert(symbols.end(), piece.ids.begin(), piece.ids.end());
      offsets.push_back(static_cast<std::int64_t>(symbols.size()));
      weights.push_back(piece.weight);
    }
    for (const std::string& bytes : given.base) base.add(bytes);
  }
  WeightedPieces view() const { return {symbols, offsets, weights}; }
};

void check_same(const TrainedBpe& found, const SlowTrainer& expected) {
  require(found.counts == expected.counts, "rules have the counts of recounting");
  require(std::ranges::equal(found.rules, expected.rules,
                             [](const MergeRule& a, const MergeRule& b) {
                               return a.left == b.left && a.right == b.right && a.result == b.result;
                             }),
          "rules are those of recounting");
  require(found.tokens.size() == expected.tokens.size(), "as many tokens as by recounting");
  for (std::size_t id = 0; id < expected.tokens.size(); ++id)
    require(found.tokens[id] == expected.tokens[id], "tokens are those of recounting");
}

// Where every rule makes a token of its own, encoding goes through the merges in the order of training.
void check_replay(const Case& given, const TrainedBpe& trained, const SlowTrainer& expected) {
  if (trained.rules.size() != trained.tokens.size() - given.base.size()) return;
  const fuzz::OwnedModel model = fuzz::model_of(trained, given.base.size());
  const BpeEncoder encoder(model.view());
  EncodingWorkspace workspace;
  for (std::size_t i = 0; i < given.pieces.size(); ++i) {
    if (given.pieces[i].weight == 0) continue;
    require(std::ranges::equal(encoder.encode(given.pieces[i].ids, workspace), expected.pieces[i].ids),
            "encoding replays the training");
  }
}

void check_demolition(const TrainedScaffold& trained, DemolitionRule rule) {
  const TokenStrings& tokens = trained.expanded.tokens;
  const Demolition done = demolition(tokens, trained.expanded.rules, trained.scaffold, rule);
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    std::string bytes;
    for (auto at = done.offsets[token]; at < done.offsets[token + 1]; ++at) {
      const std::uint32_t part = done.ids[static_cast<std::size_t>(at)];
      require(!trained.scaffold[part], "demolition leaves no scaffold");
      bytes += tokens[part];
    }
    require(bytes == tokens[token], "demolition spells the token");
  }
}

void check_bpe(const Case& given) {
  const Flat flat(given);
  const TrainedBpe trained = train_bpe(flat.view(), flat.base, given.options);
  SlowTrainer slow(given.base, given.pieces, given.options);
  slow.train_bpe();
  check_same(trained, slow);
  check_replay(given, trained, slow);
}

void check_scaffold(const Case& given) {
  const Flat flat(given);
  const TrainedScaffold trained = train_scaffold_bpe(flat.view(), flat.base, given.options, true);
  SlowTrainer slow(given.base, given.pieces, given.options);
  slow.train_scaffold();
  check_same(trained.expanded, slow);
  check_replay(given, trained.expanded, slow);
  for (std::uint32_t token = 0; token < trained.scaffold.size(); ++token)
    require((trained.scaffold[token] != 0) == slow.scaffold.contains(token),
            "the scaffold is that of recounting");
  check_demolition(trained, DemolitionRule::kEquation6);
  check_demolition(trained, DemolitionRule::kShortest);
}

}  // namespace
}  // namespace pyharness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pyharness;
  FuzzedDataProvider input(data, size);
  const bool scaffold = input.ConsumeBool();
  Case given(input);
  if (scaffold) given.options.tie_rule = TieRule::kSmallestIds;
  scaffold ? check_scaffold(given) : check_bpe(given);
  return 0;
}
