// Sequences of str and bytes in without a copy.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/documents/text_run.hpp"

namespace pyharness::bindings {

namespace py = pybind11;

// UTF-8 of a str, or the bytes of bytes, valid as long as the object is. name() is what an error calls it.
template <class Name>
std::string_view utf8_of(py::handle text, Name&& name) {
  if (PyUnicode_Check(text.ptr())) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (bytes == nullptr) throw py::error_already_set();  // lone surrogates: UnicodeEncodeError, a ValueError
    return {bytes, static_cast<std::size_t>(size)};
  }
  if (PyBytes_Check(text.ptr()))
    return {PyBytes_AS_STRING(text.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(text.ptr()))};
  throw py::type_error(name() + " must be str or bytes, not " + Py_TYPE(text.ptr())->tp_name);
}

// Parts of texts: a sequence of texts to Python, and no object for a part unless it is asked for.
class TextParts {
 public:
  // Part i is of texts[source[i]].
  TextParts(py::object texts, std::vector<std::string_view> parts, std::vector<std::size_t> source)
      : texts_(std::move(texts)), parts_(std::move(parts)), source_(std::move(source)) {}

  std::span<const std::string_view> views() const { return parts_; }
  const py::object& texts() const { return texts_; }
  std::size_t source(std::size_t part) const { return source_[part]; }

  // The text itself where it is whole, so that it is not decoded again.
  py::object item(py::ssize_t index) const {
    if (index < 0) index += static_cast<py::ssize_t>(parts_.size());
    if (index < 0 || static_cast<std::size_t>(index) >= parts_.size()) throw py::index_error();
    const auto part = static_cast<std::size_t>(index);
    const py::object text = texts_[py::int_(source_[part])];
    if (utf8_of(text, [] { return std::string("text"); }).size() == parts_[part].size()) return text;
    return py::bytes(parts_[part].data(), parts_[part].size());
  }

 private:
  py::object texts_;  // a sequence: what the parts point into
  std::vector<std::string_view> parts_;
  std::vector<std::size_t> source_;
};

// The texts of a batch and the facts that decide their groups: of runs that were read without objects of
// Python, and strings. To Python, a sequence of texts.
class ReadTexts {
 public:
  // `key`: what decides the group.
  void add(const py::str& text, const py::str& key, bool opens) {
    const auto name = [] { return std::string("text"); };
    const std::string_view view = utf8_of(text, name);
    owners_.append(py::make_tuple(text, key));
    push(view, text.is(key) ? view : utf8_of(key, name), opens,
         static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr())));
  }

  // Adds texts of a run from its text `first` on, until there are `most` characters; returns where it
  // stopped. `prefix` stands before the name of a work where that is the key.
  std::size_t take(const std::shared_ptr<TextRun>& run, std::size_t first, std::size_t most,
                   const std::string& prefix) {
    owners_.append(run);
    for (; first < run->texts().size() && characters_ < most; ++first) {
      const ReadText& one = run->texts()[first];
      if (!one.text.empty())
        push(one.text, one.work.empty() ? one.beginning : key_of(prefix, one.work), one.opens,
             one.characters);
    }
    return first;
  }

  std::span<const std::string_view> views() const { return views_; }
  std::span<const std::string_view> keys() const { return keys_; }
  const std::vector<std::uint8_t>& opens() const { return opens_; }
  std::size_t characters() const { return characters_; }

  py::str item(py::ssize_t index) const {
    if (index < 0) index += static_cast<py::ssize_t>(views_.size());
    if (index < 0 || static_cast<std::size_t>(index) >= views_.size()) throw py::index_error();
    const std::string_view view = views_[static_cast<std::size_t>(index)];
    return {view.data(), view.size()};
  }

 private:
  void push(std::string_view text, std::string_view key, bool opens, std::size_t characters) {
    views_.push_back(text);
    keys_.push_back(key);
    opens_.push_back(opens);
    characters_ += characters;
  }

  std::string_view key_of(const std::string& prefix, std::string_view work) {
    if (works_.empty() || std::string_view(works_.back()).substr(prefix.size()) != work)
      works_.push_back(prefix + std::string(work));
    return works_.back();
  }

  py::list owners_;  // of what the views point into
  std::deque<std::string> works_;
  std::vector<std::string_view> views_, keys_;
  std::vector<std::uint8_t> opens_;
  std::size_t characters_ = 0;
};

// UTF-8 of every text of a sequence; keeps the texts alive while the GIL is released.
class Texts {
 public:
  explicit Texts(const py::sequence& texts) {
    held_ = texts;
    if (py::isinstance<ReadTexts>(texts)) {
      shown_ = texts.cast<const ReadTexts&>().views();
      return;
    }
    if (py::isinstance<TextParts>(texts)) {
      parts_ = &texts.cast<const TextParts&>();
      shown_ = parts_->views();
      return;
    }
    if (PyUnicode_Check(texts.ptr()) || PyBytes_Check(texts.ptr()))
      throw py::type_error("texts must be a sequence of texts, not one text");
    py::tuple copied(texts);
    views_.reserve(copied.size());
    for (const py::handle text : copied)
      views_.push_back(utf8_of(text, [&] { return "texts[" + std::to_string(views_.size()) + "]"; }));
    held_ = std::move(copied);
    shown_ = views_;
  }

  std::span<const std::string_view> views() const { return shown_; }

  // `parts` point into these texts, part i into text of[i].
  TextParts parts(std::vector<std::string_view> parts, std::vector<std::size_t> of) const {
    if (!parts_) return {held_, std::move(parts), std::move(of)};
    for (std::size_t& text : of) text = parts_->source(text);
    return {parts_->texts(), std::move(parts), std::move(of)};
  }

 private:
  py::object held_;
  const TextParts* parts_ = nullptr;  // held_, if it is such
  std::vector<std::string_view> views_;
  std::span<const std::string_view> shown_;  // views_, or those of held_
};

}  // namespace pyharness::bindings
