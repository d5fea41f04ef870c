#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/texts.hpp"
#include "bindings/core.hpp"
#include "core/text/character_splits.hpp"
#include "core/text/segment_ends.hpp"
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
  module.def("text_statistics", &text_statistics_of, py::arg("texts"), py::arg("threads") = 1);
  module.def("segment_ends", &segment_ends_of, py::arg("texts"), py::arg("threads") = 1);
  module.def("character_splits", &character_splits_of, py::arg("ids"), py::arg("offsets"), py::arg("flags"));
}

}  // namespace pyharness::bindings
