#include "core/encoding/symbols/symbol_encoder.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/encoding/symbols/unit_cache.hpp"
#include "core/machine/checks.hpp"

namespace pyharness {
namespace {

// Marks a symbol that is in no alphabet while a SentencePiece model merges; the rest is its index.
constexpr std::uint32_t kUnknownMark = 0x80000000u;

std::variant<RuleTable, SymbolTable> table_of(const MergeModel& model) {
  model.check();
  if (model.size() >= kUnknownMark) throw std::invalid_argument("a model has fewer than 2**31 ids");
  if (model.rules) return RuleTable(model);
  return SymbolTable(model);
}

void check_options(const SymbolOptions& options, std::size_t size) {
  if (!options.fallback.empty()) check_length(options.fallback.size(), 256, "fallback");
  for (const std::uint32_t id : options.fallback)
    if (id != kNever) check_ids({&id, 1}, size, "fallback");
  if (options.unknown != kNever) check_ids({&options.unknown, 1}, size, "unknown");
  for (const auto& [text, id] : options.alphabet) check_ids({&id, 1}, size, "alphabet");
  if (!options.expansion_offsets.empty()) {
    check_length(options.expansion_offsets.size(), size + 1, "expansion offsets");
    check_offsets(options.expansion_offsets, options.expansion.size(), "expansion offsets");
  }
  const bool marked = !options.prefix.empty() || !options.suffix.empty();
  if (marked && (options.whole_pieces || options.longest_match))
    throw std::invalid_argument("whole pieces are not defined for symbols with a prefix or suffix");
}

// What is left of an entry of the alphabet without its marks; nothing where it does not have them.
std::string_view without_marks(std::string_view text, std::string_view prefix, std::string_view suffix) {
  if (text.size() < prefix.size() + suffix.size() || !text.starts_with(prefix) || !text.ends_with(suffix))
    return {};
  return text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
}

void reserve(EncodingWorkspace& merging, std::size_t symbols) {
  if (merging.ids.size() >= symbols && merging.starts.size() > symbols) return;
  for (auto* values : {&merging.ids, &merging.ranks, &merging.results}) values->resize(symbols);
  merging.starts.resize(symbols + 1);
}

}  // namespace

SymbolWorkspace::SymbolWorkspace() : cache(std::make_unique<UnitCache>()) {}
SymbolWorkspace::~SymbolWorkspace() = default;

SymbolEncoder::SymbolEncoder(const MergeModel& model, SymbolOptions options)
    : model_(model), options_(std::move(options)), table_(table_of(model)) {
  check_options(options_, model_.size());
  fill_symbols();
  if (options_.characters && options_.prefix.empty() && options_.suffix.empty()) find_borders();
  if (options_.whole_pieces) gather_whole_pieces();
  if (options_.longest_match) gather_tokens();
}

void SymbolEncoder::fill_symbols() {
  for (std::size_t marks = 0; marks < 4; ++marks) {
    const std::string_view prefix = marks & 1 ? std::string_view(options_.prefix) : "";
    const std::string_view suffix = marks & 2 ? std::string_view(options_.suffix) : "";
    for (const auto& [text, id] : options_.alphabet) {
      const std::string_view bare = without_marks(text, prefix, suffix);
      if (bare.empty()) continue;
      const auto found = next(bare, 0);
      if (found.length == bare.size()) symbols_[marks].set(found.point, id);
    }
  }
}

void SymbolEncoder::find_borders() {
  if (model_.ranks) {
    borders_ = SymbolBorders::of_strings(model_);
    return;
  }
  std::vector<std::uint32_t> symbols;
  for (const std::uint32_t id : options_.fallback)
    if (id != kNever) symbols.push_back(id);
  if (options_.unknown != kNever) symbols.push_back(options_.unknown);
  for (const auto& [text, id] : options_.alphabet) symbols.push_back(id);
  borders_ = SymbolBorders::of_rules(model_, symbols);
}

// A whole piece may be any entry of the vocabulary. Of equal strings the first wins.
void SymbolEncoder::gather_whole_pieces() {
  for (std::size_t id = 0; id < model_.size(); ++id) {
    if (!model_.bytes(id).empty()) whole_pieces_.emplace(model_.bytes(id), static_cast<std::uint32_t>(id));
  }
}

// What is matched greedily must be text, and must be in the output.
void SymbolEncoder::gather_tokens() {
  std::vector<bool> left_out(model_.size());
  for (std::size_t id = 0; id < model_.size(); ++id) {
    const bool scaffold = !options_.expansion_offsets.empty() &&
                          options_.expansion_offsets[id + 1] - options_.expansion_offsets[id] > 1;
    left_out[id] = scaffold || model_.bytes(id).empty() || !(model_.tested[id] || model_.atomic[id]);
  }
  for (const std::uint32_t id : options_.fallback)
    if (id != kNever) left_out[id] = true;
  if (options_.unknown != kNever) left_out[options_.unknown] = true;
  std::vector<std::string_view> strings;
  for (std::size_t id = 0; id < model_.size(); ++id) {
    if (left_out[id]) continue;
    strings.push_back(model_.bytes(id));
    token_ids_.push_back(static_cast<std::uint32_t>(id));
  }
  tokens_.emplace(strings);
}

CodePointOrByte SymbolEncoder::next(std::string_view text, std::size_t at) const {
  if (options_.characters) return code_point_or_byte(text, at);
  return {static_cast<unsigned char>(text[at]), 1};
}

std::uint32_t SymbolEncoder::symbol(std::uint32_t point, bool first, bool last) const {
  return symbols_[(first ? 0 : 1) + (last ? 2 : 0)][point];
}

void SymbolEncoder::encode(std::string_view piece, SymbolWorkspace& workspace,
                           std::vector<std::uint32_t>& ids) const {
  if (options_.longest_match) return match_longest(piece, ids);
  if (const auto whole = whole_pieces_.find(piece); whole != whole_pieces_.end())
    return write_token(whole->second, ids);
  for (std::size_t begin = 0; begin < piece.size();) {
    const std::string_view unit = piece.substr(begin, unit_end(piece, begin) - begin);
    encode_cached(unit, workspace, ids);
    begin += unit.size();
  }
}

void SymbolEncoder::encode(std::string_view piece, const Dropout& dropout, SymbolWorkspace& workspace,
                           std::vector<std::uint32_t>& ids) const {
  if (options_.longest_match || dropout.probability <= 0) return encode(piece, workspace, ids);
  if (piece.empty()) return;
  encode_unit(piece, &dropout, workspace);
  ids.insert(ids.end(), workspace.ids.begin(), workspace.ids.end());
}

std::size_t SymbolEncoder::unit_end(std::string_view piece, std::size_t begin) const {
  if (!borders_.any()) return piece.size();
  const bool by_bytes = model_.ranks.has_value();
  auto left = next(piece, begin);
  std::uint32_t left_symbol = symbols_[0][left.point];
  for (std::size_t at = begin + left.length; at < piece.size();) {
    const auto right = next(piece, at);
    const std::uint32_t right_symbol = symbols_[0][right.point];
    // What is not in the alphabet may be fused with its neighbours or left out between them.
    const bool known = left_symbol != CodePointTable::kNone && right_symbol != CodePointTable::kNone;
    if (known &&
        (by_bytes ? borders_.can_cut(left.point, right.point) : borders_.can_cut(left_symbol, right_symbol)))
      return at;
    at += right.length;
    left = right;
    left_symbol = right_symbol;
  }
  return piece.size();
}

void SymbolEncoder::encode_cached(std::string_view unit, SymbolWorkspace& workspace,
                                  std::vector<std::uint32_t>& ids) const {
  if (!UnitCache::takes(unit)) {
    encode_unit(unit, nullptr, workspace);
    ids.insert(ids.end(), workspace.ids.begin(), workspace.ids.end());
    return;
  }
  UnitCache::Entry& entry = workspace.cache->entry(unit);
  if (UnitCache::holds(entry, unit)) {
    ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
    return;
  }
  encode_unit(unit, nullptr, workspace);
  ids.insert(ids.end(), workspace.ids.begin(), workspace.ids.end());
  UnitCache::keep(entry, unit, workspace.ids);
}

void SymbolEncoder::encode_unit(std::string_view unit, const Dropout* dropout,
                                SymbolWorkspace& workspace) const {
  if (unit.size() >= kUnknownMark) throw std::invalid_argument("a piece holds fewer than 2**31 bytes");
  EncodingWorkspace& merging = workspace.merging;
  std::size_t count = 0;
  const auto merge = [&](const auto& look_up) {
    return dropout ? merge_with_dropout(look_up, merging, count, *dropout)
                   : merge_piece(look_up, merging, count);
  };
  if (const auto* rules = std::get_if<RuleTable>(&table_)) {
    count = spell_by_id(unit, merging);
    count = merge(MergeByRule{*rules, merging});
  } else {
    count = spell_by_bytes(unit, workspace);
    count = merge(MergeByRank{*std::get_if<SymbolTable>(&table_), merging});
  }
  write(unit, count, workspace);
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
    const auto found = next(unit, at);
    const bool first = at == 0, last = at + found.length == unit.size();
    const std::uint32_t id = symbol(found.point, first, last);
    if (id != CodePointTable::kNone) {
      if (unknown) add(options_.unknown, *unknown);
      unknown.reset();
      add(id, at);
    } else if (falls_back(unit.substr(at, found.length), first, last)) {
      for_each_marked_byte(unit.substr(at, found.length), first, last,
                           [&](unsigned char byte) { add(options_.fallback[byte], at); });
    } else if (options_.unknown != kNever) {
      if (unknown && !options_.fuse_unknown) add(options_.unknown, *unknown);
      if (!unknown || !options_.fuse_unknown) unknown = at;
    }
    at += found.length;
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
    const auto found = next(unit, at);
    const std::uint32_t id = symbols_[0][found.point];
    if (id != CodePointTable::kNone || !leave_out) {
      merging.ids[count] = id == CodePointTable::kNone ? kUnknownMark | count : id;
      merging.starts[count++] = static_cast<std::uint32_t>(kept);
      if (kept != at) merging.bytes.replace(kept, found.length, unit.substr(at, found.length));
      kept += found.length;
    }
    at += found.length;
  }
  merging.bytes.resize(kept);
  merging.starts[count] = static_cast<std::uint32_t>(kept);
  workspace.starts.assign(merging.starts.begin(), merging.starts.begin() + count + 1);
  return count;
}

