// From merged symbols to the ids of the output.
#include "core/encoding/symbols/symbol_encoder.hpp"

namespace pyharness {

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

// A symbol that is no token becomes its bytes, or the unknown token, or nothing.
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
