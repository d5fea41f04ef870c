#include "bindings/arrays/arrays.hpp"
#include "bindings/core.hpp"
#include "core/pairs/pair_histogram.hpp"
#include "core/pairs/token_frequency.hpp"
#include "core/text/character_splits.hpp"

namespace pyharness::bindings {
namespace {

void add_token_frequency(const py::array& ids, const py::array& offsets, const py::array& groups,
                         py::array& out) {
  if (out.ndim() != 2) throw py::value_error("out must have two dimensions: groups and ids");
  if (!out.writeable()) throw py::value_error("out must be writeable");
  const auto counts = view<std::uint64_t>(out, "out");
  const auto ids_view = view_1d<std::uint32_t>(ids, "ids");
  const auto offsets_view = view_1d<std::int64_t>(offsets, "offsets");
  const auto groups_view = view_1d<std::uint8_t>(groups, "groups");
  const auto id_limit = static_cast<std::size_t>(out.shape(1));
  auto* const first = static_cast<std::uint64_t*>(out.mutable_data());
  const py::gil_scoped_release release;
  token_frequency(ids_view, offsets_view, groups_view, id_limit, {first, counts.size()});
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

py::tuple pair_histogram_of(const py::array& ids, const std::optional<py::array>& offsets,
                            const std::optional<py::array>& weights, int threads) {
  const auto ids_view = view_1d<std::uint32_t>(ids, "ids");
  std::optional<std::span<const std::int64_t>> offsets_view;
  std::optional<std::span<const std::uint64_t>> weights_view;
  if (offsets) offsets_view = view_1d<std::int64_t>(*offsets, "offsets");
  if (weights) weights_view = view_1d<std::uint64_t>(*weights, "weights");
  PairHistogram histogram;
  {
    const py::gil_scoped_release release;
    histogram = pair_histogram(ids_view, offsets_view, weights_view, threads);
  }
  return py::make_tuple(hand_over(std::move(histogram.left)), hand_over(std::move(histogram.right)),
                        hand_over(std::move(histogram.count)));
}

}  // namespace

void bind_counts(py::module_& module) {
  module.def("token_frequency", &add_token_frequency, py::arg("ids"), py::arg("offsets"), py::arg("groups"),
             py::arg("out"));
  module.def("character_splits", &character_splits_of, py::arg("ids"), py::arg("offsets"), py::arg("flags"));
  module.def("pair_histogram", &pair_histogram_of, py::arg("ids"), py::arg("offsets") = py::none(),
             py::arg("weights") = py::none(), py::arg("threads") = 1);
}

}  // namespace pyharness::bindings
