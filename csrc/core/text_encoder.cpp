#include "core/text_encoder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/checks.hpp"
#include "core/parallel.hpp"

namespace pyharness {

// What one thread does with the pieces of its texts. Pieces wait in a window after their key was made and its
// cache line asked for, so that it has come when they are looked up.
class TextEncoder::Writer {
 public:
  Writer(TextEncoder& encoder, Worker& worker, IdBuffer& ids)
      : encoder_(encoder), worker_(worker), ids_(ids) {
    encoder_.cache_.refresh(view_);
  }

  // Encodes the pieces that for_each_piece(sink) gives of a text: one after the other, without gaps.
  template <class ForEachPiece>
  void write_text(std::string_view text, ForEachPiece&& for_each_piece) {
    const char* const end = text.data() + text.size();
    std::array<Waiting, kWindow> window;
    std::size_t waiting = 0;
    for_each_piece([&](std::string_view piece) __attribute__((always_inline)) {
      window[waiting] = prepare(piece, static_cast<std::size_t>(end - piece.data()));
      if (++waiting == kWindow) {
        write(window, piece.data() + piece.size());
        waiting = 0;
      }
    });
    write({window.data(), waiting}, end);
  }

 private:
  static constexpr std::size_t kWindow = 32;
  static constexpr std::size_t kRoom = (kWindow + 1) * CacheSlot::kInline;  // for the ids of slots

  struct Waiting {
    PieceKey key;
    const CacheSlot* slot;  // where it should be
    const char* bytes;      // up to those of the next one
  };
  static constinit const CacheSlot kNoSlot;

  // `left`: bytes of the text from the piece on.
  [[gnu::always_inline]] Waiting prepare(std::string_view piece, std::size_t left) const {
    if (piece.size() > PieceKey::kLongest) [[unlikely]]
      return prepare_long(piece);
    return waiting(short_key(piece.data(), piece.size(), left >= PieceKey::kBytes), piece);
  }
  [[gnu::noinline]] Waiting prepare_long(std::string_view piece) const {
    if (piece.size() > PieceCache::kLongest) return {{0, ~std::uint64_t{0}}, &kNoSlot, piece.data()};
    return waiting(long_key(piece), piece);
  }
  [[gnu::always_inline]] Waiting waiting(const PieceKey& key, std::string_view piece) const {
    const CacheSlot* const slot = view_.table->home(key);
    __builtin_prefetch(slot);
    return {key, slot, piece.data()};
  }

  [[gnu::noinline]] void write(std::span<const Waiting> window, const char* end) {
    std::uint32_t* out = ids_.room(kRoom);
    for (const Waiting& piece : window) {
      const CacheSlot* const slot = piece.slot;
      const std::uint64_t last = slot->last();
      const std::size_t count = CacheSlot::count(last);
      if (slot->holds(piece.key, last) && count <= CacheSlot::kInline) [[likely]] {
        slot->copy_inline(out);
        out += count;
        continue;
      }
      const bool is_last = &piece == &window.back();
      ids_.set_end(out);
      write_slowly(piece.key, {piece.bytes, is_last ? end : (&piece + 1)->bytes});
      out = ids_.room(kRoom);
    }
    ids_.set_end(out);
    encoder_.cache_.refresh(view_);
  }

  [[gnu::noinline]] void write_slowly(const PieceKey& key, std::string_view piece) {
    if (piece.size() > PieceCache::kLongest) return write_merged(piece);
    if (const CacheSlot* const slot = view_.table->find(key, piece)) return write_cached(*slot);
    write_merged(piece);
    encoder_.cache_.insert(view_, key, piece, worker_.merged);
  }

  void write_cached(const CacheSlot& slot) {
    const std::size_t count = CacheSlot::count(slot.last());
    if (count > CacheSlot::kInline) return ids_.append(view_.table->record(slot).ids);
    std::uint32_t* const out = ids_.room(CacheSlot::kInline);
    slot.copy_inline(out);
    ids_.set_end(out + count);
  }

  void write_merged(std::string_view piece) {
    worker_.merged.clear();
    encoder_.merger_.encode(piece, worker_.merging, worker_.merged);
    ids_.append(worker_.merged);
  }

