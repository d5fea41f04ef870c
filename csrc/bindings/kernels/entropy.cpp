#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bindings/kernels/kernels.hpp"
#include "kernels/entropy/entropy.hpp"

namespace pyharness::bindings {
namespace {

using kernels::EntropyOutputs;
using kernels::EntropyState;
using Handle = std::optional<std::intptr_t>;

constexpr std::int64_t kMostColumns = 0x7fffffff;

kernels::Logits logits_of(const DlArray& array) {
  if (array.ndim() != 2) throw std::invalid_argument("logits must have two dimensions: rows and columns");
  if (array.shape(1) < 1 || array.shape(1) > kMostColumns)
    throw std::invalid_argument("logits must have 1..2147483647 columns, not " +
                                std::to_string(array.shape(1)));
  if (array.shape(1) > 1 && array.stride(1) != 1)
    throw std::invalid_argument("logits must be contiguous in the last dimension");
  kernels::Logits logits{array.data(), {}, array.shape(0), array.shape(1), array.stride(0)};
  if (array.is_float32())
    logits.type = kernels::LogitType::kFloat32;
  else if (array.is_float16())
    logits.type = kernels::LogitType::kFloat16;
  else if (array.is_bfloat16())
    logits.type = kernels::LogitType::kBfloat16;
  else
    throw py::type_error("logits must be float32, float16 or bfloat16, not " + array.dtype_name());
  return logits;
}

kernels::Targets targets_of(const DlArray& array, std::int64_t rows) {
  expect_shape(array, {rows});
  const bool wide = array.is_integer(64, true);
  if (!wide && !array.is_integer(32, true))
    throw py::type_error("targets must be int32 or int64, not " + array.dtype_name());
  return {array.data(), wide};
}

// The arrays of one call that may be None stay alive in `kept` until it has launched.
class Call : public KernelArrays {
 public:
  using KernelArrays::KernelArrays;

  kernels::Targets targets(const py::object& object, std::int64_t rows) {
    if (object.is_none()) return {};
    kept_.push_back(read(object, "targets"));
    return targets_of(kept_.back(), rows);
  }

  float* floats(const py::object& object, const char* name, std::int64_t rows) {
    return static_cast<float*>(output(object, name, rows, false));
  }
  std::int64_t* ids(const py::object& object, const char* name, std::int64_t rows) {
    return static_cast<std::int64_t*>(output(object, name, rows, true));
  }

  EntropyState* written_states(const py::object& object, std::int64_t rows) {
    return states_in(write(object, "states"), rows);
  }
  const EntropyState* read_states(const py::object& object, std::int64_t rows, const char* name) {
    return states_in(read(object, name), rows);
  }

  void* workspace(const py::object& object, std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (object.is_none())
      throw std::invalid_argument("this shape needs a workspace of " + std::to_string(bytes) + " bytes");
    kept_.push_back(write(object, "workspace"));
    const DlArray& array = kept_.back();
    if (!array.is_integer(8, false) || array.size() < static_cast<std::int64_t>(bytes))
      throw std::invalid_argument("workspace must be uint8 of at least " + std::to_string(bytes) + " bytes");
    expect_shape(array, array.shape());
    expect_aligned(array, alignof(EntropyState));
    return array.data();
  }

 private:
  EntropyState* states_in(DlArray&& opened, std::int64_t rows) {
    kept_.push_back(std::move(opened));
    const DlArray& array = kept_.back();
    expect_shape(array, {rows, static_cast<std::int64_t>(sizeof(EntropyState) / sizeof(float))});
    if (!array.is_float32()) throw py::type_error(array.name() + " must be float32");
    expect_aligned(array, alignof(EntropyState));
    return static_cast<EntropyState*>(array.data());
  }

  static void expect_aligned(const DlArray& array, std::size_t bytes) {
    if (reinterpret_cast<std::uintptr_t>(array.data()) % bytes != 0)
      throw std::invalid_argument(array.name() + " must be aligned to " + std::to_string(bytes) + " bytes");
  }

  void* output(const py::object& object, const char* name, std::int64_t rows, bool ids) {
    if (object.is_none()) return nullptr;
    kept_.push_back(write(object, name));
    const DlArray& array = kept_.back();
    expect_shape(array, {rows});
    if (ids ? !array.is_integer(64, true) : !array.is_float32())
      throw py::type_error(std::string(name) + " must be " + (ids ? "int64" : "float32") + ", not " +
                           array.dtype_name());
    return array.data();
  }

