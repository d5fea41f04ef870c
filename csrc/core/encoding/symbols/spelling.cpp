// From a piece to the symbols that are merged.
#include "core/encoding/symbols/symbol_encoder.hpp"

namespace pyharness {
namespace {

void reserve(EncodingWorkspace& merging, std::size_t symbols) {
  if (merging.ids.size() >= symbols && merging.starts.size() > symbols) return;
  for (auto* values : {&merging.ids, &merging.ranks, &merging.results}) values->resize(symbols);
  merging.starts.resize(symbols + 1);
}

}  // namespace

std::uint32_t SymbolEncoder::symbol(std::uint32_t point, bool first, bool last) const {
  return symbols_[(first ? 0 : 1) + (last ? 2 : 0)][point];
}

template <class Sink>
void SymbolEncoder::for_each_marked_byte(std::string_view bytes, bool first, bool last, Sink&& sink) const {
  const auto all = [&](std::string_view text) {
    for (const char byte : text) sink(static_cast<unsigned char>(byte));
  };
  if (!first) all(options_.prefix);
  all(bytes);
  if (last) all(options_.suffix);
}

// A symbol falls back on all of its bytes or on none of them, as in tokenizers.
bool SymbolEncoder::falls_back(std::string_view bytes, bool first, bool last) const {
  if (options_.fallback.empty()) return false;
  bool all = true;
  for_each_marked_byte(bytes, first, last,
                       [&](unsigned char byte) { all &= options_.fallback[byte] != kNever; });
  return all;
}

// As tokenizers does it, to the order in which an unknown symbol is written after the bytes that follow it.
std::size_t SymbolEncoder::spell_by_id(std::string_view unit, EncodingWorkspace& merging) const {
  const std::size_t marks = options_.prefix.size() + options_.suffix.size();
  // A character has four bytes at most, and each may become a symbol, as may each byte of the marks.
  reserve(merging, unit.size() * (1 + marks));
  std::size_t count = 0;
  const auto add = [&](std::uint32_t id, std::size_t start) {
    merging.ids[count] = id;
    merging.starts[count++] = static_cast<std::uint32_t>(start);
  };
  std::optional<std::size_t> unknown;  // where the unknown symbol started that is not written yet
  for (std::size_t at = 0; at < unit.size();) {
    const auto character = next(unit, at);
    const bool first = at == 0, last = at + character.length == unit.size();
    const std::uint32_t id = symbol(character.point, first, last);
    if (id != CodePointTable::kNone) {
      if (unknown) add(options_.unknown, *unknown);
      unknown.reset();
      add(id, at);
    } else if (falls_back(unit.substr(at, character.length), first, last)) {
      for_each_marked_byte(unit.substr(at, character.length), first, last,
                           [&](unsigned char byte) { add(options_.fallback[byte], at); });
    } else if (options_.unknown != kNever) {
      if (unknown && !options_.fuse_unknown) add(options_.unknown, *unknown);
      if (!unknown || !options_.fuse_unknown) unknown = at;
    }
    at += character.length;
  }
  if (unknown) add(options_.unknown, *unknown);
  merging.starts[count] = static_cast<std::uint32_t>(unit.size());
  return count;
}

// As SentencePiece does it: symbols are strings, whether they are in the vocabulary or not. Where nothing
// stands for those that are not, they are left out before merging, as by every other encoder.
std::size_t SymbolEncoder::spell_by_bytes(std::string_view unit, SymbolWorkspace& workspace) const {
  EncodingWorkspace& merging = workspace.merging;
  const bool leave_out = options_.fallback.empty() && options_.unknown == kNever;
  reserve(merging, unit.size());
  merging.bytes.assign(unit);
  std::uint32_t count = 0;
  std::size_t kept = 0;  // bytes of the symbols so far
  for (std::size_t at = 0; at < unit.size();) {
    const auto character = next(unit, at);
    const std::uint32_t id = symbols_[0][character.point];
    if (id != CodePointTable::kNone || !leave_out) {
      merging.ids[count] = id == CodePointTable::kNone ? kUnknownMark | count : id;
      merging.starts[count++] = static_cast<std::uint32_t>(kept);
      if (kept != at) merging.bytes.replace(kept, character.length, unit.substr(at, character.length));
      kept += character.length;
    }
    at += character.length;
  }
  merging.bytes.resize(kept);
  merging.starts[count] = static_cast<std::uint32_t>(kept);
  workspace.starts.assign(merging.starts.begin(), merging.starts.begin() + count + 1);
  return count;
}

}  // namespace pyharness
