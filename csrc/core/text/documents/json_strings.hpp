// Strings of JSON Lines: fields of the object in every line, without the objects of Python that are not asked
// for.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pyharness {

// The strings of the lines that were read last: views, until the next are read.
class JsonStrings {
 public:
  explicit JsonStrings(std::vector<std::string> names) : names_(std::move(names)) {}

  // Reads lines with a newline between them. Names differ.
  void read(std::string_view lines);

  std::size_t size() const { return lines_.size(); }
  std::string_view line(std::size_t index) const { return lines_[index].text; }
  // True promises that json.loads takes the line and finds the same strings, provided that their bytes are
  // valid UTF-8. False wherever anything is not plain: then a full parser says what it is.
  bool is_plain(std::size_t index) const { return lines_[index].is_plain; }
  // UTF-8 of the strings in the fields of these names; the last of several of one name wins.
  std::span<const std::string_view> values(std::size_t index) const {
    return std::span(values_).subspan(index * names_.size(), names_.size());
  }

 private:
  struct Line {
    std::string_view text;  // of the bytes that were given
    bool is_plain;
  };

  std::vector<std::string> names_;
  std::vector<Line> lines_;
  std::vector<std::string_view> values_;  // [lines, names]
  std::vector<char> room_;                // what they point into
};

}  // namespace pyharness
