#include "core/encoding/symbols/symbol_encoder.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/encoding/symbols/unit_cache.hpp"
#include "core/machine/checks.hpp"

namespace pyharness {
namespace {

constexpr std::size_t kMostSymbols = std::size_t{1} << 31;

std::variant<RuleTable, SymbolTable> table_of(const MergeModel& model) {
  model.check();
  if (model.size() >= kMostSymbols) throw std::invalid_argument("a model has fewer than 2**31 ids");
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

// An entry of the alphabet without its marks; empty where it does not have them.
std::string_view without_marks(std::string_view text, std::string_view prefix, std::string_view suffix) {
  if (text.size() < prefix.size() + suffix.size() || !text.starts_with(prefix) || !text.ends_with(suffix))
    return {};
  return text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
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
      const auto point = next(bare, 0);
      if (point.length == bare.size()) symbols_[marks].set(point.point, id);
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

// Greedy matching takes tokens that are text and that appear in the output.
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
    // A symbol outside the alphabet may be fused with its neighbours or left out between them.
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
  if (unit.size() >= kMostSymbols) throw std::invalid_argument("a piece holds fewer than 2**31 bytes");
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

}  // namespace pyharness
