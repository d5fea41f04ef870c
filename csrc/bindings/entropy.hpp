// The binding of next-token entropy, the same for every backend. `Backend` has
//   Run: how a call runs (HostRun, DeviceRun), which takes the last options of every function;
//   entropy, entropy_states, entropy_merge, entropy_finish and check_targets: the functions of core/entropy
//   and kernels/entropy with the run as their last argument; workspace(rows, columns): bytes that they
//   allocate for logits of this shape.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "bindings/arrays/call_arrays.hpp"
#include "shared/entropy.hpp"

namespace pyharness::bindings {

inline Logits logits_of(const DlArray& array) {
  if (array.ndim() != 2) throw std::invalid_argument(array.name() + " must have two dimensions");
  if (!array.is_float32() && !array.is_float16() && !array.is_bfloat16())
    throw py::type_error(array.name() + " must hold float32, float16 or bfloat16, not " + array.dtype_name());
  if (array.shape(1) > 1 && array.stride(1) != 1)
    throw std::invalid_argument(array.name() + " must be contiguous in its last dimension");
  const LogitType type = array.is_float32()   ? LogitType::kFloat32
                         : array.is_float16() ? LogitType::kFloat16
                                              : LogitType::kBfloat16;
  return {array.data(), type, array.shape(0), array.shape(1), array.stride(0)};
}

// int32 or int64 [rows].
inline Targets targets_of(const DlArray& array, std::int64_t rows) {
  const bool wide = array.is_integer(64, true);
  if (!wide && !array.is_integer(32, true))
    throw py::type_error(array.name() + " must hold int32 or int64, not " + array.dtype_name());
  check_shape(array, {rows});
  return {array.data(), wide};
}

// float32 [rows, 8].
inline EntropyState* states_of(const DlArray& array, std::int64_t rows) {
  check_shape(array, {rows, static_cast<std::int64_t>(sizeof(EntropyState) / sizeof(float))});
  check_alignment(array, alignof(EntropyState));
  return reinterpret_cast<EntropyState*>(items_of<float>(array));
}

inline std::int64_t rows_of(const DlArray& array) {
  if (array.ndim() == 0) throw std::invalid_argument(array.name() + " must have rows");
  return array.shape(0);
}

// The outputs that a call names, in the order of EntropyOutputs; None where not wanted.
struct OutputObjects {
  const py::object &entropy, &log_sum_exp, &nll, &max_probability, &argmax, &margin;
};

template <class Real>
EntropyOutputs<Real> outputs_of(CallArrays& arrays, const OutputObjects& objects, std::int64_t rows) {
  const auto reals = [&](const py::object& object, const char* name) {
    return object.is_none() ? nullptr : vector_of<Real>(arrays.write(object, name), rows);
  };
  EntropyOutputs<Real> outputs;
  outputs.entropy = reals(objects.entropy, "entropy");
  outputs.log_sum_exp = reals(objects.log_sum_exp, "log_sum_exp");
  outputs.nll = reals(objects.nll, "nll");
  outputs.max_probability = reals(objects.max_probability, "max_probability");
  if (!objects.argmax.is_none())
    outputs.argmax = vector_of<std::int64_t>(arrays.write(objects.argmax, "argmax"), rows);
  outputs.margin = reals(objects.margin, "margin");
  return outputs;
}

template <class Backend>
class EntropyBinding {
 public:
  static void bind(py::module_& module) {
    using py::arg;
    const py::none none;
    module.def("entropy", &entropy, arg("logits"), arg("targets") = none, py::kw_only(),
               arg("temperature") = 1.0, arg("unit_scale") = 1.0, arg("entropy") = none,
               arg("log_sum_exp") = none, arg("nll") = none, arg("max_probability") = none,
               arg("argmax") = none, arg("margin") = none);
    module.def("entropy_workspace", &Backend::workspace, arg("rows"), arg("columns"));
    module.def("entropy_states", &entropy_states, arg("logits"), arg("targets"), arg("states"), py::kw_only(),
               arg("first_column") = 0, arg("temperature") = 1.0);
    module.def("entropy_merge", &entropy_merge, arg("states"), arg("other"), py::kw_only(),
               arg("temperature") = 1.0);
    module.def("entropy_finish", &entropy_finish, arg("states"), py::kw_only(), arg("temperature") = 1.0,
               arg("unit_scale") = 1.0, arg("entropy") = none, arg("log_sum_exp") = none, arg("nll") = none,
               arg("max_probability") = none, arg("argmax") = none, arg("margin") = none);
    module.def("check_targets", &check_targets, arg("targets"), arg("vocab_size"));
  }

