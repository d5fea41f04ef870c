// Documents of JSON Lines: strings in fields of the object in every line, without objects of Python.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/text/documents/text_run.hpp"

namespace pyharness {

class JsonTexts {
 public:
  // `names`: the field of the text, and that of the work, if there is one.
  JsonTexts(std::vector<std::string> names, CutRules rules) : names_(std::move(names)), rules_(rules) {}

  // A line that is not plain: a full parser says what it is.
  using Line = std::string_view;
  struct Run {
    std::size_t lines;  // number of its documents
    TextRun texts;
  };

  // Reads lines with a newline between them. What is in a run is promised to be what json.loads finds, the
  // last of several fields of one name.
  std::vector<std::variant<Run, Line>> read(std::string_view lines) const;

 private:
  bool add(Run& run, std::span<const std::string_view> values) const;

  std::vector<std::string> names_;
  CutRules rules_;
};

}  // namespace pyharness
