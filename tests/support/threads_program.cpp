// Everything in the core that runs on several threads, on several and on one: the same results, and nothing
// for ThreadSanitizer to say. `.ci/sanitize` runs it; `program planted` has a race, which must be found.
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/encoding/added_tokens.hpp"
#include "core/encoding/symbols/batches.hpp"
#include "core/encoding/text_encoder.hpp"
#include "core/entropy/entropy.hpp"
#include "core/machine/parallel.hpp"
#include "core/merging/bpe_encoder.hpp"
#include "core/pairs/pair_histogram.hpp"
#include "core/reachability/self_tokenization.hpp"
#include "core/splitting/text_splitter.hpp"
#include "core/symbols/symbol_counter.hpp"
#include "core/symbols/symbol_model.hpp"
#include "core/text/segment_ends.hpp"
#include "core/text/statistics/text_statistics.hpp"
#include "core/training/bpe_trainer.hpp"
#include "core/training/piece_counter.hpp"
#include "fuzz/owned_model.hpp"

namespace pyharness {
namespace {

constexpr int kThreads = 4;
constexpr auto kPattern = SplitPattern::kCl100k;
using Ids = std::vector<std::uint32_t>;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "differs on %d threads: %s\n", kThreads, what);
  std::exit(1);
}

template <class Value>
bool same(std::span<const Value> a, std::span<const Value> b) {
  return std::ranges::equal(a, b);
}

// Words of few letters, most of them often: caches are hit, filled and turned over.
struct Texts {
  std::vector<std::string> owned;
  std::vector<std::string_view> views;

  Texts() {
    std::mt19937 random(4);
    for (int text = 0; text < 300; ++text) {
      std::string words;
      while (words.size() < 600) {
        const auto length = 1 + random() % 20 % (1 + random() % 20);
        for (std::size_t i = 0; i < length; ++i) words += "abcde"[random() % 5 % (1 + random() % 5)];
        words += random() % 9 == 0 ? "\n" : " ";
      }
      owned.push_back(words + "\xC3\xA9\xE4\xB8\xAD <s>");
    }
    views.assign(owned.begin(), owned.end());
  }
};

CountedPieces count(const Texts& texts, int threads) {
  PieceCounter counter(kPattern, std::size_t{1} << 30);
  counter.add(texts.views, threads);
  counter.add(texts.views, threads);
  return counter.pieces();
}

fuzz::OwnedModel train(const CountedPieces& pieces) {
  const Ids symbols(pieces.bytes.begin(), pieces.bytes.end());
  TokenStrings base;
  for (int byte = 0; byte < 256; ++byte) base.add(std::string(1, static_cast<char>(byte)));
  TrainingOptions options;
  options.vocabulary_size = 600;
  return fuzz::model_of(train_bpe({symbols, pieces.offsets, pieces.counts}, std::move(base), options), 256);
}

void check_splitting(const Texts& texts) {
  const UnitEnds one = split_texts(kPattern, texts.views, 1),
                 many = split_texts(kPattern, texts.views, kThreads);
  require(one.ends == many.ends && one.offsets == many.offsets, "split_texts");
  const UnitEnds segments = segment_ends(texts.views, 1), others = segment_ends(texts.views, kThreads);
  require(segments.ends == others.ends && segments.offsets == others.offsets, "segment_ends");
  std::vector<TextStatistics> rows(texts.views.size()), again(texts.views.size());
  text_statistics(texts.views, rows, 1);
  text_statistics(texts.views, again, kThreads);
  require(rows == again, "text_statistics");
}

void check_counting(const Texts& texts, const CountedPieces& one) {
  const CountedPieces many = count(texts, kThreads);
  require(one.bytes == many.bytes && one.offsets == many.offsets && one.counts == many.counts,
          "PieceCounter");
  const Ids ids(one.bytes.begin(), one.bytes.end());
  const PairSegments segments{one.offsets.data(), static_cast<std::int64_t>(one.counts.size()),
                              one.counts.data(), false};
  const PairHistogram pairs = pair_histogram(ids, segments, 1);
  const PairHistogram again = pair_histogram(ids, segments, kThreads);
  require(pairs.left == again.left && pairs.right == again.right && pairs.count == again.count,
          "pair_histogram");
}

void check_entropy() {
  constexpr std::int64_t kRows = 64, kColumns = 1000;
  std::vector<float> logits(kRows * kColumns);
  std::mt19937 random(5);
  for (float& logit : logits) logit = static_cast<float>(random() % 1000) / 100;
  std::vector<float> one(kRows), many(kRows);
  const Logits view{logits.data(), LogitType::kFloat32, kRows, kColumns, kColumns};
  for (auto [threads, result] : {std::pair{1, &one}, std::pair{kThreads, &many}}) {
    EntropyOutputs<float> outputs;
    outputs.entropy = result->data();
    entropy(view, {}, {}, outputs, chosen_instruction_set(), threads);
  }
  require(one == many, "entropy");
}

