// Sequences of str and bytes in without a copy.
#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  TextParts(py::tuple texts, std::vector<std::string_view> parts, std::vector<std::size_t> source)
      : texts_(std::move(texts)), parts_(std::move(parts)), source_(std::move(source)) {}

  std::span<const std::string_view> views() const { return parts_; }
  const py::tuple& texts() const { return texts_; }
  std::size_t source(std::size_t part) const { return source_[part]; }

  // The text itself where it is whole, so that it is not decoded again.
  py::object item(py::ssize_t index) const {
    if (index < 0) index += static_cast<py::ssize_t>(parts_.size());
    if (index < 0 || static_cast<std::size_t>(index) >= parts_.size()) throw py::index_error();
    const auto part = static_cast<std::size_t>(index);
    const py::object text = texts_[source_[part]];
    if (utf8_of(text, [] { return std::string("text"); }).size() == parts_[part].size()) return text;
    return py::bytes(parts_[part].data(), parts_[part].size());
  }

 private:
  py::tuple texts_;  // what the parts point into
  std::vector<std::string_view> parts_;
  std::vector<std::size_t> source_;
};

// UTF-8 of every text of a sequence; keeps the texts alive while the GIL is released.
class Texts {
 public:
  explicit Texts(const py::sequence& texts) {
    if (py::isinstance<TextParts>(texts)) {
      held_ = texts;
      parts_ = &texts.cast<const TextParts&>();
      return;
    }
    if (PyUnicode_Check(texts.ptr()) || PyBytes_Check(texts.ptr()))
      throw py::type_error("texts must be a sequence of texts, not one text");
    py::tuple copied(texts);
    views_.reserve(copied.size());
    for (const py::handle text : copied)
      views_.push_back(utf8_of(text, [&] { return "texts[" + std::to_string(views_.size()) + "]"; }));
    held_ = std::move(copied);
  }

  std::span<const std::string_view> views() const { return parts_ ? parts_->views() : views_; }

  // `parts` point into these texts, part i into text of[i].
  TextParts parts(std::vector<std::string_view> parts, std::vector<std::size_t> of) const {
    if (!parts_) return {py::tuple(held_), std::move(parts), std::move(of)};
    for (std::size_t& text : of) text = parts_->source(text);
    return {parts_->texts(), std::move(parts), std::move(of)};
  }

 private:
  py::object held_;
  const TextParts* parts_ = nullptr;  // held_, if it is such
  std::vector<std::string_view> views_;
};

}  // namespace pyharness::bindings
