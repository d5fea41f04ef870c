#include "bindings/arrays.hpp"
#include "bindings/core.hpp"
#include "bindings/texts.hpp"
#include "core/text_splitter.hpp"

namespace pyharness::bindings {
namespace {

py::tuple split_texts_of(const std::string& pattern, const py::sequence& texts, int threads) {
  const Texts held(texts);
  Pieces pieces;
  {
    const py::gil_scoped_release release;
    pieces = split_texts(split_pattern(pattern), held.views(), threads);
  }
  return py::make_tuple(hand_over(std::move(pieces.ends)), hand_over(std::move(pieces.offsets)));
}

}  // namespace

void bind_splitting(py::module_& module) {
  module.attr("SPLIT_UNICODE_VERSION") = split::kUnicodeVersion;
  module.def("split_texts", &split_texts_of, py::arg("pattern"), py::arg("texts"), py::arg("threads") = 1);
}

}  // namespace pyharness::bindings
