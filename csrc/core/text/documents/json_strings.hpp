// Strings of one line of JSON Lines: fields of an object, without the objects of Python that are not asked
// for.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pyharness {

// values[i] = UTF-8 of the string in the field names[i] of the object that `line` is; the last of several
// wins. Names differ. Returns false wherever anything is not plain: then a full parser says what it is. True
// promises that json.loads takes the line and finds the same strings, provided that their bytes are valid
// UTF-8.
bool json_strings(std::string_view line, std::span<const std::string> names, std::span<std::string> values);

}  // namespace pyharness
