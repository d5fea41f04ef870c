#include "core/piece_merger.hpp"

#include <algorithm>
#include <tuple>

#include "core/checks.hpp"

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
      merge_at_once(symbols_->pairs, bytes, workspace.merging);
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

void PieceMerger::encode(std::string_view piece, PieceMergingWorkspace& workspace,
                         std::vector<std::uint32_t>& ids) const {
  if (!whole_.empty()) {
    if (const auto found = whole_.find(piece); found != whole_.end())
      return append(output_of(found->second), ids);
  }
  piece = kept_bytes(piece, workspace);
  if (piece.empty()) return;
  if (piece.size() >= kNever) throw std::invalid_argument("a piece holds fewer than 2**32 - 1 bytes");
  if (!symbols_) return encode_in_order(piece, workspace, ids);
  if (piece.size() <= MergingWindow::kSize) {
    workspace.merging.window.merge(symbols_->pairs, piece);
    workspace.merging.window.for_each([&](std::uint32_t symbol) { append(outputs_[symbol], ids); });
    return;
  }
  merge_long_piece(*symbols_, piece, workspace.merging, workspace.symbols);
  for (const std::uint32_t symbol : workspace.symbols) append(outputs_[symbol], ids);
}

void PieceMerger::encode_in_order(std::string_view piece, PieceMergingWorkspace& workspace,
                                  std::vector<std::uint32_t>& ids) const {
  workspace.symbols.clear();
  for (const char byte : piece) workspace.symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  for (const std::uint32_t id : encoder_->encode(workspace.symbols, workspace.merging.queue))
    append(outputs_[id], ids);
}

}  // namespace pyharness
