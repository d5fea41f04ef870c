#include "bindings/arrays.hpp"
#include "bindings/core.hpp"
#include "core/bpe_encoder.hpp"
#include "core/merge_graph.hpp"
#include "core/self_tokenization.hpp"

namespace pyharness::bindings {
namespace {

// The arrays of a pyharness.types.MergeModel, kept alive, and the core's view of them. Works on anything with
// those attributes, so the extension does not import the package.
class ModelArrays {
 public:
  explicit ModelArrays(const py::object& model)
      : data_(array(model, "data")),
        offsets_(array(model, "offsets")),
        base_(array(model, "base")),
        base_offsets_(array(model, "base_offsets")),
        tested_(array(model, "tested")),
        atomic_(array(model, "atomic")),
        rules_or_ranks_(py::none()) {
    view_.data = view_1d<std::uint8_t>(data_, "data");
    view_.offsets = view_1d<std::int64_t>(offsets_, "offsets");
    view_.base = view_1d<std::uint32_t>(base_, "base");
    view_.base_offsets = view_1d<std::int64_t>(base_offsets_, "base_offsets");
    view_.tested = view_bools(tested_, "tested");
    view_.atomic = view_bools(atomic_, "atomic");
    view_rules(model);
  }

  const MergeModel& view() const { return view_; }

 private:
  static py::array array(const py::object& model, const char* name) {
    const py::object value = model.attr(name);
    if (!py::isinstance<py::array>(value)) throw py::type_error(std::string(name) + " must be a NumPy array");
    return py::reinterpret_borrow<py::array>(value);
  }

  void view_rules(const py::object& model) {
    const bool has_rules = !model.attr("rules").is_none();
    const bool has_ranks = !model.attr("ranks").is_none();
    if (has_rules == has_ranks) throw py::value_error("a model has exactly one of rules and ranks");
    const auto values = array(model, has_rules ? "rules" : "ranks");
    rules_or_ranks_ = values;
    if (has_ranks) {
      view_.ranks = view_1d<std::uint32_t>(values, "ranks");
      return;
    }
    if (values.ndim() != 2 || values.shape(1) != 3)
      throw py::value_error("rules must have shape [n_rules, 3]");
    view_.rules = view_of_rules(values);
  }

  static std::span<const std::uint32_t> view_of_rules(const py::array& values) {
    return pyharness::bindings::view<std::uint32_t>(values, "rules");
  }

  py::array data_, offsets_, base_, base_offsets_, tested_, atomic_;
  py::object rules_or_ranks_;
  MergeModel view_;
};

py::tuple tokens(EncodedBatch&& batch) {
  return py::make_tuple(hand_over(std::move(batch.ids)), hand_over(std::move(batch.offsets)));
}

// Look-up tables of a model and the arrays they point into.
class Encoder {
 public:
  explicit Encoder(const py::object& model) : arrays_(model), encoder_(build(arrays_.view())) {}

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
  py::class_<Encoder>(module, "Encoder")
      .def(py::init<const py::object&>(), py::arg("model"))
      .def("encode", &Encoder::encode, py::arg("base"))
      .def("encode_batch", &Encoder::encode_batch, py::arg("base"), py::arg("base_offsets"),
           py::arg("threads") = 1);
  module.def("merge_graph", &merge_graph_of, py::arg("model"));
  module.def("self_tokenization", &self_tokenization_of, py::arg("model"), py::arg("threads") = 1);
}

}  // namespace pyharness::bindings
