#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/splitters.hpp"
#include "bindings/arrays/texts.hpp"
#include "bindings/core.hpp"
#include "core/splitting/text_splitter.hpp"

namespace pyharness::bindings {
namespace {

py::tuple split_texts_of(const py::object& pattern, const py::sequence& texts, int threads) {
  const Splitter splitter = splitter_of(pattern);
  const Texts held(texts);
  UnitEnds pieces;
  {
    const py::gil_scoped_release release;
    pieces = split_texts(splitter, held.views(), threads);
  }
  return py::make_tuple(hand_over(std::move(pieces.ends)), hand_over(std::move(pieces.offsets)));
}

py::tuple split_and_remove_of(const py::object& pattern, const py::sequence& texts, int threads) {
  const Splitter splitter = splitter_of(pattern);
  const Texts held(texts);
  KeptPieces kept;
  {
    const py::gil_scoped_release release;
    kept = split_and_remove(splitter, held.views(), threads);
  }
  py::list left;
  for (const std::string& text : kept.texts) left.append(py::bytes(text));
  return py::make_tuple(std::move(left), hand_over(std::move(kept.pieces.ends)),
                        hand_over(std::move(kept.pieces.offsets)));
}

Removed removed_of(const std::string& name) {
  if (name == "nothing") return Removed::kNothing;
  if (name == "matches") return Removed::kMatches;
  if (name == "gaps") return Removed::kGaps;
  throw std::invalid_argument("unknown part of a text '" + name + "'; known: nothing, matches, gaps");
}

template <class Value>
std::vector<Value> copied(const py::handle& table, const char* name) {
  const auto values = view_1d<Value>(table.attr(name).cast<py::array>(), name);
  return {values.begin(), values.end()};
}

SplitTable table_of(const py::handle& table) {
  return {copied<std::uint16_t>(table, "blocks"),  copied<std::uint8_t>(table, "classes"),
          copied<std::uint32_t>(table, "entries"), table.attr("symbols").cast<std::uint32_t>(),
          table.attr("last_newline").cast<bool>(), removed_of(table.attr("removed").cast<std::string>())};
}

std::shared_ptr<CompiledSplitter> compiled_splitter(const py::sequence& tables) {
  std::vector<SplitTable> copies;
  for (const py::handle table : tables) copies.push_back(table_of(table));
  return std::make_shared<CompiledSplitter>(std::move(copies));
}

}  // namespace

void bind_splitting(py::module_& module) {
  module.attr("SPLIT_UNICODE_VERSION") = split::kUnicodeVersion;
  py::class_<CompiledSplitter, std::shared_ptr<CompiledSplitter>>(module, "CompiledSplitter")
      .def(py::init(&compiled_splitter), py::arg("tables"))
      .def("keeps_all", &CompiledSplitter::keeps_all);
  module.def("split_texts", &split_texts_of, py::arg("pattern"), py::arg("texts"), py::arg("threads") = 1);
  module.def("split_and_remove", &split_and_remove_of, py::arg("pattern"), py::arg("texts"),
             py::arg("threads") = 1);
}

}  // namespace pyharness::bindings
