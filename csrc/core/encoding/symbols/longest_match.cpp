// Greedy longest match: at every position the longest token that the text goes on with. Another algorithm
// than BPE over the same vocabulary; what no token covers becomes bytes or unknown, as in BPE.
#include "core/encoding/symbols/symbol_encoder.hpp"

namespace pyharness {

void SymbolEncoder::match_longest(std::string_view piece, std::vector<std::uint32_t>& ids) const {
  bool after_unknown = false;
  for (std::size_t at = 0; at < piece.size();) {
    const auto match = tokens_->longest_at(piece, at);
    if (match.length > 0) {
      write_token(token_ids_[match.number], ids);
      at += match.length;
      after_unknown = false;
      continue;
    }
    const std::size_t length = next(piece, at).length;
    write_unknown(piece.substr(at, length), after_unknown, ids);
    after_unknown = true;
    at += length;
  }
}

}  // namespace pyharness
