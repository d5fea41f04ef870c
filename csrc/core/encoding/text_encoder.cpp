#include "core/encoding/text_encoder.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"

namespace pyharness {

namespace {

std::size_t bytes_of(std::span<const std::string_view> texts) {
  std::size_t total = 0;
  for (const std::string_view text : texts) total += text.size();
  return total;
}

// What English needs, other texts grow it; memory that is not written to is not taken.
std::size_t expected_ids(std::span<const std::string_view> texts) { return bytes_of(texts) / 4 + 64; }

// The first text of every chunk that a thread takes at a time, and one more for the end.
std::vector<std::size_t> chunks_of(std::span<const std::string_view> texts, int threads) {
  // Small enough to spread the work evenly, large enough that taking one costs nothing.
  constexpr std::size_t kSmallest = 1 << 15, kChunksPerThread = 16;
  const std::size_t aim =
      std::max(kSmallest, bytes_of(texts) / (kChunksPerThread * static_cast<std::size_t>(threads)));
  std::vector<std::size_t> first{0};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    bytes += texts[i].size();
    if (bytes >= aim && i + 1 < texts.size()) {
      first.push_back(i + 1);
      bytes = 0;
    }
  }
  first.push_back(texts.size());
  return first;
}

}  // namespace

TextEncoder::TextEncoder(const MergeModel& model, bool whole_pieces, Expansion expansion,
                         std::optional<Splitter> splitter, std::size_t cache_bytes)
    : merger_(model, whole_pieces, std::move(expansion)),
      splitter_(std::move(splitter)),
      cache_(cache_bytes, model.size()) {
  if (splitter_ && !keeps_all(*splitter_))
    throw std::invalid_argument("this splitter leaves out text: give the encoder pieces");
  cache_tokens(model);
}

TextEncoder::~TextEncoder() = default;

// So that the pieces which are tokens never miss. Costs 0.04 s for cl100k_base.
void TextEncoder::cache_tokens(const MergeModel& model) {
  if (!cache_.has_room_for(model.size())) return;
  PieceMergingWorkspace workspace;
  std::vector<std::uint32_t> ids;
  PieceCache::View view;
  cache_.refresh(view);
  for (std::uint32_t id = 0; id < model.size(); ++id) {
    const std::string_view piece = model.bytes(id);
    if (piece.empty() || piece.size() > PieceCache::kLongest) continue;
    ids.clear();
    merger_.encode(piece, workspace, ids);
    const bool is_short = piece.size() <= PieceKey::kLongest;
    cache_.insert(view, is_short ? short_key(piece.data(), piece.size(), false) : long_key(piece), piece,
                  ids);
  }
}

void TextEncoder::Worker::trim() noexcept {
  constexpr std::size_t kMostIds = 1 << 16;  // what calls in a row should find again, no more
  if (ids.size() > kMostIds) ids = IdBuffer();
  ids.clear();
}

const Splitter& TextEncoder::splitter() const {
  if (!splitter_) throw std::invalid_argument("this encoder has no native split pattern: give it pieces");
  return *splitter_;
}

namespace {

// Two loops, and not one that asks for every text: what tables call takes the address of the loop's
// variables, which keeps them out of registers for hand-written rules too (4 % of the time of English).
// Apart from the loops of the hand-written rules, which lose 3 to 5 % where the compiler lays this one out
// among them.
[[gnu::noinline]] void write_compiled(PieceWriter& writer, const CompiledSplitter& splitter,
                                      std::string_view text) {
  writer.write_text(text, [&](auto&& sink) { splitter.for_each(text, sink); });
}

}  // namespace

std::span<const std::uint32_t> TextEncoder::encode_with(Worker& worker, std::string_view text) {
  PieceWriter to = writer(worker, worker.ids);
  if (const auto* const pattern = std::get_if<SplitPattern>(&splitter()))
    to.write_text(text, [&, rules = *pattern](auto&& sink) { for_each_piece(rules, text, sink); });
  else
    write_compiled(to, *std::get<std::shared_ptr<const CompiledSplitter>>(splitter()), text);
  return worker.ids.ids();
}

