#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/model_arrays.hpp"
#include "bindings/core.hpp"
#include "core/merging/bpe_encoder.hpp"
#include "core/reachability/merge_graph.hpp"
#include "core/reachability/self_tokenization.hpp"

namespace pyharness::bindings {
namespace {

py::tuple tokens(EncodedBatch&& batch) {
  return py::make_tuple(hand_over(std::move(batch.ids)), hand_over(std::move(batch.offsets)));
}

// Look-up tables of a model and the arrays they point into.
class BpeEncoderHandle {
 public:
  explicit BpeEncoderHandle(const py::object& model) : arrays_(model), encoder_(build(arrays_.view())) {}

  py::array_t<std::uint32_t> encode(const py::array& base) const {
    const auto symbols = view_1d<std::uint32_t>(base, "base");
    std::vector<std::uint32_t> ids;
    {
      const py::gil_scoped_release release;
      EncodingWorkspace workspace;
      const auto result = encoder_.encode(symbols, workspace);
      ids.assign(result.begin(), result.end());
    }
    return hand_over(std::move(ids));
  }

  py::tuple encode_batch(const py::array& base, const py::array& base_offsets, int threads) const {
    const auto symbols = view_1d<std::uint32_t>(base, "base");
    const auto offsets = view_1d<std::int64_t>(base_offsets, "base_offsets");
    EncodedBatch batch;
    {
      const py::gil_scoped_release release;
      batch = pyharness::encode_batch(encoder_, symbols, offsets, threads);
    }
    return tokens(std::move(batch));
  }

 private:
  static BpeEncoder build(const MergeModel& model) {
    const py::gil_scoped_release release;
    return BpeEncoder(model);
  }

  ModelArrays arrays_;
  BpeEncoder encoder_;
};

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

}  // namespace

void bind_bpe(py::module_& module) {
  py::class_<BpeEncoderHandle>(module, "BpeEncoder")
      .def(py::init<const py::object&>(), py::arg("model"))
      .def("encode", &BpeEncoderHandle::encode, py::arg("base"))
      .def("encode_batch", &BpeEncoderHandle::encode_batch, py::arg("base"), py::arg("base_offsets"),
           py::arg("threads") = 1);
  module.def("merge_graph", &merge_graph_of, py::arg("model"));
  module.def("self_tokenization", &self_tokenization_of, py::arg("model"), py::arg("threads") = 1);
}

}  // namespace pyharness::bindings
