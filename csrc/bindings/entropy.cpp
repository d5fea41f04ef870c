#include "core/entropy/entropy.hpp"

#include "bindings/core.hpp"
#include "bindings/entropy.hpp"
#include "bindings/host_run.hpp"

namespace pyharness::bindings {
namespace {

struct CoreEntropy {
  struct Run : HostRun {
    using HostRun::HostRun;
    InstructionSet instructions = chosen_instruction_set();  // with the GIL: it reads the environment
  };

  static std::int64_t workspace(std::int64_t, std::int64_t) { return 0; }

  static void entropy(const Logits& logits, const Targets& targets, const EntropyScale& scale,
                      const EntropyOutputs<float>& outputs, const Run& run) {
    pyharness::entropy(logits, targets, scale, outputs, run.instructions, run.threads());
  }
  static void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                             double temperature, EntropyState* states, const Run& run) {
    pyharness::entropy_states(logits, targets, first_column, temperature, states, run.instructions,
                              run.threads());
  }
  static void entropy_merge(EntropyState* states, const EntropyState* other, std::int64_t rows,
                            double temperature, const Run&) {
    pyharness::entropy_merge(states, other, rows, temperature);
  }
  static void entropy_finish(const EntropyState* states, std::int64_t rows, const EntropyScale& scale,
                             const EntropyOutputs<float>& outputs, const Run&) {
    pyharness::entropy_finish(states, rows, scale, outputs);
  }
  static void check_targets(const Targets& targets, std::int64_t rows, std::int64_t vocab_size, const Run&) {
    pyharness::check_targets(targets, rows, vocab_size);
  }
};

void reference(const py::object& logits, const py::object& targets, double temperature, double unit_scale,
               const py::object& entropy, const py::object& log_sum_exp, const py::object& nll,
               const py::object& max_probability, const py::object& argmax, const py::object& margin) {
  CallArrays arrays(Memory::kHost);
  const Logits rows = logits_of(arrays.read(logits, "logits"));
  Targets ids;
  if (!targets.is_none()) {
    ids = targets_of(arrays.read(targets, "targets"), rows.rows);
    check_targets(ids, rows.rows, rows.columns);  // the reference reads their logits without a look
  }
  const OutputObjects objects{entropy, log_sum_exp, nll, max_probability, argmax, margin};
  const auto outputs = outputs_of<double>(arrays, objects, rows.rows);
  const py::gil_scoped_release release;
  entropy_reference(rows, ids, {temperature, unit_scale}, outputs);
}

}  // namespace

void bind_entropy(py::module_& module) {
  using py::arg;
  const py::none none;
  EntropyBinding<CoreEntropy>::bind(module);
  module.def("entropy_reference", &reference, arg("logits"), arg("targets") = none, py::kw_only(),
             arg("temperature") = 1.0, arg("unit_scale") = 1.0, arg("entropy") = none,
             arg("log_sum_exp") = none, arg("nll") = none, arg("max_probability") = none,
             arg("argmax") = none, arg("margin") = none);
}

}  // namespace pyharness::bindings