EncodedTexts TextEncoder::encode_batch(std::span<const std::string_view> texts, int threads) {
  if (const auto* const pattern = std::get_if<SplitPattern>(&splitter()))
    return encode_texts(texts, threads, [&, rules = *pattern](PieceWriter& writer, std::size_t index) {
      writer.write_text(texts[index], [&](auto&& sink) { for_each_piece(rules, texts[index], sink); });
    });
  const CompiledSplitter& compiled = *std::get<std::shared_ptr<const CompiledSplitter>>(splitter());
  return encode_texts(texts, threads, [&](PieceWriter& writer, std::size_t index) {
    write_compiled(writer, compiled, texts[index]);
  });
}

EncodedTexts TextEncoder::encode_pieces(std::span<const std::string_view> texts, const PieceEnds& pieces,
                                        int threads) {
  check_pieces(texts, pieces);
  return encode_texts(texts, threads, [&](PieceWriter& writer, std::size_t index) {
    writer.write_text(texts[index], [&](auto&& sink) {
      std::size_t begin = 0;
      for (auto at = pieces.offsets[index]; at < pieces.offsets[index + 1]; ++at) {
        const auto end = static_cast<std::size_t>(pieces.ends[static_cast<std::size_t>(at)]);
        sink(texts[index].substr(begin, end - begin));
        begin = end;
      }
    });
  });
}

template <class EncodeText>
EncodedTexts TextEncoder::encode_texts(std::span<const std::string_view> texts, int threads,
                                       EncodeText encode_text) {
  check_threads(threads);
  const std::vector<std::size_t> chunks = chunks_of(texts, threads);
  const int workers = std::min<int>(threads, static_cast<int>(chunks.size() - 1));
  if (workers > 1) return encode_on_threads(texts, chunks, workers, encode_text);
  EncodedTexts encoded{IdBuffer(expected_ids(texts)), std::vector<std::int64_t>(texts.size() + 1)};
  const Lease lease(workers_);
  PieceWriter writer = this->writer(*lease, encoded.ids);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    encode_text(writer, i);
    encoded.offsets[i + 1] = static_cast<std::int64_t>(encoded.ids.size());
  }
  encoded.ids.shrink();
  return encoded;
}

template <class EncodeText>
EncodedTexts TextEncoder::encode_on_threads(std::span<const std::string_view> texts,
                                            std::span<const std::size_t> chunks, int threads,
                                            EncodeText encode_text) {
  struct Part {  // the ids of a chunk
    std::size_t worker, begin, end, place;
  };
  std::vector<Part> parts(chunks.size() - 1);
  std::vector<IdBuffer> written(static_cast<std::size_t>(threads));
  for (IdBuffer& ids : written) ids = IdBuffer(expected_ids(texts) / static_cast<std::size_t>(threads) + 1);
  std::vector<std::int64_t> offsets(texts.size() + 1);
  std::atomic<std::size_t> next{0};
  run_on_threads(threads, [&](int worker) {
    const auto share = static_cast<std::size_t>(worker);
    IdBuffer& ids = written[share];
    const Lease lease(workers_);
    PieceWriter writer = this->writer(*lease, ids);
    for (std::size_t chunk = next.fetch_add(1); chunk < parts.size(); chunk = next.fetch_add(1)) {
      parts[chunk] = {share, ids.size(), 0, 0};
      for (std::size_t i = chunks[chunk]; i < chunks[chunk + 1]; ++i) {
        encode_text(writer, i);
        offsets[i + 1] = static_cast<std::int64_t>(ids.size() - parts[chunk].begin);
      }
      parts[chunk].end = ids.size();
    }
  });
  std::size_t total = 0;
  for (Part& part : parts) {
    part.place = total;
    total += part.end - part.begin;
  }
  EncodedTexts encoded{IdBuffer(std::max(total, std::size_t{1})), std::move(offsets)};
  std::uint32_t* const out = encoded.ids.data();
  encoded.ids.set_end(out + total);
  run_on_threads(threads, [&](int worker) {
    const std::size_t last = share_begin(parts.size(), worker + 1, threads);
    for (std::size_t chunk = share_begin(parts.size(), worker, threads); chunk < last; ++chunk) {
      const Part& part = parts[chunk];
      const std::uint32_t* const ids = written[part.worker].data();
      std::copy(ids + part.begin, ids + part.end, out + part.place);
      for (std::size_t i = chunks[chunk]; i < chunks[chunk + 1]; ++i)
        encoded.offsets[i + 1] += static_cast<std::int64_t>(part.place);
    }
  });
  return encoded;
}

}  // namespace pyharness