  TextEncoder& encoder_;
  Worker& worker_;
  IdBuffer& ids_;
  PieceCache::View view_;
};

constinit const CacheSlot TextEncoder::Writer::kNoSlot{};

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

void check_pieces(std::span<const std::string_view> texts, const PieceEnds& pieces) {
  check_length(pieces.offsets.size(), texts.size() + 1, "offsets of the pieces");
  check_offsets(pieces.offsets, pieces.ends.size(), "offsets of the pieces");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::int64_t before = 0;
    for (auto at = pieces.offsets[i]; at < pieces.offsets[i + 1]; ++at) {
      const std::int64_t end = pieces.ends[static_cast<std::size_t>(at)];
      if (end <= before)
        throw std::invalid_argument("the ends of the pieces of text " + std::to_string(i) + " must rise");
      before = end;
    }
    if (before != static_cast<std::int64_t>(texts[i].size()))
      throw std::invalid_argument("the last piece of text " + std::to_string(i) +
                                  " must end where the text does, at " + std::to_string(texts[i].size()) +
                                  ", not at " + std::to_string(before));
  }
}

}  // namespace

TextEncoder::TextEncoder(const MergeModel& model, bool whole_pieces, Expansion expansion,
                         std::optional<SplitPattern> pattern, std::size_t cache_bytes)
    : merger_(model, whole_pieces, std::move(expansion)),
      pattern_(pattern),
      cache_(cache_bytes, model.size()) {
  cache_tokens(model);
}

TextEncoder::~TextEncoder() = default;

// So that the pieces which are tokens never miss. Costs 0.04 s for cl100k_base.
void TextEncoder::cache_tokens(const MergeModel& model) {
  if (!cache_.has_room_for(model.size())) return;
  Worker worker;
  PieceCache::View view;
  cache_.refresh(view);
  for (std::uint32_t id = 0; id < model.size(); ++id) {
    const std::string_view piece = model.bytes(id);
    if (piece.empty() || piece.size() > PieceCache::kLongest) continue;
    worker.merged.clear();
    merger_.encode(piece, worker.merging, worker.merged);
    const bool is_short = piece.size() <= PieceKey::kLongest;
    cache_.insert(view, is_short ? short_key(piece.data(), piece.size(), false) : long_key(piece), piece,
                  worker.merged);
  }
}

std::unique_ptr<TextEncoder::Worker> TextEncoder::take_worker() {
  {
    const std::lock_guard hold(lock_);
    if (!idle_.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
  }
  return std::make_unique<Worker>();
}

void TextEncoder::return_worker(std::unique_ptr<Worker> worker) noexcept {
  constexpr std::size_t kMostIdle = 64, kMostIds = 1 << 16;  // what calls in a row should find again, no more
  if (worker->ids.size() > kMostIds) worker->ids = IdBuffer();
  worker->ids.clear();
  const std::lock_guard hold(lock_);
  if (idle_.size() < kMostIdle) {
    if (idle_.capacity() == 0) idle_.reserve(kMostIdle);
    idle_.push_back(std::move(worker));
  }
}

SplitPattern TextEncoder::pattern() const {
  if (!pattern_) throw std::invalid_argument("this encoder has no native split pattern: give it pieces");
  return *pattern_;
}

std::span<const std::uint32_t> TextEncoder::encode_with(Worker& worker, std::string_view text) {
  Writer(*this, worker, worker.ids).write_text(text, [&, rules = pattern()](auto&& sink) {
    for_each_piece(rules, text, sink);
  });
  return worker.ids.ids();
}

EncodedTexts TextEncoder::encode_batch(std::span<const std::string_view> texts, int threads) {
  return encode_texts(texts, threads, [&, rules = pattern()](Writer& writer, std::size_t index) {
    writer.write_text(texts[index], [&](auto&& sink) { for_each_piece(rules, texts[index], sink); });
  });
}

EncodedTexts TextEncoder::encode_pieces(std::span<const std::string_view> texts, const PieceEnds& pieces,
                                        int threads) {
  check_pieces(texts, pieces);
  return encode_texts(texts, threads, [&](Writer& writer, std::size_t index) {
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
  const Lease lease(*this);
  Writer writer(*this, lease.worker(), encoded.ids);
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
    const Lease lease(*this);
    Writer writer(*this, lease.worker(), ids);
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
