#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/arrays/arrays.hpp"
#include "bindings/core.hpp"
#include "core/curriculum/fixpoint_encoder.hpp"
#include "core/curriculum/group_counter.hpp"
#include "core/machine/checks.hpp"

namespace pyharness::bindings {
namespace {

using curriculum::Encoded;
using curriculum::FixpointEncoder;
using curriculum::GroupCounter;
using curriculum::Groups;

void add(GroupCounter& counter, const py::array& ids, const py::array& signal, const py::array& offsets,
         int threads) {
  const auto values = view_1d<double>(signal, "signal");
  with_ids(ids, offsets, [&](auto tokens, auto ends) { counter.add(tokens, values, ends, threads); });
}

py::tuple first(const GroupCounter& counter, std::size_t most, std::optional<std::uint64_t> seed) {
  Groups groups;
  {
    const py::gil_scoped_release release;
    groups = counter.first(most, seed);
  }
  return py::make_tuple(hand_over(std::move(groups.ids)), hand_over(std::move(groups.offsets)),
                        hand_over(std::move(groups.counts)));
}

std::unique_ptr<FixpointEncoder> encoder_of(const py::array& data, const py::array& offsets) {
  const auto bytes = view_1d<std::uint8_t>(data, "data");
  const auto ends = view_1d<std::int64_t>(offsets, "offsets");
  const py::gil_scoped_release release;
  check_offsets(ends, bytes.size(), "offsets");
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string_view> strings;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    strings.push_back(
        all.substr(static_cast<std::size_t>(ends[i]), static_cast<std::size_t>(ends[i + 1] - ends[i])));
  return std::make_unique<FixpointEncoder>(strings);
}

py::tuple encode(const FixpointEncoder& encoder, const py::array& symbols, const py::array& offsets,
                 int threads) {
  Encoded encoded;
  with_ids(symbols, offsets,
           [&](auto values, auto ends) { encoded = encoder.encode(values, ends, threads); });
  return py::make_tuple(hand_over(std::move(encoded.ids)), hand_over(std::move(encoded.offsets)));
}

}  // namespace

void bind_curriculum(py::module_& module) {
  using py::arg;
  py::class_<GroupCounter>(module, "GroupCounter")
      .def(py::init([](double epsilon, bool strict, std::optional<double> row_quantile,
                       std::uint32_t id_limit, std::size_t max_bytes) {
             return std::make_unique<GroupCounter>(
                 curriculum::GroupRule{epsilon, strict, row_quantile, id_limit}, max_bytes);
           }),
           arg("epsilon"), arg("strict"), arg("row_quantile"), arg("id_limit"), arg("max_bytes"))
      .def("add", &add, arg("ids"), arg("signal"), arg("offsets"), arg("threads"))
      .def("distinct", &GroupCounter::distinct)
      .def("total", &GroupCounter::total)
      .def("first", &first, arg("most"), arg("seed"));
  py::class_<FixpointEncoder>(module, "FixpointEncoder")
      .def(py::init(&encoder_of), arg("data"), arg("offsets"))
      .def("encode", &encode, arg("symbols"), arg("offsets"), arg("threads"));
}

}  // namespace pyharness::bindings
