#include "core/merging/piece_merger/piece_merger.hpp"

#include <algorithm>
#include <tuple>

#include "core/machine/checks.hpp"

namespace pyharness {

PieceMerger::PieceMerger(const MergeModel& model, bool whole_pieces, Expansion expansion)
    : model_(model), expansion_(std::move(expansion)) {
  model.check();
  if (!expansion_.offsets.empty()) {
    check_length(expansion_.offsets.size(), model.size() + 1, "expansion_offsets");
    check_offsets(expansion_.offsets, expansion_.ids.size(), "expansion_offsets");
    if (expansion_.ids.size() >= kNever)
      throw std::invalid_argument("an expansion holds fewer than 2**32 - 1 ids");
  }
  byte_ids_ = byte_ids(model);
  lacks_bytes_ = std::find(byte_ids_.begin(), byte_ids_.end(), kNever) != byte_ids_.end();
  symbols_ = reduce_to_symbols(model);
  if (symbols_) {
    outputs_.reserve(symbols_->ids.size());
    for (const std::uint32_t id : symbols_->ids) outputs_.push_back(output_of(id));
    find_shift();
  } else {
    encoder_.emplace(model);
    for (std::uint32_t id = 0; id < model.size(); ++id) outputs_.push_back(output_of(id));
  }
  if (whole_pieces) find_whole_pieces();
}

PieceMerger::Output PieceMerger::output_of(std::uint32_t id) const {
  if (id == kNever || expansion_.offsets.empty()) return {id, 1};
  const auto first = expansion_.offsets[id];
  const auto count = expansion_.offsets[id + 1] - first;
  if (count == 1) return {expansion_.ids[static_cast<std::size_t>(first)], 1};
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)};
}

// In most vocabularies ids follow the merges: then no memory need be read for them.
void PieceMerger::find_shift() {
  if (!expansion_.offsets.empty()) return;
  const auto& ids = symbols_->ids;
  const auto shift_of = [&](std::uint32_t symbol) { return ids[symbol] - symbol; };  // may wrap around
  std::optional<std::uint32_t> shift;
  for (std::uint32_t symbol = PairTable::kBytes; symbol < ids.size(); ++symbol) {
    if (ids[symbol] == kNever) continue;
    if (shift.value_or(shift_of(symbol)) != shift_of(symbol)) return;
    shift = shift_of(symbol);
  }
  shifted_from_ = PairTable::kBytes;
  shift_ = shift.value_or(0);
}

void PieceMerger::find_whole_pieces() {
  std::vector<bool> made(model_.size());
  if (symbols_) {
    for (const std::uint32_t id : symbols_->ids) {
      if (id != kNever) made[id] = true;
    }
  }
  for (std::uint32_t id = 0; id < model_.size(); ++id) {
    const bool counts = model_.tested[id] || model_.atomic[id];
    if (counts && !made[id] && !model_.bytes(id).empty()) note_whole_piece(id);
  }
}

void PieceMerger::note_whole_piece(std::uint32_t id) {
  const auto order = [&](std::uint32_t other) {
    return std::tuple(model_.ranks ? (*model_.ranks)[other] : 0, other);
  };
  const auto bytes = model_.bytes(id);
  if (symbols_) {
    // Another id with these bytes may be what merging makes.
    PieceMergingWorkspace workspace;
    if (kept_bytes(bytes, workspace).size() == bytes.size()) {
      merge_at_once(*symbols_, bytes, workspace.merging);
      const auto& merged = workspace.merging.window_symbols;
      if (merged.size() == 1 && order(symbols_->ids[merged[0]]) < order(id)) return;
    }
  }
  const auto [entry, added] = whole_.try_emplace(bytes, id);
  if (!added && order(id) < order(entry->second)) entry->second = id;
}

std::string_view PieceMerger::kept_bytes(std::string_view piece, PieceMergingWorkspace& workspace) const {
  if (!lacks_bytes_) return piece;
  workspace.kept.clear();
  std::copy_if(piece.begin(), piece.end(), std::back_inserter(workspace.kept),
               [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)] != kNever; });
  return workspace.kept;
}