void SymbolEncoder::write(std::string_view unit, std::size_t count, SymbolWorkspace& workspace) const {
  workspace.ids.clear();
  bool after_unknown = false;
  // An expansion may start or end with the unknown token; by rules, a run of them is one symbol already.
  const bool expands = model_.ranks.has_value() && !options_.expansion_offsets.empty();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t id = workspace.merging.ids[i];
    if (!(id & kUnknownMark)) {
      if (expands) [[unlikely]] {
        write_fused(id, after_unknown, workspace.ids);
        after_unknown = !workspace.ids.empty() && workspace.ids.back() == options_.unknown;
      } else {
        write_token(id, workspace.ids);
        after_unknown = false;
      }
      continue;
    }
    const std::uint32_t begin = workspace.starts[id & ~kUnknownMark];
    const std::uint32_t end = workspace.starts[(id & ~kUnknownMark) + 1];
    write_unknown(unit.substr(begin, end - begin), after_unknown, workspace.ids);
    after_unknown = true;
  }
}

// What stands for a symbol that no token is: its bytes, or the unknown token, or nothing.
void SymbolEncoder::write_unknown(std::string_view bytes, bool after_unknown,
                                  std::vector<std::uint32_t>& ids) const {
  if (falls_back(bytes, true, false)) {
    for (const char byte : bytes) write_token(options_.fallback[static_cast<unsigned char>(byte)], ids);
  } else if (options_.unknown != kNever && !(after_unknown && options_.fuse_unknown)) {
    write_token(options_.unknown, ids);
  }
}

void SymbolEncoder::write_token(std::uint32_t id, std::vector<std::uint32_t>& ids) const {
  if (options_.expansion_offsets.empty()) [[likely]] {
    ids.push_back(id);
    return;
  }
  const auto begin = options_.expansion.begin();
  ids.insert(ids.end(), begin + options_.expansion_offsets[id], begin + options_.expansion_offsets[id + 1]);
}

// A token whose expansion may start with the unknown token, which is fused with one before it.
void SymbolEncoder::write_fused(std::uint32_t id, bool after_unknown, std::vector<std::uint32_t>& ids) const {
  const std::size_t before = ids.size();
  write_token(id, ids);
  if (after_unknown && options_.fuse_unknown && ids.size() > before && ids[before] == options_.unknown)
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(before));
}

}  // namespace pyharness
