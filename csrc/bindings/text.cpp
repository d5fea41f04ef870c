#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/texts.hpp"
#include "bindings/core.hpp"
#include "core/text/character_splits.hpp"
#include "core/text/documents/content_digests.hpp"
#include "core/text/documents/json_strings.hpp"
#include "core/text/segment_ends.hpp"
#include "core/text/statistics/text_statistics.hpp"

namespace pyharness::bindings {
namespace {

// Python keeps the UTF-8 with the text, so that whoever asks next finds it. None for lone surrogates.
py::object utf8_size_of(const py::str& text) {
  Py_ssize_t size = 0;
  if (PyUnicode_AsUTF8AndSize(text.ptr(), &size) != nullptr) return py::int_(size);
  if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw py::error_already_set();
  PyErr_Clear();
  return py::none();
}

py::list content_digests_of(const py::sequence& texts) {
  const Texts held(texts);
  std::vector<ContentDigest> digests(held.views().size());
  {
    const py::gil_scoped_release release;
    content_digests(held.views(), digests);
  }
  py::list result(digests.size());
  for (std::size_t i = 0; i < digests.size(); ++i)
    result[i] = py::bytes(reinterpret_cast<const char*>(digests[i].data()), digests[i].size());
  return result;
}

// The strings of a line; the line itself where it is not plain, or a string is no UTF-8: who asks decides
// what that means.
py::object strings_of(const JsonStrings& strings, std::size_t line) {
  const auto whole = [&] { return py::bytes(strings.line(line).data(), strings.line(line).size()); };
  if (!strings.is_plain(line)) return whole();
  const auto values = strings.values(line);
  py::tuple texts(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyObject* const text =
        PyUnicode_DecodeUTF8(values[i].data(), static_cast<Py_ssize_t>(values[i].size()), nullptr);
    if (text == nullptr) {
      PyErr_Clear();
      return whole();
    }
    texts[i] = py::reinterpret_steal<py::object>(text);
  }
  return texts;
}

py::list strings_of_lines(JsonStrings& strings, const py::bytes& lines) {
  {
    const std::string_view text(lines);
    const py::gil_scoped_release release;
    strings.read(text);
  }
  py::list result(strings.size());
  for (std::size_t i = 0; i < strings.size(); ++i) result[i] = strings_of(strings, i);
  return result;
}

py::array_t<std::int64_t> text_statistics_of(const py::sequence& texts, int threads) {
  const Texts held(texts);
  const auto views = held.views();
  py::array_t<std::int64_t> table({views.size(), std::size_t{kTextStatistics}});
  static_assert(sizeof(TextStatistics) == kTextStatistics * sizeof(std::int64_t));
  const std::span rows(reinterpret_cast<TextStatistics*>(table.mutable_data()), views.size());
  {
    const py::gil_scoped_release release;
    text_statistics(views, rows, threads);
  }
  return table;
}

py::tuple segment_ends_of(const py::sequence& texts, int threads) {
  const Texts held(texts);
  UnitEnds segments;
  {
    const py::gil_scoped_release release;
    segments = segment_ends(held.views(), threads);
  }
  return py::make_tuple(hand_over(std::move(segments.ends)), hand_over(std::move(segments.offsets)));
}

py::array_t<std::int64_t> character_splits_of(const py::array& ids, const py::array& offsets,
                                              const py::array& flags) {
  const auto ids_view = view_1d<std::uint32_t>(ids, "ids");
  const auto offsets_view = view_1d<std::int64_t>(offsets, "offsets");
  const auto flags_view = view_1d<std::uint8_t>(flags, "flags");
  std::vector<std::int64_t> splits(offsets_view.empty() ? 0 : offsets_view.size() - 1);
  {
    const py::gil_scoped_release release;
    character_splits(ids_view, offsets_view, flags_view, splits);
  }
  return hand_over(std::move(splits));
}

}  // namespace

void bind_text(py::module_& module) {
  module.def("content_digests", &content_digests_of, py::arg("texts"));
  module.def("utf8_size", &utf8_size_of, py::arg("text"));
  py::class_<JsonStrings>(module, "JsonStrings")
      .def(py::init<std::vector<std::string>>(), py::arg("names"))
      .def("of", &strings_of_lines, py::arg("lines"));
  module.def("text_statistics", &text_statistics_of, py::arg("texts"), py::arg("threads") = 1);
  module.def("segment_ends", &segment_ends_of, py::arg("texts"), py::arg("threads") = 1);
  module.def("character_splits", &character_splits_of, py::arg("ids"), py::arg("offsets"), py::arg("flags"));
}

}  // namespace pyharness::bindings
