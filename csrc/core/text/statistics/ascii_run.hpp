// Runs of ASCII text in text_statistics.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/text/statistics/text_statistics.hpp"

namespace pyharness {

// Whether the character before is one of these: 0 or 1.
struct AsciiBefore {
  std::uint64_t letter, digit, space;
};

// Counts ASCII text behind a settled character, up to a settled one; returns its bytes.
using AsciiRun = std::size_t (*)(const char* at, std::size_t room, AsciiBefore before,
                                 TextStatistics& counts);

std::size_t ascii_run_avx2(const char* at, std::size_t room, AsciiBefore before, TextStatistics& counts);

}  // namespace pyharness
