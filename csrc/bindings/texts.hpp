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

// UTF-8 of every text of a sequence; keeps the texts alive while the GIL is released.
class Texts {
 public:
  explicit Texts(const py::sequence& texts) : held_(checked(texts)) {
    views_.reserve(held_.size());
    for (const py::handle text : held_)
      views_.push_back(utf8_of(text, [&] { return "texts[" + std::to_string(views_.size()) + "]"; }));
  }

  std::span<const std::string_view> views() const { return views_; }

 private:
  static const py::sequence& checked(const py::sequence& texts) {
    if (PyUnicode_Check(texts.ptr()) || PyBytes_Check(texts.ptr()))
      throw py::type_error("texts must be a sequence of texts, not one text");
    return texts;
  }

  py::tuple held_;
  std::vector<std::string_view> views_;
};

}  // namespace pyharness::bindings
