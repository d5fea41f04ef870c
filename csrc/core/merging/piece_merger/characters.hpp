// Characters that merging may start from, where it would otherwise start from their bytes.
//
// Left to themselves, the bytes of a character merge to one symbol, or to two. Nothing keeps them from it as
// long as no merge across the character's ends has a lower rank than the merge within that is next; whether
// one has is known from the byte beyond the end. And it changes nothing that the symbols are there from the
// start as long as they only take part in merges of higher ranks than those within: none of them is next
// before all of those are done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/machine/zeroed_pages.hpp"
#include "core/merging/piece_merger/pairs.hpp"

namespace pyharness {

// What a merge joins, and the bytes that are joined: none of a merge that is never applied.
struct SymbolMerge {
  std::uint32_t left, right;
  std::string_view bytes;
};

class CharacterSymbols {
 public:
  CharacterSymbols() : pages_(kCodePoints * sizeof(Entry)) {}

  // `merges[i]` makes symbol 256 + i.
  CharacterSymbols(const PairTable& pairs, std::span<const SymbolMerge> merges);

  struct Found {
    std::array<std::uint32_t, 2> symbols;  // kNoSymbol for a second one that there is not
    std::size_t length;                    // in bytes; 0: start from the byte
  };

  // The character that starts at bytes[at], which is no ASCII byte.
  Found find(std::string_view bytes, std::size_t at) const {
    const auto byte = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(bytes[i]); };
    const std::uint32_t lead = byte(at);
    const std::size_t length = lead < 0xE0 ? 2 : 3;
    const std::size_t end = at + length;
    if (lead < 0xC0 || lead >= 0xF0 || end > bytes.size()) return {};
    std::uint32_t point = lead & (length == 2 ? 0x1Fu : 0x0Fu);
    for (std::size_t i = at + 1; i < end; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return {};
      point = point << 6 | (byte(i) & 0x3F);
    }
    const Entry& entry = entries()[point];
    const bool is_free = entry.length == length &&  // not for overlong forms, which come to the same point
                         (at == 0 || !entry.front.has(byte(at - 1))) &&
                         (end == bytes.size() || !entry.back.has(byte(end)));
    return is_free ? Found{entry.symbols, length} : Found{};
  }

 private:
  static constexpr std::size_t kCodePoints = 1 << 16;
  class Builder;

  // Bytes: all of ASCII or none, each of the 64 from kFirst on, and all others.
  template <std::uint32_t kFirst>
  struct Neighbours {
    std::uint64_t bytes;
    bool ascii;

    bool has(std::uint32_t byte) const {
      if (byte < 0x80) return ascii;
      const std::uint32_t bit = byte - kFirst;  // wraps around for bytes below
      return bit >= 64 || (bytes >> bit & 1) != 0;
    }
    void add(std::uint32_t byte) {
      ascii = ascii || byte < 0x80;
      if (const std::uint32_t bit = byte - kFirst; byte >= 0x80 && bit < 64) bytes |= std::uint64_t{1} << bit;
    }
    void add(const Neighbours& others) {
      ascii = ascii || others.ascii;
      bytes |= others.bytes;
    }
  };
  using BytesBefore = Neighbours<0x80>;  // the last byte of a character
  using BytesBehind = Neighbours<0xC0>;  // the first one

  struct Entry {
    BytesBefore front;  // where merging must start from the bytes
    BytesBehind back;
    std::array<std::uint32_t, 2> symbols;
    std::uint8_t length;  // 0: never
  };
  Entry* entries() const { return static_cast<Entry*>(pages_.data()); }

  ZeroedPages pages_;
};

}  // namespace pyharness
