#include "core/entropy/entropy.hpp"

#include <pybind11/stl.h>

#include "bindings/arrays/entropy_arrays.hpp"
#include "bindings/core.hpp"

namespace pyharness::bindings {
namespace {

using Object = const py::object&;

void check_host(const DlArray& array) {
  if (!array.is_host()) throw std::invalid_argument(array.name() + " must be in host memory");
}

DlArray host_array(Object object, const char* name) {
  DlArray array(object, name);
  check_host(array);
  return array;
}

Logits logits_of(const DlArray& array) {
  check_logits(array);
  const LogitType type = array.is_float32()   ? LogitType::kFloat32
                         : array.is_float16() ? LogitType::kFloat16
                                              : LogitType::kBfloat16;
  return {array.data(), type, array.shape(0), array.shape(1), array.stride(0)};
}

// The targets of a call, kept until it ends.
struct TargetArray {
  TargetArray(Object object, std::int64_t rows) {
    if (object.is_none()) return;
    array.emplace(host_array(object, "targets"));
    targets.wide = check_targets_array(*array, rows);
    targets.data = array->data();
  }
  std::optional<DlArray> array;
  Targets targets;
};

template <class Real>
EntropyOutputs<Real> outputs_of(OutputArrays& arrays, Object entropy, Object log_sum_exp, Object nll,
                                Object max_probability, Object argmax, Object margin) {
  EntropyOutputs<Real> outputs;
  outputs.entropy = arrays.open<Real>(entropy, "entropy");
  outputs.log_sum_exp = arrays.open<Real>(log_sum_exp, "log_sum_exp");
  outputs.nll = arrays.open<Real>(nll, "nll");
  outputs.max_probability = arrays.open<Real>(max_probability, "max_probability");
  outputs.argmax = arrays.open<std::int64_t>(argmax, "argmax");
  outputs.margin = arrays.open<Real>(margin, "margin");
  for (const DlArray& array : arrays.arrays()) check_host(array);
  return outputs;
}

void entropy_of(Object logits, Object targets, double temperature, double unit_scale, Object entropy_out,
                Object log_sum_exp, Object nll, Object max_probability, Object argmax, Object margin,
                Object /*workspace*/, Object /*stream*/, int threads) {
  const DlArray array = host_array(logits, "logits");
  const Logits rows = logits_of(array);
  const TargetArray target_array(targets, rows.rows);
  if (!targets.is_none()) check_targets(target_array.targets, rows.rows, rows.columns);
  OutputArrays arrays(rows.rows, std::nullopt);
  const auto outputs =
      outputs_of<float>(arrays, entropy_out, log_sum_exp, nll, max_probability, argmax, margin);
  const InstructionSet instructions = chosen_instruction_set();
  const py::gil_scoped_release release;
  entropy(rows, target_array.targets, {temperature, unit_scale}, outputs, instructions, threads);
}

void entropy_reference_of(Object logits, Object targets, double temperature, double unit_scale,
                          Object entropy_out, Object log_sum_exp, Object nll, Object max_probability,
                          Object argmax, Object margin) {
  const DlArray array = host_array(logits, "logits");
  const Logits rows = logits_of(array);
  const TargetArray target_array(targets, rows.rows);
  if (!targets.is_none()) check_targets(target_array.targets, rows.rows, rows.columns);
  OutputArrays arrays(rows.rows, std::nullopt);
  const auto outputs =
      outputs_of<double>(arrays, entropy_out, log_sum_exp, nll, max_probability, argmax, margin);
  const py::gil_scoped_release release;
  entropy_reference(rows, target_array.targets, {temperature, unit_scale}, outputs);
}

void entropy_states_of(Object logits, Object targets, Object states, std::int64_t first_column,
                       double temperature, Object /*workspace*/, Object /*stream*/, int threads) {
  const DlArray array = host_array(logits, "logits");
  const Logits rows = logits_of(array);
  const TargetArray target_array(targets, rows.rows);
  const DlArray state_array = host_array(states, "states");
  check_states(state_array, rows.rows, true);
  const InstructionSet instructions = chosen_instruction_set();
  const py::gil_scoped_release release;
  entropy_states(rows, target_array.targets, first_column, temperature,
                 static_cast<EntropyState*>(state_array.data()), instructions, threads);
}

void entropy_merge_of(Object states, Object other, double temperature, Object /*stream*/, int /*threads*/) {
  const DlArray into = host_array(states, "states");
  const DlArray from = host_array(other, "other");
  const std::int64_t rows = into.ndim() == 0 ? 0 : into.shape(0);
  check_states(into, rows, true);
  check_states(from, rows, false);
  const py::gil_scoped_release release;
  entropy_merge(static_cast<EntropyState*>(into.data()), static_cast<const EntropyState*>(from.data()), rows,
                temperature);
}

void entropy_finish_of(Object states, double temperature, double unit_scale, Object entropy_out,
                       Object log_sum_exp, Object nll, Object max_probability, Object argmax, Object margin,
                       Object /*stream*/, int /*threads*/) {
  const DlArray from = host_array(states, "states");
  const std::int64_t rows = from.ndim() == 0 ? 0 : from.shape(0);
  check_states(from, rows, false);
  OutputArrays arrays(rows, std::nullopt);
  const auto outputs =
      outputs_of<float>(arrays, entropy_out, log_sum_exp, nll, max_probability, argmax, margin);
  const py::gil_scoped_release release;
  entropy_finish(static_cast<const EntropyState*>(from.data()), rows, {temperature, unit_scale}, outputs);
}

void check_targets_of(Object targets, std::int64_t vocab_size, Object /*workspace*/, Object /*stream*/,
                      int /*threads*/) {
  const DlArray array = host_array(targets, "targets");
  const std::int64_t rows = array.ndim() == 0 ? 0 : array.shape(0);
  const bool wide = check_targets_array(array, rows);
  const py::gil_scoped_release release;
  check_targets({array.data(), wide}, rows, vocab_size);
}

py::tuple describe_array(Object object, const char* name) {
  const DlArray array(object, name, -1);  // -1: nothing is read, so nothing waits
  return py::make_tuple(array.device_type(), array.device_id(), array.dtype_name(), array.itemsize(),
                        py::tuple(py::cast(array.shape())), py::tuple(py::cast(array.strides())),
                        array.read_only(), reinterpret_cast<std::uintptr_t>(array.data()));
}

std::vector<std::string> instruction_set_names() {
  std::vector<std::string> names;
  for (const InstructionSet set : instruction_sets()) names.emplace_back(name_of(set));
  return names;
}

}  // namespace

void bind_entropy(py::module_& module) {
  const py::none none;
  using py::arg;
  module.def("entropy", &entropy_of, arg("logits"), arg("targets") = none, py::kw_only(),
             arg("temperature") = 1.0, arg("unit_scale") = 1.0, arg("entropy") = none,
             arg("log_sum_exp") = none, arg("nll") = none, arg("max_probability") = none,
             arg("argmax") = none, arg("margin") = none, arg("workspace") = none, arg("stream") = none,
             arg("threads") = 1);
  module.def("entropy_workspace", [](std::int64_t, std::int64_t) { return 0; }, arg("rows"), arg("columns"));
  module.def("entropy_reference", &entropy_reference_of, arg("logits"), arg("targets") = none, py::kw_only(),
             arg("temperature") = 1.0, arg("unit_scale") = 1.0, arg("entropy") = none,
             arg("log_sum_exp") = none, arg("nll") = none, arg("max_probability") = none,
             arg("argmax") = none, arg("margin") = none);
  module.def("entropy_states", &entropy_states_of, arg("logits"), arg("targets"), arg("states"),
             py::kw_only(), arg("first_column") = 0, arg("temperature") = 1.0, arg("workspace") = none,
             arg("stream") = none, arg("threads") = 1);
  module.def("entropy_merge", &entropy_merge_of, arg("states"), arg("other"), py::kw_only(),
             arg("temperature") = 1.0, arg("stream") = none, arg("threads") = 1);
  module.def("entropy_finish", &entropy_finish_of, arg("states"), py::kw_only(), arg("temperature") = 1.0,
             arg("unit_scale") = 1.0, arg("entropy") = none, arg("log_sum_exp") = none, arg("nll") = none,
             arg("max_probability") = none, arg("argmax") = none, arg("margin") = none, arg("stream") = none,
             arg("threads") = 1);
  module.def("check_targets", &check_targets_of, arg("targets"), arg("vocab_size"), py::kw_only(),
             arg("workspace") = none, arg("stream") = none, arg("threads") = 1);
  module.def("describe_array", &describe_array, arg("array"), arg("name"));
  module.def("instruction_sets", &instruction_set_names);
  module.def("instruction_set", [] { return name_of(chosen_instruction_set()); });
}

}  // namespace pyharness::bindings
