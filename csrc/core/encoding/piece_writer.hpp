// The pieces of one thread's texts, looked up in the cache, and merged where the cache lacks them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/encoding/id_buffer.hpp"
#include "core/encoding/piece_cache.hpp"
#include "core/merging/piece_merger/piece_merger.hpp"

namespace pyharness {

// A piece that waits: its key was made and its cache line asked for, so that it has come when it is looked
// at.
struct WaitingPiece {
  PieceKey key;
  const CacheSlot* slot;  // where it should be; later, where it is
  const char* bytes;      // up to those of the next one
};

// Memory of one encoding thread, kept between texts.
struct PieceWriterWorkspace {
  PieceMergingWorkspace merging;
  std::vector<std::uint32_t> merged;
  std::vector<WaitingPiece*> missed;  // pieces that are not found at once; then those that the cache lacks
  std::vector<std::string_view> missing;  // the bytes of the latter
  struct Repeat {
    WaitingPiece* piece;
    const WaitingPiece* first;
  };
  std::vector<Repeat> repeats;  // of pieces that the cache lacks
};

class PieceWriter {
 public:
  PieceWriter(const PieceMerger& merger, PieceCache& cache, PieceWriterWorkspace& workspace, IdBuffer& ids)
      : merger_(merger), cache_(cache), workspace_(workspace), ids_(ids) {
    cache_.refresh(view_);
  }

  // Encodes the pieces that for_each_piece(sink) gives of a text: one after the other, without gaps.
  template <class ForEachPiece>
  void write_text(std::string_view text, ForEachPiece&& for_each_piece) {
    const char* const end = text.data() + text.size();
    std::array<WaitingPiece, kWindow> window;
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
  // So many that even in English, where one piece in a hundred is new, a few are merged together.
  static constexpr std::size_t kWindow = 256;

  static constinit const CacheSlot kNoSlot;   // where no piece is
  static constinit const CacheSlot kNotKept;  // of pieces that the cache does not take

  // `left`: bytes of the text from the piece on.
  [[gnu::always_inline]] WaitingPiece prepare(std::string_view piece, std::size_t left) const {
    if (piece.size() > PieceKey::kLongest) [[unlikely]]
      return prepare_long(piece);
    return waiting(short_key(piece.data(), piece.size(), left >= PieceKey::kBytes), piece);
  }
  [[gnu::noinline]] WaitingPiece prepare_long(std::string_view piece) const {
    if (piece.size() > PieceCache::kLongest) return {{0, ~std::uint64_t{0}}, &kNoSlot, piece.data()};
    return waiting(long_key(piece), piece);
  }
  [[gnu::always_inline]] WaitingPiece waiting(const PieceKey& key, std::string_view piece) const {
    const CacheSlot* const slot = view_.table->home(key);
    __builtin_prefetch(slot);
    return {key, slot, piece.data()};
  }

  [[gnu::noinline]] void write(std::span<WaitingPiece> window, const char* end) {
    workspace_.missed.clear();  // where an earlier text ended by an exception, something is left
    find_inline(window);
    if (!workspace_.missed.empty()) {
      find_others(window, end);
      merge_missing();
    }
    copy_ids(window, end);
    cache_.refresh(view_);
  }

  static std::string_view bytes_of(std::span<const WaitingPiece> window, const WaitingPiece& piece,
                                   const char* end) {
    const bool is_last = &piece == &window.back();
    return {piece.bytes, is_last ? end : (&piece + 1)->bytes};
  }

  // Nearly all pieces are where they should be, with their ids.
  void find_inline(std::span<WaitingPiece> window) {
    for (WaitingPiece& piece : window) {
      const std::uint64_t last = piece.slot->last();
      const bool holds = piece.slot->holds(piece.key, last);
      if (holds && CacheSlot::count(last) <= CacheSlot::kInline) [[likely]]
        continue;
      if (holds) view_.table->prefetch_record(*piece.slot);
      if (!holds || !piece.key.is_short()) workspace_.missed.push_back(&piece);
    }
  }

  // What is new comes again soon, in code above all: a repeat is not merged twice if it is recognised, which
  // takes the last one of equal hash bits to be it.
  void find_others(std::span<const WaitingPiece> window, const char* end) {
    auto& [merging, merged, missed, missing, repeats] = workspace_;
    constexpr int kHashBits = 6;
    std::array<std::uint16_t, 1 << kHashBits> latest{};  // places in `missing`
    missing.clear();
    repeats.clear();
    for (WaitingPiece* const piece : missed) {
      const std::string_view bytes = bytes_of(window, *piece, end);
      if (bytes.size() > PieceCache::kLongest) {
        piece->slot = &kNotKept;
        continue;
      }
      if (const CacheSlot* const slot = view_.table->find(piece->key, bytes)) {
        piece->slot = slot;
        continue;
      }
      std::uint16_t& place = latest[piece->key.hash() >> (64 - kHashBits)];
      if (place < missing.size() && missing[place] == bytes) {
        repeats.push_back({piece, missed[place]});
        continue;
      }
      place = static_cast<std::uint16_t>(missing.size());
      missed[place] = piece;
      missing.push_back(bytes);
    }
    missed.resize(missing.size());
  }

  void merge_missing() {
    merger_.encode_each(workspace_.missing, workspace_.merging,
                        [this](std::size_t index, std::span<const std::uint32_t> ids) {
                          WaitingPiece& piece = *workspace_.missed[index];
                          const CacheSlot* const slot =
                              cache_.insert(view_, piece.key, workspace_.missing[index], ids);
                          piece.slot = slot ? slot : &kNotKept;
                        });
    for (const auto& [piece, first] : workspace_.repeats) piece->slot = first->slot;
  }

  void copy_ids(std::span<const WaitingPiece> window, const char* end) {
    const std::size_t room = (window.size() + 1) * CacheSlot::kInline;  // for the ids of slots
    std::uint32_t* out = ids_.room(room);
    for (const WaitingPiece& piece : window) {
      const std::size_t count = CacheSlot::count(piece.slot->last());
      if (count <= CacheSlot::kInline) [[likely]] {
        piece.slot->copy_inline(out);
        out += count;
        continue;
      }
      ids_.set_end(out);
      append(*piece.slot, bytes_of(window, piece, end));
      out = ids_.room(room);
    }
    ids_.set_end(out);
  }

  [[gnu::noinline]] void append(const CacheSlot& slot, std::string_view piece) {
    if (&slot != &kNotKept) return ids_.append(view_.table->record(slot).ids);
    workspace_.merged.clear();
    merger_.encode(piece, workspace_.merging, workspace_.merged);
    ids_.append(workspace_.merged);
  }

  const PieceMerger& merger_;
  PieceCache& cache_;
  PieceWriterWorkspace& workspace_;
  IdBuffer& ids_;
  PieceCache::View view_;
};

inline constinit const CacheSlot PieceWriter::kNoSlot{};
inline constinit const CacheSlot PieceWriter::kNotKept{
    {0, CacheSlot::kInRecord << (64 - CacheSlot::kCountBits)}, {}};

}  // namespace pyharness
