#include "bindings/arrays.hpp"
#include "bindings/core.hpp"
#include "core/text_statistics.hpp"

namespace pyharness::bindings {
namespace {

std::string_view utf8_of(py::handle text, std::size_t index) {
  if (PyUnicode_Check(text.ptr())) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (bytes == nullptr) throw py::error_already_set();  // lone surrogates: UnicodeEncodeError, a ValueError
    return {bytes, static_cast<std::size_t>(size)};
  }
  if (PyBytes_Check(text.ptr())) {
    return {PyBytes_AS_STRING(text.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(text.ptr()))};
  }
  throw py::type_error("texts[" + std::to_string(index) + "] must be str or bytes, not " +
                       Py_TYPE(text.ptr())->tp_name);
}

py::array_t<std::int64_t> text_statistics_of(const py::sequence& texts, int threads) {
  if (PyUnicode_Check(texts.ptr()) || PyBytes_Check(texts.ptr())) {
    throw py::type_error("texts must be a sequence of texts, not one text");
  }
  const py::tuple held(texts);  // keeps the texts alive while the GIL is released
  std::vector<std::string_view> views;
  views.reserve(held.size());
  for (const py::handle text : held) views.push_back(utf8_of(text, views.size()));
  py::array_t<std::int64_t> table({held.size(), std::size_t{kTextStatistics}});
  static_assert(sizeof(TextStatistics) == kTextStatistics * sizeof(std::int64_t));
  const std::span rows(reinterpret_cast<TextStatistics*>(table.mutable_data()), held.size());
  {
    const py::gil_scoped_release release;
    text_statistics(views, rows, threads);
  }
  return table;
}

}  // namespace

void bind_text(py::module_& module) {
  module.def("text_statistics", &text_statistics_of, py::arg("texts"), py::arg("threads") = 1);
}

}  // namespace pyharness::bindings