 private:
  using Run = typename Backend::Run;
  using Object = const py::object&;

  static Targets targets_in(CallArrays& arrays, Object targets, std::int64_t rows) {
    return targets.is_none() ? Targets{} : targets_of(arrays.read(targets, "targets"), rows);
  }

  static void entropy(Object logits, Object targets, double temperature, double unit_scale, Object entropy,
                      Object log_sum_exp, Object nll, Object max_probability, Object argmax, Object margin,
                      const py::kwargs& options) {
    Run run(options);
    CallArrays arrays = run.arrays();
    const Logits rows = logits_of(arrays.read(logits, "logits"));
    const Targets ids = targets_in(arrays, targets, rows.rows);
    const OutputObjects objects{entropy, log_sum_exp, nll, max_probability, argmax, margin};
    const auto outputs = outputs_of<float>(arrays, objects, rows.rows);
    run(arrays, [&] { Backend::entropy(rows, ids, EntropyScale{temperature, unit_scale}, outputs, run); });
  }

  static void entropy_states(Object logits, Object targets, Object states, std::int64_t first_column,
                             double temperature, const py::kwargs& options) {
    Run run(options);
    CallArrays arrays = run.arrays();
    const Logits rows = logits_of(arrays.read(logits, "logits"));
    const Targets ids = targets_in(arrays, targets, rows.rows);
    EntropyState* const into = states_of(arrays.write(states, "states"), rows.rows);
    run(arrays, [&] { Backend::entropy_states(rows, ids, first_column, temperature, into, run); });
  }

  static void entropy_merge(Object states, Object other, double temperature, const py::kwargs& options) {
    Run run(options);
    CallArrays arrays = run.arrays();
    const DlArray& written = arrays.write(states, "states");
    const std::int64_t rows = rows_of(written);
    EntropyState* const into = states_of(written, rows);
    const EntropyState* const from = states_of(arrays.read(other, "other"), rows);
    run(arrays, [&] { Backend::entropy_merge(into, from, rows, temperature, run); });
  }

  static void entropy_finish(Object states, double temperature, double unit_scale, Object entropy,
                             Object log_sum_exp, Object nll, Object max_probability, Object argmax,
                             Object margin, const py::kwargs& options) {
    Run run(options);
    CallArrays arrays = run.arrays();
    const DlArray& read = arrays.read(states, "states");
    const std::int64_t rows = rows_of(read);
    const EntropyState* const from = states_of(read, rows);
    const OutputObjects objects{entropy, log_sum_exp, nll, max_probability, argmax, margin};
    const auto outputs = outputs_of<float>(arrays, objects, rows);
    run(arrays,
        [&] { Backend::entropy_finish(from, rows, EntropyScale{temperature, unit_scale}, outputs, run); });
  }

  static void check_targets(Object targets, std::int64_t vocab_size, const py::kwargs& options) {
    Run run(options);
    CallArrays arrays = run.arrays();
    const DlArray& array = arrays.read(targets, "targets");
    const std::int64_t rows = rows_of(array);
    const Targets ids = targets_of(array, rows);
    run(arrays, [&] { Backend::check_targets(ids, rows, vocab_size, run); });
  }
};

}  // namespace pyharness::bindings
