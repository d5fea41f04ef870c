// Where the UAX #29 segments of texts end, as the Python package `regex` finds them (word_boundary.hpp).
#pragma once

#include <span>
#include <string_view>

#include "core/text/unit_ends.hpp"

namespace pyharness {

// Does not depend on `threads`, which share the texts. Throws std::invalid_argument when a text is not valid
// UTF-8.
UnitEnds segment_ends(std::span<const std::string_view> texts, int threads);

}  // namespace pyharness
