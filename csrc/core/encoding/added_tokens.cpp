#include "core/encoding/added_tokens.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"
#include "core/splitting/characters.hpp"
#include "core/text/code_points.hpp"

namespace pyharness {
namespace {

std::vector<std::string_view> contents_of(const std::vector<AddedToken>& tokens) {
  std::vector<std::string_view> contents;
  for (const AddedToken& token : tokens) contents.emplace_back(token.content);
  return contents;
}

std::size_t byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// Seldom in most texts.
bool is_punctuation(char byte) {
  return static_cast<unsigned char>(byte) < 0x80 && std::ispunct(static_cast<unsigned char>(byte)) != 0;
}

constexpr std::size_t kLongestCharacter = 4;

// Bytes that are no part of a character are looked past, as far as a character can reach.
bool word_ends_at(std::string_view text, std::size_t end) {
  const std::string_view before = text.substr(0, end);
  bool word = false;
  for (std::size_t at = end - std::min(end, kLongestCharacter); at < end;) {
    const auto point = code_point_or_byte(before, at);
    if (point.point < CodePointTable::kStrayBytes) word = split::is_word(point.point);
    at += point.length;
  }
  return word;
}

bool word_starts_at(std::string_view text, std::size_t begin) {
  const std::string_view behind = text.substr(begin, kLongestCharacter);
  for (std::size_t at = 0; at < behind.size(); ++at) {
    const auto point = code_point_or_byte(behind, at);
    if (point.point < CodePointTable::kStrayBytes) return split::is_word(point.point);
  }
  return false;
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return !word_ends_at(text, begin) && !word_starts_at(text, end);
}

// Where the white space starts that ends at `end`, not before `least`, a border of characters.
std::size_t spaces_begin(std::string_view text, std::size_t least, std::size_t end) {
  const auto* const bytes = reinterpret_cast<const split::Byte*>(text.data());
  while (end > least) {
    std::size_t at = end - 1;
    while (at > least && split::is_continuation(bytes[at])) --at;
    const auto last = split::character_at(bytes + at, bytes + end);
    if (at + last.length != end || !(last.classes & split::kSpace)) break;
    end = at;
  }
  return end;
}

std::size_t spaces_end(std::string_view text, std::size_t begin) {
  const auto* const bytes = reinterpret_cast<const split::Byte*>(text.data());
  return static_cast<std::size_t>(split::skip<split::kSpace>(bytes + begin, bytes + text.size()) - bytes);
}

}  // namespace

AddedTokenCutter::AddedTokenCutter(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), trie_(contents_of(tokens_)) {
  int seen = 0;
  for (const AddedToken& token : tokens_) {
    if (token.content.empty()) throw std::invalid_argument("an added token must not be empty");
    std::uint16_t& first = first_[byte_at(token.content, 0)];
    if (first == 0) first = static_cast<std::uint16_t>(1u << seen++ % 16);
    for (std::size_t byte = 0; byte < 256; ++byte)
      if (token.content.size() == 1 || byte_at(token.content, 1) == byte) second_[byte] |= first;
  }
  if (seen == 1 && is_punctuation(tokens_[0].content[0])) only_first_ = tokens_[0].content[0];
}

// The next byte from `at` on at which a token may start, or the last one.
std::size_t AddedTokenCutter::next_start(std::string_view text, std::size_t at) const {
  constexpr std::size_t kBlock = 8;
  const std::size_t last = text.size() - 1;
  const auto may_start = [&](std::size_t i) {
    return first_[byte_at(text, i)] & second_[byte_at(text, i + 1)];
  };
  constexpr std::size_t kBlocks = 16;  // where the byte is frequent after all, blocks are as fast as ever
  for (std::size_t blocks = 0; at + kBlock <= last; at += kBlock) {
    if (only_first_ && blocks++ % kBlocks == 0) {
      at = std::min(last, text.substr(0, last).find(*only_first_, at));
      if (at + kBlock > last) break;
    }
    int any = 0;
    for (std::size_t i = 0; i < kBlock; ++i) any |= may_start(at + i);
    if (any) break;
  }
  while (at < last && !may_start(at)) ++at;
  return at;
}

template <class Sink>
void AddedTokenCutter::find_in(std::string_view text, Sink&& sink) const {
  for (std::size_t at = 0; at < text.size();) {
    at = next_start(text, at);
    const auto match = trie_.longest_at(text, at);
    if (match.length > 0) sink(at, tokens_[match.number]);
    at += std::max<std::size_t>(match.length, 1);
  }
}

// Writes the items of texts one after the other.
class AddedTokenCutter::Writer {
 public:
  void begin(std::string_view text) {
    text_ = text;
    after_ = 0;
  }

