#include "bindings/pairs.hpp"

#include "bindings/arrays/arrays.hpp"
#include "bindings/core.hpp"
#include "bindings/host_run.hpp"
#include "core/pairs/id_digests.hpp"
#include "core/pairs/pair_histogram.hpp"
#include "core/pairs/token_frequency.hpp"

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

py::tuple id_digests_of(const py::array& ids, const py::array& offsets, const py::array& keys,
                        const std::optional<py::array>& token_bytes) {
  const auto ids_view = view_1d<std::uint32_t>(ids, "ids");
  const auto offsets_view = view_1d<std::int64_t>(offsets, "offsets");
  const auto keys_view = view_1d<std::uint64_t>(keys, "keys");
  std::optional<std::span<const std::uint16_t>> bytes_view;
  if (token_bytes) bytes_view = view_1d<std::uint16_t>(*token_bytes, "token_bytes");
  IdDigests digests;
  {
    const py::gil_scoped_release release;
    digests = id_digests(ids_view, offsets_view, keys_view, bytes_view);
  }
  return py::make_tuple(digests.total, hand_over(std::move(digests.blocks)),
                        hand_over(std::move(digests.bytes)));
}

py::tuple pair_histogram_of(const py::object& tokens, const py::object& offsets, const py::object& weights,
                            const py::kwargs& options) {
  const HostRun run(options);
  CallArrays arrays = run.arrays();
  const DlArray& array = arrays.read(tokens, "ids");
  const std::span ids(vector_of<const std::uint32_t>(array), static_cast<std::size_t>(array.size()));
  const PairSegments segments = segments_of(arrays, offsets, weights);
  PairHistogram histogram;
  run(arrays, [&] { histogram = pair_histogram(ids, segments, run.threads()); });
  return py::make_tuple(hand_over(std::move(histogram.left)), hand_over(std::move(histogram.right)),
                        hand_over(std::move(histogram.count)));
}

void check_segments_of(const py::object& offsets, const py::object& weights, std::int64_t total,
                       const py::kwargs& options) {
  const HostRun run(options);
  CallArrays arrays = run.arrays();
  const PairSegments segments = segments_of(arrays, offsets, weights);
  run(arrays, [&] { check_segments(segments, total); });
}

}  // namespace

void bind_pairs(py::module_& module) {
  using py::arg;
  const py::none none;
  module.def("token_frequency", &add_token_frequency, arg("ids"), arg("offsets"), arg("groups"), arg("out"));
  module.def("id_digests", &id_digests_of, arg("ids"), arg("offsets"), arg("keys"), arg("token_bytes"));
  module.def("pair_histogram", &pair_histogram_of, arg("tokens"), arg("offsets") = none,
             arg("weights") = none);
  module.def("check_segments", &check_segments_of, arg("offsets"), arg("weights"), arg("total"));
}

}  // namespace pyharness::bindings
