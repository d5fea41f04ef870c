// Encoding of pieces: BpeEncoder is the definition, PieceMerger is BpeEncoder, and ids decode to the bytes
// that have a symbol.
#include "core/merging/bpe_encoder.hpp"
#include "core/merging/piece_merger/piece_merger.hpp"
#include "fuzzing.hpp"
#include "model_reader.hpp"
#include "slow_bpe.hpp"

namespace pyharness {
namespace {

using fuzz::Ids;
using fuzz::OwnedModel;
using fuzz::require;

constexpr std::size_t kSlowest = 300;  // symbols that the definition is tried on
constexpr std::size_t kLongest = 5000;

std::string bytes_of(const MergeModel& model, const Ids& ids) {
  std::string bytes;
  for (const std::uint32_t id : ids) bytes += model.bytes(id);
  return bytes;
}

Ids encode(const BpeEncoder& encoder, const Ids& base) {
  EncodingWorkspace workspace;
  const auto ids = encoder.encode(base, workspace);
  return {ids.begin(), ids.end()};
}

Ids encode(const PieceMerger& merger, std::string_view piece, PieceMergingWorkspace& workspace) {
  Ids ids{kNever};  // what was there stays
  merger.encode(piece, workspace, ids);
  require(ids.front() == kNever, "ids are appended");
  ids.erase(ids.begin());
  return ids;
}

bool is_token(const MergeModel& model, std::string_view piece) {
  for (std::size_t id = 0; id < model.size(); ++id) {
    if (model.bytes(id) == piece) return true;
  }
  return false;
}

// Every id as the base symbols it is made of.
Expansion into_base(const MergeModel& model) {
  Expansion expansion;
  expansion.ids.assign(model.base.begin(), model.base.end());
  expansion.offsets.assign(model.base_offsets.begin(), model.base_offsets.end());
  return expansion;
}

// One of three mergers: they are large, and made anew for every input.
enum class Kind : std::uint8_t { kPlain, kWholePieces, kExpanding };

class Checks {
 public:
  Checks(const OwnedModel& model, Kind kind)
      : model_(model),
        kind_(kind),
        slow_(model.view()),
        encoder_(model.view()),
        merger_(model.view(), kind == Kind::kWholePieces,
                kind == Kind::kExpanding ? into_base(model.view()) : Expansion{}) {}

  void check(std::string_view given) {
    const fuzz::ExactText piece(given);
    const Ids base = model_.base_of(piece.view());
    const Ids ids = encode(encoder_, base);
    if (base.size() <= kSlowest) require(ids == slow_.encode(base), "BpeEncoder is the definition");
    require(bytes_of(model_.view(), ids) == bytes_of(model_.view(), base), "ids decode to the bytes");
    const Ids merged = encode(merger_, piece.view(), workspace_);
    if (kind_ == Kind::kExpanding) {
      require(merged == base, "an expansion is applied");
    } else if (kind_ == Kind::kWholePieces && is_token(model_.view(), piece.view())) {
      require(merged.size() == 1 && model_.view().bytes(merged[0]) == piece.view(),
              "a whole piece is its token");
    } else {
      require(merged == ids, "PieceMerger is BpeEncoder");
    }
  }

 private:
  const OwnedModel& model_;
  Kind kind_;
  fuzz::SlowEncoder slow_;
  BpeEncoder encoder_;
  PieceMerger merger_;
  PieceMergingWorkspace workspace_;
};

}  // namespace
}  // namespace pyharness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pyharness;
  FuzzedDataProvider input(data, size);
  const fuzz::OwnedModel model = fuzz::ModelReader(input).read();
  Checks checks(model, static_cast<Kind>(input.ConsumeIntegralInRange(0, 2)));
  const auto repetitions = input.ConsumeIntegralInRange<std::size_t>(1, 200);
  const std::string text = input.ConsumeRemainingBytesAsString();
  std::string repeated;
  for (std::size_t i = 0; i < repetitions && repeated.size() < kLongest; ++i) repeated += text;
  checks.check(repeated);
  checks.check(text);
  for (std::size_t begin = 0; begin < text.size(); begin += 7) checks.check(text.substr(begin, 7));
  return 0;
}
