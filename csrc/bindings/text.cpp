#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/texts.hpp"
#include "bindings/core.hpp"
#include "core/text/text_statistics.hpp"

namespace pyharness::bindings {
namespace {

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

}  // namespace

void bind_text(py::module_& module) {
  module.def("text_statistics", &text_statistics_of, py::arg("texts"), py::arg("threads") = 1);
}

}  // namespace pyharness::bindings
