#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/model_arrays.hpp"
#include "bindings/core.hpp"
#include "core/reachability/leaf_order.hpp"
#include "core/reachability/merge_graph.hpp"
#include "core/reachability/self_tokenization.hpp"

namespace pyharness::bindings {
namespace {

py::dict merge_graph_of(const py::object& model) {
  const ModelArrays arrays(model);
  MergeGraph graph;
  {
    const py::gil_scoped_release release;
    graph = merge_graph(arrays.view());
  }
  py::dict result;
  result["derivable"] = hand_over<bool>(std::move(graph.derivable));
  result["depth"] = hand_over(std::move(graph.depth));
  result["children"] = hand_over(std::move(graph.children));
  result["derivations"] = hand_over(std::move(graph.derivations));
  result["orphan_rules"] = hand_over(std::move(graph.orphan_rules));
  result["shadowed_rules"] = hand_over(std::move(graph.shadowed_rules));
  result["duplicates"] = hand_over(std::move(graph.duplicates));
  result["rule_count"] = graph.rule_count;
  return result;
}

py::tuple self_tokenization_of(const py::object& model, int threads) {
  const ModelArrays arrays(model);
  SelfTokenization result;
  {
    const py::gil_scoped_release release;
    result = self_tokenization(arrays.view(), threads);
  }
  return py::make_tuple(hand_over<std::uint8_t>(std::move(result.verdict)),
                        hand_over(std::move(result.parts)), hand_over(std::move(result.failed)),
                        hand_over(std::move(result.witnesses.ids)),
                        hand_over(std::move(result.witnesses.offsets)));
}

py::array_t<std::uint32_t> leaf_order_of(const py::array& parts, const py::array& counts,
                                         const py::array& removable) {
  const auto part_ids = view<std::uint32_t>(parts, "parts");
  const auto of_ids = view_1d<std::uint64_t>(counts, "counts");
  const auto flags = view_bools(removable, "removable");
  std::vector<std::uint32_t> order;
  {
    const py::gil_scoped_release release;
    order = leaf_order(part_ids, of_ids, flags);
  }
  return hand_over(std::move(order));
}

}  // namespace

void bind_reachability(py::module_& module) {
  module.def("leaf_order", &leaf_order_of, py::arg("parts"), py::arg("counts"), py::arg("removable"));
  module.def("merge_graph", &merge_graph_of, py::arg("model"));
  module.def("self_tokenization", &self_tokenization_of, py::arg("model"), py::arg("threads") = 1);
}

}  // namespace pyharness::bindings
