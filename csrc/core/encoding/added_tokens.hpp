// Cuts texts at the added tokens of a vocabulary, as `tokenizers` does.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/encoding/byte_trie.hpp"
#include "core/encoding/id_buffer.hpp"

namespace pyharness {

struct AddedToken {
  std::string content;
  std::uint32_t id = 0;
  bool lstrip = false, rstrip = false;  // takes the white space beside it along
  bool single_word = false;             // is text where a word goes on beside it
  bool off = false;                     // is text; its bytes are not looked at again

  bool is_plain() const { return !(lstrip || rstrip || single_word || off); }
};

// Texts as items: those of text t are items[offsets[t]:offsets[t + 1]]. An item is the id of an added token
// or kStretch, for the next one of the stretches, which point into the texts.
struct CutTexts {
  static constexpr std::int64_t kStretch = -1;

  std::vector<std::string_view> stretches;
  std::vector<std::int64_t> items;
  std::vector<std::int64_t> offsets;

  bool has_tokens() const { return stretches.size() != items.size(); }
};

class AddedTokenCutter {
 public:
  // No content may be empty; of equal ones the first counts.
  explicit AddedTokenCutter(std::vector<AddedToken> tokens);

  // Leftmost first, the longest of the tokens that start together. Does not depend on `threads`, which share
  // the texts.
  CutTexts cut(std::span<const std::string_view> texts, int threads) const;

 private:
  class Writer;
  template <class Sink>
  void find_in(std::string_view text, Sink&& sink) const;
  std::size_t next_start(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  ByteTrie trie_;
  // Where no bit of a byte's `first_` is in `second_` of the next byte, no token starts. Runs of spaces are
  // added tokens of several vocabularies, and every word starts with a space: two bytes spare nearly all
  // walks through the trie.
  std::array<std::uint16_t, 256> first_{}, second_{};
  // The first byte of every token, where it is one for all and rare in texts: "<" of most vocabularies. The
  // library's search for a byte takes a fifth of the time.
  std::optional<char> only_first_;
};

struct JoinedIds {
  IdBuffer ids;
  std::vector<std::int64_t> offsets;  // of documents
};

// The ids of documents from those of their stretches, ids[offsets[s]:offsets[s + 1]], and from their items,
// as CutTexts has them.
JoinedIds join_stretches(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                         std::span<const std::int64_t> items, std::span<const std::int64_t> item_offsets);

}  // namespace pyharness
