#include "bindings/pairs.hpp"

#include "bindings/arrays/arrays.hpp"
#include "bindings/core.hpp"
#include "bindings/host_run.hpp"
#include "core/pairs/id_counts.hpp"
#include "core/pairs/id_digests.hpp"
#include "core/pairs/pair_histogram.hpp"

namespace pyharness::bindings {
namespace {

template <class Value>
std::optional<std::span<const Value>> view_of(const std::optional<py::array>& array, const char* name) {
  if (!array) return std::nullopt;
  return view_1d<Value>(*array, name);
}

py::tuple as_tuple(IdDigests&& digests) {
  return py::make_tuple(digests.total, hand_over(std::move(digests.blocks)),
                        hand_over(std::move(digests.bytes)));
}

py::tuple count_ids_of(const py::array& ids, const py::array& offsets, const py::array& groups,
                       py::array& out, const std::optional<py::array>& keys,
                       const std::optional<py::array>& token_bytes, const std::optional<py::array>& flags,
                       int threads) {
  if (out.ndim() != 2) throw py::value_error("out must have two dimensions: groups and ids");
  if (!out.writeable()) throw py::value_error("out must be writeable");
  const auto counts = view<std::uint64_t>(out, "out");
  const auto ids_view = view_1d<std::uint32_t>(ids, "ids");
  const auto offsets_view = view_1d<std::int64_t>(offsets, "offsets");
  const auto groups_view = view_1d<std::uint8_t>(groups, "groups");
  const IdQuestions questions{view_of<std::uint64_t>(keys, "keys"),
                              view_of<std::uint16_t>(token_bytes, "token_bytes"),
                              view_of<std::uint8_t>(flags, "flags")};
  const auto id_limit = static_cast<std::size_t>(out.shape(1));
  auto* const first = static_cast<std::uint64_t*>(out.mutable_data());
  IdCounts found;
  {
    const py::gil_scoped_release release;
    found =
        count_ids(ids_view, offsets_view, groups_view, questions, id_limit, {first, counts.size()}, threads);
  }
  return py::make_tuple(hand_over(std::move(found.splits)), as_tuple(std::move(found.digests)));
}

py::tuple id_digests_of(const py::array& ids, const py::array& offsets, const py::array& keys,
                        const std::optional<py::array>& token_bytes) {
  const auto ids_view = view_1d<std::uint32_t>(ids, "ids");
  const auto offsets_view = view_1d<std::int64_t>(offsets, "offsets");
  const auto keys_view = view_1d<std::uint64_t>(keys, "keys");
  const auto bytes_view = view_of<std::uint16_t>(token_bytes, "token_bytes");
  IdDigests digests;
  {
    const py::gil_scoped_release release;
    digests = id_digests(ids_view, offsets_view, keys_view, bytes_view);
  }
  return as_tuple(std::move(digests));
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
  module.def("count_ids", &count_ids_of, arg("ids"), arg("offsets"), arg("groups"), arg("out"),
             arg("keys") = none, arg("token_bytes") = none, arg("flags") = none, arg("threads") = 1);
  module.def("id_digests", &id_digests_of, arg("ids"), arg("offsets"), arg("keys"), arg("token_bytes"));
  module.def("pair_histogram", &pair_histogram_of, arg("tokens"), arg("offsets") = none,
             arg("weights") = none);
  module.def("check_segments", &check_segments_of, arg("offsets"), arg("weights"), arg("total"));
}

}  // namespace pyharness::bindings
