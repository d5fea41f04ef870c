#include "core/merging/piece_merger/characters.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace pyharness {
namespace {

constexpr std::uint32_t kBytes = PairTable::kBytes;

std::uint32_t byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

// How many bytes a character has that starts with this one; 0 if there is no entry for it.
std::size_t character_length(std::uint32_t lead) {
  return lead < 0xC0 || lead >= 0xF0 ? 0 : lead < 0xE0 ? 2 : 3;
}

bool continues(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0xC0) == 0x80; });
}

// The first bytes of a character, not all of them; its last ones.
bool is_start(std::string_view bytes) {
  return bytes.size() < character_length(byte_at(bytes, 0)) && continues(bytes.substr(1));
}
bool is_end(std::string_view bytes) { return bytes.size() < 3 && continues(bytes); }

// Bytes that a symbol merges with across an end of its character, by the rank of the merge.
template <class Bytes>
class Crossings {
 public:
  // In rank order.
  void add(std::uint32_t result, std::uint32_t byte) {
    Bytes all = steps_.empty() ? Bytes{} : steps_.back().bytes;
    if (all.has(byte)) return;
    all.add(byte);
    steps_.push_back({result, all});
  }

  Bytes up_to(std::uint32_t result) const {
    const auto above =
        std::find_if(steps_.rbegin(), steps_.rend(), [&](const Step& step) { return step.result <= result; });
    return above == steps_.rend() ? Bytes{} : above->bytes;
  }

 private:
  struct Step {
    std::uint32_t result;
    Bytes bytes;
  };
  std::vector<Step> steps_;
};

}  // namespace

class CharacterSymbols::Builder {
 public:
  Builder(const PairTable& pairs, std::span<const SymbolMerge> merges)
      : pairs_(pairs), merges_(merges), first_use_(kBytes + merges.size(), PairTable::kNoMerge) {
    for (std::uint32_t byte = 0; byte < kBytes; ++byte) bytes_[byte] = static_cast<char>(byte);
    for (std::size_t merge = 0; merge < merges.size(); ++merge) {
      if (!merges[merge].bytes.empty()) note(merges[merge], kBytes + static_cast<std::uint32_t>(merge));
    }
  }

  void write_to(Entry* entries) const {
    for (std::uint32_t point = 0x80; point < kCodePoints; ++point) {
      if (const Entry entry = entry_of(point); entry.length > 0) entries[point] = entry;
    }
  }

 private:
  std::string_view bytes_of(std::uint32_t symbol) const {
    return symbol < kBytes ? std::string_view(bytes_.data() + symbol, 1) : merges_[symbol - kBytes].bytes;
  }

  void note(const SymbolMerge& merge, std::uint32_t result) {
    first_use_[merge.left] = std::min(first_use_[merge.left], result);
    first_use_[merge.right] = std::min(first_use_[merge.right], result);
    const std::string_view left = bytes_of(merge.left), right = bytes_of(merge.right);
    if (is_start(right)) front_[merge.right].add(result, byte_at(left, left.size() - 1));
    if (is_end(left)) back_[merge.left].add(result, byte_at(right, 0));
  }

  using Triple = std::array<std::uint32_t, 3>;
  struct Symbols {
    Triple of;
    std::size_t count;
  };
  static Symbols utf8(std::uint32_t point) {
    if (point < 0x800) return {{0xC0 | point >> 6, 0x80 | (point & 0x3F)}, 2};
    return {{0xE0 | point >> 12, 0x80 | (point >> 6 & 0x3F), 0x80 | (point & 0x3F)}, 3};
  }

  // What happens to the bytes of a character alone, and what could come between.
  Entry entry_of(std::uint32_t point) const {
    auto [symbols, count] = utf8(point);
    Entry entry{{}, {}, {}, static_cast<std::uint8_t>(count)};
    std::uint32_t highest = 0;
    while (count > 1) {
      const std::uint32_t first = pairs_.find(symbols[0], symbols[1]);
      const std::uint32_t second = count > 2 ? pairs_.find(symbols[1], symbols[2]) : PairTable::kNoMerge;
      const std::uint32_t result = std::min(first, second);
      if (result == PairTable::kNoMerge) break;
      if (const auto front = front_.find(symbols[0]); front != front_.end())
        entry.front.add(front->second.up_to(result));
      if (const auto back = back_.find(symbols[count - 1]); back != back_.end())
        entry.back.add(back->second.up_to(result));
      highest = std::max(highest, result);
      symbols = first == result ? Triple{result, symbols[2]} : Triple{symbols[0], result};
      --count;
    }
    if (count == entry.length) return {};
    for (std::size_t i = 0; i < count; ++i) {
      if (symbols[i] >= kBytes && first_use_[symbols[i]] <= highest) return {};
    }
    entry.symbols = {symbols[0], count > 1 ? symbols[1] : PairTable::kNoSymbol};
    return entry;
  }

  const PairTable& pairs_;
  std::span<const SymbolMerge> merges_;
  std::array<char, kBytes> bytes_;
  std::vector<std::uint32_t> first_use_;  // by symbol, the first merge that it is a part of
  std::unordered_map<std::uint32_t, Crossings<BytesBefore>> front_;  // by what a character starts with
  std::unordered_map<std::uint32_t, Crossings<BytesBehind>> back_;   // by its last symbol
};

CharacterSymbols::CharacterSymbols(const PairTable& pairs, std::span<const SymbolMerge> merges)
    : CharacterSymbols() {
  Builder(pairs, merges).write_to(entries());
}

}  // namespace pyharness