  std::vector<DlArray> kept_;
};

struct Wanted {
  const py::object &entropy, &log_sum_exp, &nll, &max_probability, &argmax, &margin;
};

EntropyOutputs outputs_of(Call& call, const Wanted& wanted, std::int64_t rows, double unit_scale) {
  EntropyOutputs outputs;
  outputs.entropy = call.floats(wanted.entropy, "entropy", rows);
  outputs.log_sum_exp = call.floats(wanted.log_sum_exp, "log_sum_exp", rows);
  outputs.nll = call.floats(wanted.nll, "nll", rows);
  outputs.max_probability = call.floats(wanted.max_probability, "max_probability", rows);
  outputs.argmax = call.ids(wanted.argmax, "argmax", rows);
  outputs.margin = call.floats(wanted.margin, "margin", rows);
  outputs.unit_scale = unit_scale;
  return outputs;
}

template <class Work>
void run(const Call& call, Work&& work) {
  const py::gil_scoped_release release;
  const kernels::DeviceGuard guard(call.device());
  work();
}

void entropy(const py::object& logits, const py::object& targets, double temperature, double unit_scale,
             const py::object& entropy, const py::object& log_sum_exp, const py::object& nll,
             const py::object& max_probability, const py::object& argmax, const py::object& margin,
             const py::object& workspace, Handle stream, int) {
  Call call(stream);
  const DlArray array = call.read(logits, "logits");
  const kernels::Logits shape = logits_of(array);
  const kernels::Targets ids = call.targets(targets, shape.rows);
  if (!nll.is_none() && !ids.ids && shape.rows > 0) throw std::invalid_argument("nll needs targets");
  const Wanted wanted{entropy, log_sum_exp, nll, max_probability, argmax, margin};
  const EntropyOutputs outputs = outputs_of(call, wanted, shape.rows, unit_scale);
  void* const memory = call.workspace(workspace, kernels::entropy_workspace(shape.rows, shape.columns));
  run(call, [&] { kernels::entropy(shape, ids, temperature, outputs, memory, call.stream()); });
}

void entropy_states(const py::object& logits, const py::object& targets, const py::object& states,
                    std::int64_t first_column, double temperature, const py::object& workspace, Handle stream,
                    int) {
  Call call(stream);
  const DlArray array = call.read(logits, "logits");
  const kernels::Logits shape = logits_of(array);
  if (first_column < 0 || first_column > kMostColumns - shape.columns)
    throw std::invalid_argument("first_column " + std::to_string(first_column) +
                                " leaves the ids below 2147483647");
  const kernels::Targets ids = call.targets(targets, shape.rows);
  EntropyState* const out = call.written_states(states, shape.rows);
  void* const memory = call.workspace(workspace, kernels::entropy_workspace(shape.rows, shape.columns));
  run(call,
      [&] { kernels::entropy_states(shape, ids, first_column, temperature, out, memory, call.stream()); });
}

std::int64_t rows_of(const DlArray& states) {
  if (states.ndim() != 2) throw std::invalid_argument("states must have two dimensions: rows and 8 words");
  return states.shape(0);
}

void entropy_merge(const py::object& states, const py::object& other, double temperature, Handle stream,
                   int) {
  Call call(stream);
  const std::int64_t rows = rows_of(call.read(states, "states"));
  EntropyState* const into = call.written_states(states, rows);
  const EntropyState* const from = call.read_states(other, rows, "other");
  run(call, [&] { kernels::entropy_merge(into, from, rows, temperature, call.stream()); });
}

void entropy_finish(const py::object& states, double temperature, double unit_scale,
                    const py::object& entropy, const py::object& log_sum_exp, const py::object& nll,
                    const py::object& max_probability, const py::object& argmax, const py::object& margin,
                    Handle stream, int) {
  Call call(stream);
  const std::int64_t rows = rows_of(call.read(states, "states"));
  const EntropyState* const from = call.read_states(states, rows, "states");
  const Wanted wanted{entropy, log_sum_exp, nll, max_probability, argmax, margin};
  const EntropyOutputs outputs = outputs_of(call, wanted, rows, unit_scale);
  run(call, [&] { kernels::entropy_finish(from, rows, temperature, outputs, call.stream()); });
}

void check_targets(const py::object& targets, std::int64_t vocab_size, const py::object& workspace,
                   Handle stream, int) {
  Call call(stream);
  const DlArray array = call.read(targets, "targets");
  if (array.ndim() != 1) throw std::invalid_argument("targets must have one dimension");
  const std::int64_t rows = array.shape(0);
  const kernels::Targets ids = targets_of(array, rows);
  void* const memory = call.workspace(workspace, rows == 0 ? 0 : sizeof(std::int64_t));
  kernels::BadTarget bad;
  run(call, [&] { bad = kernels::first_bad_target(ids, rows, vocab_size, memory, call.stream()); });
  if (bad.row >= 0)
    throw std::invalid_argument("targets[" + std::to_string(bad.row) + "] = " + std::to_string(bad.id) +
                                " is not an id of the vocabulary: 0.." + std::to_string(vocab_size - 1));
}

}  // namespace

void bind_entropy(py::module_& module) {
  const auto none = py::none();
  module.def("entropy", &entropy, py::arg("logits"), py::arg("targets") = none, py::arg("temperature") = 1.0,
             py::arg("unit_scale") = 1.0, py::arg("entropy") = none, py::arg("log_sum_exp") = none,
             py::arg("nll") = none, py::arg("max_probability") = none, py::arg("argmax") = none,
             py::arg("margin") = none, py::arg("workspace") = none, py::arg("stream") = none,
             py::arg("threads") = 1);
  module.def("entropy_workspace", &kernels::entropy_workspace, py::arg("rows"), py::arg("columns"));
  module.def("entropy_states", &entropy_states, py::arg("logits"), py::arg("targets") = none,
             py::arg("states") = none, py::arg("first_column") = 0, py::arg("temperature") = 1.0,
             py::arg("workspace") = none, py::arg("stream") = none, py::arg("threads") = 1);
  module.def("entropy_merge", &entropy_merge, py::arg("states"), py::arg("other"),
             py::arg("temperature") = 1.0, py::arg("stream") = none, py::arg("threads") = 1);
  module.def("entropy_finish", &entropy_finish, py::arg("states"), py::arg("temperature") = 1.0,
             py::arg("unit_scale") = 1.0, py::arg("entropy") = none, py::arg("log_sum_exp") = none,
             py::arg("nll") = none, py::arg("max_probability") = none, py::arg("argmax") = none,
             py::arg("margin") = none, py::arg("stream") = none, py::arg("threads") = 1);
  module.def("check_targets", &check_targets, py::arg("targets"), py::arg("vocab_size"),
             py::arg("workspace") = none, py::arg("stream") = none, py::arg("threads") = 1);
}

}  // namespace pyharness::bindings
