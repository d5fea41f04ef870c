#include "core/text/documents/json_texts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/text/bytes64.hpp"

namespace pyharness {
namespace {

constexpr int kMostDepth = 32;
constexpr std::size_t kLongestNumber = 64;  // Python refuses integers of thousands of digits
constexpr std::size_t kWindow = 64;         // bytes that are searched, and copied, at once

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What stands behind a backslash for a character; 0 where nothing is meant.
constexpr auto kEscapes = [] {
  std::array<char, 256> meant{};
  constexpr std::string_view kKinds = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  for (std::size_t i = 0; i < kKinds.size(); ++i) meant[static_cast<unsigned char>(kKinds[i])] = kMeant[i];
  return meant;
}();

constexpr std::optional<std::uint32_t> hexadecimal(char c) {
  if (is_digit(c)) return static_cast<std::uint32_t>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  if (lower < 'a' || lower > 'f') return std::nullopt;
  return static_cast<std::uint32_t>(lower - 'a' + 10);
}

char* put_utf8(char* out, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
  const auto continuation = [&](int shift) { add(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0 | point >> 6);
    continuation(0);
  } else if (point < 0x10000) {
    add(0xE0 | point >> 12);
    continuation(6);
    continuation(0);
  } else {
    add(0xF0 | point >> 18);
    continuation(12);
    continuation(6);
    continuation(0);
  }
  return out;
}

// Every function returns false where it does not know what to make of the line.
class LineReader {
 public:
  // Values are written to `out`, which has room for as many bytes as the text, and a window.
  LineReader(std::string_view text, char* out) : text_(text), out_(out) {}

  bool read(std::span<const std::string> names, std::span<std::string_view> values) {
    std::ranges::fill(values, std::string_view());
    if (!next('{')) return false;
    if (!next('}')) {
      do {
        if (!member(names, values)) return false;
      } while (next(','));
      if (!next('}')) return false;
    }
    skip_space();
    for (const std::string_view value : values)
      if (value.data() == nullptr) return false;
    return at_ == text_.size();
  }

  char* out() const { return out_; }

 private:
  bool member(std::span<const std::string> names, std::span<std::string_view> values) {
    const std::optional<std::string_view> key = plain_string();
    if (!key || !next(':')) return false;
    skip_space();
    const auto name = std::ranges::find(names, *key);
    if (name == names.end()) return skip_value(0);
    const char* const begin = out_;
    if (!next('"') || !string<true>()) return false;
    values[static_cast<std::size_t>(name - names.begin())] = {begin, static_cast<std::size_t>(out_ - begin)};
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '\n'))
      ++at_;
  }

  bool next(char expected) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }

  bool skip_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  // A string without escapes: a key.
  std::optional<std::string_view> plain_string() {
    if (!next('"')) return std::nullopt;
    const std::size_t start = at_;
    pass_plain<false>();
    if (at_ == text_.size() || text_[at_] != '"') return std::nullopt;
    return text_.substr(start, at_++ - start);
  }

  // Goes to the next quote, backslash or control character, or to the end.
  template <bool kKeep>
  void pass_plain() {
#if defined(__SSE2__)
    while (text_.size() - at_ >= kWindow) {
      const std::uint64_t special = next_special();
      const std::size_t plain =
          special != 0 ? static_cast<std::size_t>(std::countr_zero(special)) : window_ + kWindow - at_;
      if constexpr (kKeep) {
        std::memcpy(out_, text_.data() + at_, kWindow);
        out_ += plain;
      }
      at_ += plain;
      if (special != 0) return;
    }
#endif
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) return;
      if constexpr (kKeep) *out_++ = c;
    }
  }

#if defined(__SSE2__)
  // A bit for each special character in the rest of the window. Text has an escape every few words, and a
  // window is searched once for all of them.
  std::uint64_t next_special() {
    if (at_ - window_ >= kWindow) {
      const masks::Bytes64 bytes(text_.data() + at_);
      special_ = bytes.equal('"') | bytes.equal('\\') | bytes.between('\0', 0x20);
      window_ = at_;
    }
    return special_ >> (at_ - window_);
  }
