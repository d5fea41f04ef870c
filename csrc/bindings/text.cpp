#include <cstring>

#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/texts.hpp"
#include "bindings/core.hpp"
#include "core/text/character_splits.hpp"
#include "core/text/documents/content_digests.hpp"
#include "core/text/documents/json_texts.hpp"
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

// uint8 [digests, 16].
py::array_t<std::uint8_t> table_of(std::span<const ContentDigest> digests) {
  py::array_t<std::uint8_t> table({digests.size(), sizeof(ContentDigest)});
  if (!digests.empty()) std::memcpy(table.mutable_data(), digests.data(), digests.size_bytes());
  return table;
}

// Digests of texts, and of their keys.
py::tuple digests_of(const ReadTexts& texts) {
  KeyedDigests digests;
  {
    const py::gil_scoped_release release;
    digests = keyed_digests(texts.views(), texts.keys());
  }
  return py::make_tuple(table_of(digests.texts), table_of(digests.keys));
}

// One item for each line: at the first of several plain ones their run, else None; other lines as they are.
py::list items_of_lines(const JsonTexts& texts, const py::bytes& lines) {
  const std::string_view text(lines);
  std::vector<std::variant<JsonTexts::Run, JsonTexts::Line>> items;
  {
    const py::gil_scoped_release release;
    items = texts.read(text);
  }
  py::list result;
  for (auto& item : items) {
    if (const auto* const line = std::get_if<JsonTexts::Line>(&item)) {
      result.append(py::bytes(line->data(), line->size()));
      continue;
    }
    auto& run = std::get<JsonTexts::Run>(item);
    result.append(std::make_shared<TextRun>(std::move(run.texts)));
    for (std::size_t line = 1; line < run.lines; ++line) result.append(py::none());
  }
  return result;
}

py::str string_of(std::string_view text) { return {text.data(), text.size()}; }

// (text, beginning of its document, whether it opens, whether it is cut, work) of every text. Pieces of a
// document share the string of its beginning, which may be 64 KiB.
py::list documents_of(const TextRun& run) {
  py::list pieces;
  std::string_view shared;
  py::str beginning;
  for (const ReadText& one : run.texts()) {
    const py::str text = string_of(one.text);
    if (one.beginning.size() == one.text.size() && one.opens) {
      beginning = text;
    } else if (one.opens || one.beginning.data() != shared.data() || one.beginning.size() != shared.size()) {
      beginning = string_of(one.beginning);
    }
    shared = one.beginning;
    pieces.append(py::make_tuple(text, beginning, one.opens, one.parted, string_of(one.work)));
  }
  return pieces;
}

py::list slice_of(const ReadTexts& texts, const py::slice& slice) {
  py::list items;
  std::size_t start, stop, step, count;
  if (!slice.compute(texts.views().size(), &start, &stop, &step, &count)) throw py::error_already_set();
  for (std::size_t i = 0; i < count; ++i, start += step)
    items.append(texts.item(static_cast<std::ptrdiff_t>(start)));
  return items;
}

// The texts before the first that does not fit, and the bytes of that one; None if all fit.
py::tuple within(const std::shared_ptr<TextRun>& run, std::size_t most_bytes) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < run->texts().size(); ++i) {
    const std::size_t size = run->texts()[i].text.size();
    if (size > most_bytes - bytes) return py::make_tuple(std::make_shared<TextRun>(run->first(i)), size);
    bytes += size;
  }
  return py::make_tuple(run, py::none());
}

// Bytes of all texts, the empty ones among them, and the documents that were cut.
py::tuple sums_of(const TextRun& run) {
  std::size_t bytes = 0, empty = 0, cut = 0;
  for (const ReadText& one : run.texts()) {
    bytes += one.text.size();
    empty += one.text.empty();
    cut += one.parted;
  }
  return py::make_tuple(bytes, empty, cut);
}

py::array_t<std::int64_t> sizes_of(const ReadTexts& texts) {
  std::vector<std::int64_t> sizes;
  for (const std::string_view text : texts.views()) sizes.push_back(static_cast<std::int64_t>(text.size()));
  return hand_over(std::move(sizes));
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

py::array_t<std::uint8_t> utf8_flags_of(const py::array& data, const py::array& offsets) {
  return hand_over(
      utf8_flags(view_1d<std::uint8_t>(data, "data"), view_1d<std::int64_t>(offsets, "offsets")));
}

}  // namespace

void bind_text(py::module_& module) {
  module.def("utf8_size", &utf8_size_of, py::arg("text"));
  py::class_<TextRun, std::shared_ptr<TextRun>>(module, "TextRun")
      .def("__len__", [](const TextRun& run) { return run.texts().size(); })
      .def("pieces", &documents_of)
      .def("set_work", &TextRun::set_work, py::arg("work"))
      .def("within", &within, py::arg("most_bytes"))
      .def("sums", &sums_of);
  py::class_<ReadTexts>(module, "ReadTexts")
      .def(py::init())
      .def("add", &ReadTexts::add, py::arg("text"), py::arg("key"), py::arg("opens"))
      .def("take", &ReadTexts::take, py::arg("run"), py::arg("first"), py::arg("most"), py::arg("prefix"))
      .def("__len__", [](const ReadTexts& texts) { return texts.views().size(); })
      .def("__getitem__", &ReadTexts::item, py::arg("index"))
      .def("__getitem__", &slice_of, py::arg("index"))
      .def("digests", &digests_of)
      .def("sizes", &sizes_of)
      .def("opens",
           [](const ReadTexts& texts) { return hand_over<bool>(std::vector<std::uint8_t>(texts.opens())); })
      .def_property_readonly("characters", &ReadTexts::characters);
  py::class_<JsonTexts>(module, "JsonTexts")
      .def(py::init([](std::vector<std::string> names, std::size_t most_bytes, std::size_t beginning_bytes) {
             if (names.empty()) throw std::invalid_argument("a field to read is missing");
             return JsonTexts(std::move(names), {most_bytes, beginning_bytes});
           }),
           py::arg("names"), py::arg("most_bytes"), py::arg("beginning_bytes"))
      .def("of", &items_of_lines, py::arg("lines"));
  module.def("text_statistics", &text_statistics_of, py::arg("texts"), py::arg("threads") = 1);
  module.def("segment_ends", &segment_ends_of, py::arg("texts"), py::arg("threads") = 1);
  module.def("utf8_flags", &utf8_flags_of, py::arg("data"), py::arg("offsets"));
  module.def("character_splits", &character_splits_of, py::arg("ids"), py::arg("offsets"), py::arg("flags"));
}

}  // namespace pyharness::bindings
