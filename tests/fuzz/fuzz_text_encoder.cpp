// Texts through TextEncoder: the pieces of the splitter, each as BpeEncoder encodes it, whatever the cache
// holds and on any number of threads.
#include "core/encoding/text_encoder.hpp"
#include "core/merging/bpe_encoder.hpp"
#include "fuzzing.hpp"
#include "model_reader.hpp"

namespace pyharness {
namespace {

using fuzz::OwnedModel;
using fuzz::require;

struct Encoded {
  std::vector<std::uint32_t> ids;
  std::vector<std::int64_t> offsets{0};
  bool operator==(const Encoded&) const = default;

  static Encoded of(const EncodedTexts& texts) {
    return {{texts.ids.ids().begin(), texts.ids.ids().end()}, texts.offsets};
  }
};

Encoded expected(const OwnedModel& model, SplitPattern pattern, std::span<const std::string_view> texts) {
  const BpeEncoder encoder(model.view());
  EncodingWorkspace workspace;
  Encoded encoded;
  for (const std::string_view text : texts) {
    for_each_piece(pattern, text, [&](std::string_view piece) {
      const auto ids = encoder.encode(model.base_of(piece), workspace);
      encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
    });
    encoded.offsets.push_back(static_cast<std::int64_t>(encoded.ids.size()));
  }
  return encoded;
}

void check_threads_and_cache(TextEncoder& encoder, SplitPattern pattern,
                             std::span<const std::string_view> texts, const Encoded& right) {
  const UnitEnds pieces = split_texts(pattern, texts, 1);
  const PieceEnds ends{pieces.ends, pieces.offsets};
  require(Encoded::of(encoder.encode_batch(texts, 1)) == right, "texts are encoded piece by piece");
  require(Encoded::of(encoder.encode_batch(texts, 3)) == right, "threads and a warm cache change nothing");
  require(Encoded::of(encoder.encode_pieces(texts, ends, 2)) == right, "pieces that are given are encoded");
  encoder.encode(texts.front(), [&](std::span<const std::uint32_t> ids) {
    require(std::ranges::equal(ids, std::span(right.ids).first(static_cast<std::size_t>(right.offsets[1]))),
            "one text alone has the same ids");
  });
}

}  // namespace
}  // namespace pyharness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pyharness;
  FuzzedDataProvider input(data, size);
  const fuzz::OwnedModel model = fuzz::ModelReader(input).read();
  const auto pattern = static_cast<SplitPattern>(
      input.ConsumeIntegralInRange(0, static_cast<int>(SplitPattern::kDigitsRightToLeft)));
  TextEncoder encoder(model.view(), false, {}, pattern, input.ConsumeIntegralInRange<std::size_t>(0, 20'000));
  // Enough for several threads, and slow: not what inputs that are used up say, which is 0.
  const bool large = input.ConsumeIntegral<std::uint8_t>() == 255;
  const fuzz::ExactText text(input.ConsumeRemainingBytesAsString());
  const fuzz::ExactText half(text.view().substr(text.view().size() / 2));
  std::vector<std::string_view> texts{text.view(), {}, half.view()};
  while (large && !text.view().empty() && texts.size() * text.view().size() < 200'000)
    texts.push_back(text.view());
  check_threads_and_cache(encoder, pattern, texts, expected(model, pattern, texts));
  return 0;
}