#endif

  // Behind the opening quote, to behind the closing one.
  template <bool kKeep>
  bool string() {
    while (true) {
      pass_plain<kKeep>();
      if (at_ == text_.size()) return false;
      const char special = text_[at_++];
      if (special == '"') return true;
      if (special != '\\' || !escape<kKeep>()) return false;
    }
  }

  template <bool kKeep>
  bool escape() {
    if (at_ == text_.size()) return false;
    const char kind = text_[at_++];
    if (kind == 'u') return code_point<kKeep>();
    const char meant = kEscapes[static_cast<unsigned char>(kind)];
    if constexpr (kKeep) *out_++ = meant;
    return meant != '\0';
  }

  template <bool kKeep>
  bool code_point() {
    const auto first = four_digits();
    if (!first) return false;
    std::uint32_t point = *first;
    if (point >= 0xD800 && point < 0xE000) {
      if (point >= 0xDC00 || !skip_word("\\u")) return false;
      const auto second = four_digits();
      if (!second || *second < 0xDC00 || *second >= 0xE000) return false;
      point = 0x10000 + ((point - 0xD800) << 10) + (*second - 0xDC00);
    }
    if constexpr (kKeep) out_ = put_utf8(out_, point);
    return true;
  }

  std::optional<std::uint32_t> four_digits() {
    if (text_.size() - at_ < 4) return std::nullopt;
    std::uint32_t value = 0;
    for (const std::size_t end = at_ + 4; at_ < end; ++at_) {
      const auto digit = hexadecimal(text_[at_]);
      if (!digit) return std::nullopt;
      value = value << 4 | *digit;
    }
    return value;
  }

  bool skip_value(int depth) {
    skip_space();
    if (at_ == text_.size() || depth > kMostDepth) return false;
    switch (text_[at_]) {
      case '"':
        ++at_;
        return string<false>();
      case '{':
        return skip_items('}', depth, true);
      case '[':
        return skip_items(']', depth, false);
      case 't':
        return skip_word("true");
      case 'f':
        return skip_word("false");
      case 'n':
        return skip_word("null");
      default:
        return skip_number();
    }
  }

  bool skip_items(char close, int depth, bool keyed) {
    ++at_;
    if (next(close)) return true;
    do {
      if (keyed && (!next('"') || !string<false>() || !next(':'))) return false;
      if (!skip_value(depth + 1)) return false;
    } while (next(','));
    return next(close);
  }

  bool skip_number() {
    const std::size_t start = at_;
    if (text_[at_] == '-') ++at_;
    if (at_ < text_.size() && text_[at_] == '0') {
      ++at_;
    } else if (!skip_digits()) {
      return false;
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (!skip_digits()) return false;
    }
    if (at_ < text_.size() && (text_[at_] | 0x20) == 'e') {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!skip_digits()) return false;
    }
    return at_ - start <= kLongestNumber;
  }

  bool skip_digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > start;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  char* out_;
#if defined(__SSE2__)
  std::size_t window_ =
      std::size_t{0} - kWindow;  // where it begins; at first no place of the text lies in it
  std::uint64_t special_ = 0;
#endif
};

// Without the number of a part of a work: a last # with letters, digits and underscores behind it.
std::string_view without_part(std::string_view work) {
  std::size_t at = work.size();
  const auto is_of_number = [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return is_digit(c) || c == '_' || (lower >= 'a' && lower <= 'z');
  };
  while (at > 0 && is_of_number(work[at - 1])) --at;
  return at > 0 && at < work.size() && work[at - 1] == '#' ? work.substr(0, at - 1) : work;
}

}  // namespace

std::vector<std::variant<JsonTexts::Run, JsonTexts::Line>> JsonTexts::read(std::string_view lines) const {
  const std::shared_ptr<char[]> room(new char[lines.size() + kWindow]);
  std::vector<std::variant<Run, Line>> items;
  std::vector<std::string_view> values(names_.size());
  char* out = room.get();
  for (std::size_t begin = 0; begin <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    const Line line = lines.substr(begin, end - begin);
    LineReader reader(line, out);
    Run first{0, TextRun(room)};
    Run* const open = items.empty() ? nullptr : std::get_if<Run>(&items.back());
    Run& run = open != nullptr ? *open : first;
    if (!reader.read(names_, values) || !add(run, values)) {
      items.emplace_back(line);
    } else if (open == nullptr) {
      items.emplace_back(std::move(first));
    }
    out = reader.out();
    begin = end + 1;
  }
  // Runs live until their batch is full: short texts of long lines must not keep the room of the lines.
  if (const auto used = static_cast<std::size_t>(out - room.get()); used < lines.size() / 2) {
    const std::shared_ptr<char[]> own(new char[used + 1]);
    std::memcpy(own.get(), room.get(), used);
    for (auto& item : items)
      if (Run* const run = std::get_if<Run>(&item)) run->texts.move_to(own);
  }
  return items;
}

bool JsonTexts::add(Run& run, std::span<const std::string_view> values) const {
  std::string_view work;
  if (values.size() > 1) {
    if (characters_of(values[1]) == work.npos) return false;
    work = without_part(values[1]);
  }
  if (!run.texts.add(values[0], work, rules_)) return false;
  ++run.lines;
  return true;
}

}  // namespace pyharness
