#include "bindings/entropy.hpp"

#include "bindings/kernels/device_run.hpp"
#include "bindings/kernels/kernels.hpp"
#include "kernels/entropy/entropy.hpp"

namespace pyharness::bindings {
namespace {

using kernels::DeviceArray;

struct KernelEntropy {
  using Run = DeviceRun;
  // Freed when a call returns, before the kernel has run: pools hand memory out again in the stream's order.
  using Workspace = DeviceArray<char>;

  static Workspace workspace_for(const Logits& logits, Run& run) {
    const std::size_t bytes = kernels::entropy_workspace(logits.rows, logits.columns);
    return bytes == 0 ? Workspace() : Workspace(run.memory(), bytes, "the workspace of entropy");
  }

  static std::size_t workspace(std::int64_t rows, std::int64_t columns) {
    return kernels::entropy_workspace(rows, columns);
  }

  static void entropy(const Logits& logits, const Targets& targets, const EntropyScale& scale,
                      const EntropyOutputs<float>& outputs, Run& run) {
    const Workspace memory = workspace_for(logits, run);
    kernels::entropy(logits, targets, scale, outputs, memory.data(), run.stream());
  }
  static void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                             double temperature, EntropyState* states, Run& run) {
    const Workspace memory = workspace_for(logits, run);
    kernels::entropy_states(logits, targets, first_column, temperature, states, memory.data(), run.stream());
  }
  static void entropy_merge(EntropyState* states, const EntropyState* other, std::int64_t rows,
                            double temperature, const Run& run) {
    kernels::entropy_merge(states, other, rows, temperature, run.stream());
  }
  static void entropy_finish(const EntropyState* states, std::int64_t rows, const EntropyScale& scale,
                             const EntropyOutputs<float>& outputs, const Run& run) {
    kernels::entropy_finish(states, rows, scale, outputs, run.stream());
  }
  static void check_targets(const Targets& targets, std::int64_t rows, std::int64_t vocab_size, Run& run) {
    const Workspace memory(run.memory(), kernels::kTargetsWorkspace, "the check of targets");
    kernels::check_targets(targets, rows, vocab_size, memory.data(), run.stream());
  }
};

}  // namespace

void bind_entropy(py::module_& module) { EntropyBinding<KernelEntropy>::bind(module); }

}  // namespace pyharness::bindings