void check_models(const fuzz::OwnedModel& model, const CountedPieces& pieces) {
  const BpeEncoder encoder(model.view());
  const Ids base(pieces.bytes.begin(), pieces.bytes.end());
  const EncodedBatch one = encode_batch(encoder, base, pieces.offsets, 1);
  const EncodedBatch many = encode_batch(encoder, base, pieces.offsets, kThreads);
  require(one.ids == many.ids && one.offsets == many.offsets, "encode_batch");
  const SelfTokenization tested = self_tokenization(model.view(), 1);
  require(tested.verdict == self_tokenization(model.view(), kThreads).verdict, "self_tokenization");
}

// Threads inside a call, and calls from several threads on one encoder whose cache is too small for the text.
void check_text_encoder(const Texts& texts, const fuzz::OwnedModel& model) {
  TextEncoder alone(model.view(), false, {}, kPattern, 0);
  const EncodedTexts right = alone.encode_batch(texts.views, 1);
  for (const std::size_t cache : {std::size_t{3000}, std::size_t{1} << 16, std::size_t{1} << 24}) {
    TextEncoder shared(model.view(), false, {}, kPattern, cache);
    run_on_threads(kThreads, [&](int worker) {
      const EncodedTexts found = shared.encode_batch(texts.views, 1 + worker % 2);
      require(same(found.ids.ids(), right.ids.ids()) && found.offsets == right.offsets, "TextEncoder");
      shared.encode(texts.views[0], [&](std::span<const std::uint32_t> ids) {
        require(same(ids, right.ids.ids().first(ids.size())), "TextEncoder::encode");
      });
    });
  }
}

void check_symbols(const Texts& texts, const fuzz::OwnedModel& model, const UnitEnds& pieces) {
  SymbolOptions options;
  options.characters = false;
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    options.alphabet.emplace_back(std::string(1, static_cast<char>(byte)), byte);
  const SymbolEncoder encoder(model.view(), options);
  const std::vector<std::uint64_t> documents(texts.views.size(), 7), positions(texts.views.size(), 0);
  for (const double probability : {0.0, 0.3}) {
    const DropoutBatch dropout{probability, 1, documents, positions};
    SymbolWorkspaces workspaces;
    const PieceEnds ends{pieces.ends, pieces.offsets};
    const auto run = [&](int threads) {
      return encode_texts(encoder, texts.views, &ends, dropout, workspaces, threads);
    };
    const EncodedBatch one = run(1);
    run_on_threads(2, [&](int) { require(run(kThreads).ids == one.ids, "SymbolEncoder"); });
  }
}

void check_added_tokens(const Texts& texts) {
  const AddedTokenCutter cutter({{.content = "<s>", .id = 1, .lstrip = true}, {.content = "a b", .id = 2}});
  const CutTexts one = cutter.cut(texts.views, 1), many = cutter.cut(texts.views, kThreads);
  require(one.has_tokens() && one.stretches == many.stretches && one.items == many.items &&
              one.offsets == many.offsets,
          "AddedTokenCutter");
}

// Bytes of the texts, in an alphabet of bytes and in one of 16 bits: n-grams of 40 and of 80 bits.
void check_symbol_models(const Texts& texts) {
  Ids ids;
  std::vector<std::int64_t> offsets{0};
  for (const std::string& text : texts.owned) {
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
    offsets.push_back(static_cast<std::int64_t>(ids.size()));
  }
  const auto model_of = [&](std::uint32_t alphabet_size, int threads) {
    symbols::SymbolCounter counter(alphabet_size, 5, std::size_t{1} << 30);
    counter.add(std::span<const std::uint32_t>(ids), offsets, threads);
    return symbols::SymbolModel(counter.take_trie(), threads);
  };
  for (const std::uint32_t alphabet_size : {256U, 1U << 16}) {
    const symbols::SymbolModel one = model_of(alphabet_size, 1), many = model_of(alphabet_size, kThreads);
    require(one.trie().counts == many.trie().counts && one.trie().symbols == many.trie().symbols,
            "SymbolCounter");
    const std::span<const std::uint32_t> text(ids);
    const symbols::SymbolScores scores = one.score(text, offsets, 1);
    run_on_threads(2, [&](int) {
      const symbols::SymbolScores again = many.score(text, offsets, kThreads);
      require(again.nll == scores.nll && again.entropy == scores.entropy &&
                  again.next_entropy == scores.next_entropy,
              "SymbolModel");
    });
  }
}

void check_all() {
  const Texts texts;
  const CountedPieces pieces = count(texts, 1);
  const fuzz::OwnedModel model = train(pieces);
  check_splitting(texts);
  check_counting(texts, pieces);
  check_entropy();
  check_models(model, pieces);
  check_text_encoder(texts, model);
  check_symbols(texts, model, split_texts(kPattern, texts.views, 1));
  check_added_tokens(texts);
  check_symbol_models(texts);
}

// Two threads add to one number.
void race() {
  std::size_t shared = 0;
  run_on_threads(2, [&](int) {
    for (int i = 0; i < 1000; ++i) ++shared;
  });
  std::printf("%zu\n", shared);
}

}  // namespace
}  // namespace pyharness

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "planted") == 0) {
    pyharness::race();
  } else {
    pyharness::check_all();
  }
  return 0;
}
