// Ids of short stretches of text that one thread met lately.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/symbol_table.hpp"

namespace pyharness {

// Each unit has one place, and the newest stays there.
class UnitCache {
 public:
  struct Entry {
    std::uint8_t length = 0;
    std::uint8_t count = 0;
    std::array<char, 30> bytes;
    std::array<std::uint32_t, 8> ids;
  };

  static bool takes(std::string_view unit) { return unit.size() <= sizeof(Entry::bytes); }

  Entry& entry(std::string_view unit) { return entries_[hash_bytes(unit) % kEntries]; }

  static bool holds(const Entry& entry, std::string_view unit) {
    return entry.length == unit.size() && std::memcmp(entry.bytes.data(), unit.data(), unit.size()) == 0;
  }

  static void keep(Entry& entry, std::string_view unit, std::span<const std::uint32_t> ids) {
    if (ids.size() > entry.ids.size()) return;
    entry.length = static_cast<std::uint8_t>(unit.size());
    entry.count = static_cast<std::uint8_t>(ids.size());
    std::copy(unit.begin(), unit.end(), entry.bytes.begin());
    std::copy(ids.begin(), ids.end(), entry.ids.begin());
  }

 private:
  static constexpr std::size_t kEntries = 1 << 15;  // of 64 bytes: 2 MB a thread
  std::vector<Entry> entries_ = std::vector<Entry>(kEntries);
};

}  // namespace pyharness
