// BPE of pieces whose symbols are characters, or bytes with marks: SentencePiece models, tokenizer.json files
// that are not byte-level, words with suffixes. Byte-level pieces without marks have a faster encoder
// (piece_merger.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/encoding/byte_trie.hpp"
#include "core/encoding/symbols/borders.hpp"
#include "core/merging/bpe_encoder.hpp"
#include "core/merging/dropout.hpp"
#include "core/text/code_points.hpp"

namespace pyharness {

// How a piece becomes symbols, and ids become the output. See BpeModel in pyharness/bpe/model/model.py.
struct SymbolOptions {
  bool characters = true;  // else bytes
  std::vector<std::pair<std::string, std::uint32_t>> alphabet;
  std::string prefix, suffix;
  std::vector<std::uint32_t> fallback;  // of the 256 bytes, kNever where one has none, or empty
  std::uint32_t unknown = kNever;       // kNever: symbols outside the alphabet are left out
  bool fuse_unknown = false;
  bool whole_pieces = false;
  bool longest_match = false;            // greedy longest match over the strings of `output`, without merging
  std::vector<std::uint32_t> expansion;  // internal id t is written as expansion[offsets[t]..offsets[t + 1])
  std::vector<std::int64_t> expansion_offsets;  // empty: as itself
};

class UnitCache;

// Memory of one encoding thread, kept between pieces.
struct SymbolWorkspace {
  SymbolWorkspace();
  ~SymbolWorkspace();
  EncodingWorkspace merging;
  std::vector<std::uint32_t> starts;  // of every symbol as it was before merging
  std::vector<std::uint32_t> ids;
  std::unique_ptr<UnitCache> cache;
};

class SymbolEncoder {
 public:
  // Checks the model. The arrays behind it must outlive the encoder.
  SymbolEncoder(const MergeModel& model, SymbolOptions options);

  // Appends the ids of a piece. Invalid UTF-8 is taken byte by byte, and no byte of it is in an alphabet of
  // characters.
  void encode(std::string_view piece, SymbolWorkspace& workspace, std::vector<std::uint32_t>& ids) const;
  // The same with dropout. Whole pieces have no shortcut then.
  void encode(std::string_view piece, const Dropout& dropout, SymbolWorkspace& workspace,
              std::vector<std::uint32_t>& ids) const;

 private:
  // Marks a symbol that is in no alphabet while a SentencePiece model merges; the other bits are its index.
  static constexpr std::uint32_t kUnknownMark = 0x80000000u;

  void fill_symbols();
  void find_borders();
  void gather_whole_pieces();
  void gather_tokens();

  CodePointOrByte next(std::string_view text, std::size_t at) const {
    if (options_.characters) return code_point_or_byte(text, at);
    return {static_cast<unsigned char>(text[at]), 1};
  }
  std::uint32_t symbol(std::uint32_t point, bool first, bool last) const;
  std::size_t unit_end(std::string_view piece, std::size_t begin) const;

  void encode_cached(std::string_view unit, SymbolWorkspace& workspace,
                     std::vector<std::uint32_t>& ids) const;
  void encode_unit(std::string_view unit, const Dropout* dropout, SymbolWorkspace& workspace) const;
  void match_longest(std::string_view piece, std::vector<std::uint32_t>& ids) const;

  std::size_t spell_by_id(std::string_view unit, EncodingWorkspace& merging) const;
  std::size_t spell_by_bytes(std::string_view unit, SymbolWorkspace& workspace) const;
  bool falls_back(std::string_view bytes, bool first, bool last) const;
  template <class Sink>
  void for_each_marked_byte(std::string_view bytes, bool first, bool last, Sink&& sink) const;

  void write(std::string_view unit, std::size_t count, SymbolWorkspace& workspace) const;
  void write_unknown(std::string_view bytes, bool after_unknown, std::vector<std::uint32_t>& ids) const;
  void write_token(std::uint32_t id, std::vector<std::uint32_t>& ids) const;
  void write_fused(std::uint32_t id, bool after_unknown, std::vector<std::uint32_t>& ids) const;

  MergeModel model_;
  SymbolOptions options_;
  std::variant<RuleTable, SymbolTable> table_;
  CodePointTable symbols_[4];  // of a symbol without marks; + 1 with the prefix, + 2 with the suffix
  SymbolBorders borders_;
  std::unordered_map<std::string_view, std::uint32_t> whole_pieces_;
  std::optional<ByteTrie> tokens_;  // for longest match
  std::vector<std::uint32_t> token_ids_;
};

}  // namespace pyharness
