#include "core/text/documents/text_run.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "core/text/utf8.hpp"

namespace pyharness {
namespace {

constexpr bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The last place up to `at` where a character begins.
std::size_t character_at(std::string_view text, std::size_t at) {
  while (is_continuation(text[at])) --at;
  return at;
}

// Where the piece ends that begins at `start`: after the last newline that fits, else after the last space.
std::size_t piece_end(std::string_view text, std::size_t start, std::size_t most) {
  const std::string_view room = text.substr(start, most);
  for (const char separator : {'\n', ' '})
    if (const std::size_t at = room.rfind(separator); at != room.npos) return start + at + 1;
  return character_at(text, start + most);
}

std::size_t begun_characters(std::string_view text) {
  std::size_t continuations = 0;
  for (const char byte : text) continuations += is_continuation(byte);
  return text.size() - continuations;
}

// Where the ASCII ends that goes on at `at`, in steps of 32.
std::size_t ascii_end(std::string_view text, std::size_t at) {
  for (; text.size() - at >= 32; at += 32) {
    std::uint64_t words[4];
    std::memcpy(words, text.data() + at, sizeof words);
    if ((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u) break;
  }
  return at;
}

}  // namespace

std::size_t characters_of(std::string_view text) {
  std::size_t count = 0;
  try {
    for (std::size_t at = 0; at < text.size();) {
      if (const std::size_t plain = ascii_end(text, at); plain > at) {
        count += plain - at;
        at = plain;
        continue;
      }
      const std::size_t stop = std::min(text.size(), at + 32);
      for (; at < stop; ++count) at += decode_utf8(text, at).length;
    }
  } catch (const std::invalid_argument&) {
    return text.npos;
  }
  return count;
}

bool TextRun::add(std::string_view document, std::string_view work, const CutRules& rules) {
  const std::size_t characters = characters_of(document);
  if (characters == document.npos) return false;
  const std::size_t shared = document.size() <= rules.beginning_bytes
                                 ? document.size()
                                 : character_at(document, rules.beginning_bytes);
  const std::string_view beginning = document.substr(0, shared);
  std::size_t start = 0;
  while (document.size() - start > rules.most_bytes) {
    const std::size_t end = piece_end(document, start, rules.most_bytes);
    const std::string_view piece = document.substr(start, end - start);
    texts_.push_back({piece, beginning, work, begun_characters(piece), start == 0, start == 0});
    start = end;
  }
  const std::string_view rest = document.substr(start);
  texts_.push_back(
      {rest, beginning, work, start == 0 ? characters : begun_characters(rest), start == 0, false});
  return true;
}

void TextRun::set_work(std::string work) {
  work_ = std::make_shared<const std::string>(std::move(work));
  for (ReadText& one : texts_) one.work = *work_;
}

void TextRun::move_to(const std::shared_ptr<const char[]>& room) {
  const auto moved = [&](std::string_view text) {
    if (text.data() == nullptr) return text;
    return std::string_view(room.get() + (text.data() - room_.get()), text.size());
  };
  for (ReadText& one : texts_) {
    one.text = moved(one.text);
    one.beginning = moved(one.beginning);
    one.work = moved(one.work);
  }
  room_ = room;
}

TextRun TextRun::first(std::size_t count) const {
  TextRun part(room_);
  part.work_ = work_;
  part.texts_.assign(texts_.begin(), texts_.begin() + static_cast<std::ptrdiff_t>(count));
  return part;
}

}  // namespace pyharness