void PieceMerger::append(Output output, std::vector<std::uint32_t>& ids) const {
  if (output.count == 1) {
    ids.push_back(output.first);
    return;
  }
  const auto from = expansion_.ids.begin() + output.first;
  ids.insert(ids.end(), from, from + output.count);
}

void PieceMerger::append_symbol(std::uint32_t symbol, std::vector<std::uint32_t>& ids) const {
  if (symbol >= shifted_from_) {
    ids.push_back(symbol + shift_);
  } else {
    append(outputs_[symbol], ids);
  }
}

void PieceMerger::append_window(const MergingWindow& window, std::vector<std::uint32_t>& ids) const {
  window.for_each([&](std::uint32_t symbol) { append_symbol(symbol, ids); });
}

void PieceMerger::encode(std::string_view piece, PieceMergingWorkspace& workspace,
                         std::vector<std::uint32_t>& ids) const {
  if (!whole_.empty()) {
    if (const auto whole = whole_.find(piece); whole != whole_.end())
      return append(output_of(whole->second), ids);
  }
  piece = kept_bytes(piece, workspace);
  if (piece.empty()) return;
  if (piece.size() >= kNever) throw std::invalid_argument("a piece holds fewer than 2**32 - 1 bytes");
  if (!symbols_) return encode_in_order(piece, workspace, ids);
  if (piece.size() <= MergingWindow::kSize) {
    workspace.merging.window.merge(symbols_->pairs, symbols_->characters, piece);
    return append_window(workspace.merging.window, ids);
  }
  merge_long_piece(*symbols_, piece, workspace.merging, workspace.symbols);
  for (const std::uint32_t symbol : workspace.symbols) append_symbol(symbol, ids);
}

void PieceMerger::encode_each(std::span<const std::string_view> pieces, PieceMergingWorkspace& workspace,
                              const Receive& receive) const {
  struct Lane {
    MergingWindow* window;
    std::size_t piece;
  };
  const bool takes_turns = symbols_ && !lacks_bytes_;
  const auto fits = [&](std::string_view piece) {
    return takes_turns && !piece.empty() && piece.size() <= MergingWindow::kSize && !whole_.contains(piece);
  };
  const auto finish = [&](const Lane& lane) {
    workspace.ids.clear();
    append_window(*lane.window, workspace.ids);
    receive(lane.piece, workspace.ids);
  };
  std::size_t next = 0;
  const auto begin = [&](Lane& lane) {
    while (next < pieces.size()) {
      lane.piece = next++;
      if (!fits(pieces[lane.piece])) {
        workspace.ids.clear();
        encode(pieces[lane.piece], workspace, workspace.ids);
        receive(lane.piece, workspace.ids);
        continue;
      }
      lane.window->load(symbols_->pairs, symbols_->characters, pieces[lane.piece]);
      if (lane.window->begin_merge(symbols_->pairs)) return true;
      finish(lane);
    }
    return false;
  };
  std::array<Lane, std::tuple_size_v<decltype(workspace.windows)>> lanes;
  std::size_t active = 0;
  for (MergingWindow& window : workspace.windows) {
    lanes[active].window = &window;
    if (!begin(lanes[active])) break;
    ++active;
  }
  while (active > 0) {
    for (std::size_t i = 0; i < active;) {
      Lane& lane = lanes[i];
      lane.window->end_merge(symbols_->pairs);
      if (!lane.window->begin_merge(symbols_->pairs)) {
        finish(lane);
        if (!begin(lane)) {
          lane = lanes[--active];
          continue;
        }
      }
      ++i;
    }
  }
}

void PieceMerger::encode_in_order(std::string_view piece, PieceMergingWorkspace& workspace,
                                  std::vector<std::uint32_t>& ids) const {
  workspace.symbols.clear();
  for (const char byte : piece) workspace.symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  for (const std::uint32_t id : encoder_->encode(workspace.symbols, workspace.merging.queue))
    append(outputs_[id], ids);
}

}  // namespace pyharness