  // A match may be text for other reasons. A token that takes spaces along can end behind the start of
  // the next match, which then comes again, unless it wants spaces itself: so `tokenizers` has it.
  void token(std::size_t at, const AddedToken& token) {
    std::size_t begin = at, end = at + token.content.size();
    if (!token.is_plain()) {
      if (token.off || (token.single_word && !stands_alone(text_, begin, end))) return;
      if (token.lstrip) begin = begin > after_ ? spaces_begin(text_, after_, begin) : after_;
      if (begin >= end) return;
      if (token.rstrip) end = spaces_end(text_, end);
    }
    if (after_ < begin) stretch(begin);
    cut.items.push_back(token.id);
    after_ = end;
  }

  void end() {
    if (after_ < text_.size() || text_.empty()) stretch(text_.size());
    cut.offsets.push_back(static_cast<std::int64_t>(cut.items.size()));
  }

  CutTexts cut;

 private:
  void stretch(std::size_t end) {
    cut.stretches.push_back(text_.substr(after_, end - after_));
    cut.items.push_back(CutTexts::kStretch);
  }

  std::string_view text_;
  std::size_t after_ = 0;  // end of the latest token
};

CutTexts AddedTokenCutter::cut(std::span<const std::string_view> texts, int threads) const {
  check_threads(threads);
  std::vector<Writer> shares(static_cast<std::size_t>(threads));
  shares[0].cut.offsets.push_back(0);
  run_on_threads(threads, [&](int worker) {
    Writer& writer = shares[static_cast<std::size_t>(worker)];
    const std::size_t end = share_begin(texts.size(), worker + 1, threads);
    for (std::size_t text = share_begin(texts.size(), worker, threads); text < end; ++text) {
      writer.begin(texts[text]);
      find_in(texts[text], [&](std::size_t at, const AddedToken& token) { writer.token(at, token); });
      writer.end();
    }
  });
  CutTexts all = std::move(shares[0].cut);
  for (const Writer& writer : std::span(shares).subspan(1)) {
    const CutTexts& share = writer.cut;
    const auto before = static_cast<std::int64_t>(all.items.size());
    all.stretches.insert(all.stretches.end(), share.stretches.begin(), share.stretches.end());
    all.items.insert(all.items.end(), share.items.begin(), share.items.end());
    for (const std::int64_t offset : share.offsets) all.offsets.push_back(before + offset);
  }
  return all;
}

JoinedIds join_stretches(std::span<const std::uint32_t> ids, std::span<const std::int64_t> offsets,
                         std::span<const std::int64_t> items, std::span<const std::int64_t> item_offsets) {
  check_offsets(offsets, ids.size(), "offsets");
  check_offsets(item_offsets, items.size(), "offsets of the items");
  const auto tokens = static_cast<std::size_t>(
      std::ranges::count_if(items, [](std::int64_t item) { return item != CutTexts::kStretch; }));
  check_length(offsets.size() - 1, items.size() - tokens, "stretches");
  JoinedIds joined{IdBuffer(std::max<std::size_t>(ids.size() + tokens, 1)), {}};
  joined.offsets.reserve(item_offsets.size());
  std::uint32_t* const begin = joined.ids.data();
  std::uint32_t* out = begin;
  std::size_t stretch = 0, item = 0;
  for (const std::int64_t end : item_offsets) {
    for (; item < static_cast<std::size_t>(end); ++item) {
      if (items[item] != CutTexts::kStretch) {
        *out++ = static_cast<std::uint32_t>(items[item]);
        continue;
      }
      out = std::copy(ids.begin() + offsets[stretch], ids.begin() + offsets[stretch + 1], out);
      ++stretch;
    }
    joined.offsets.push_back(out - begin);
  }
  joined.ids.set_end(out);
  return joined;
}

}  // namespace pyharness
