#include "core/machine/instruction_set.hpp"

#include <cstdlib>
#include <stdexcept>

namespace pyharness {

const char* name_of(InstructionSet instructions) {
  switch (instructions) {
    case InstructionSet::kAvx512:
      return "avx512";
    case InstructionSet::kAvx2:
      return "avx2";
    default:
      return "portable";
  }
}

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets{InstructionSet::kPortable};
#if defined(__x86_64__)
  // These ask the operating system too: registers it does not save cannot be used.
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  if (avx2) sets.push_back(InstructionSet::kAvx2);
  if (avx2 && __builtin_cpu_supports("avx512f")) sets.push_back(InstructionSet::kAvx512);
#endif
  return sets;
}

InstructionSet chosen_instruction_set() {
  const auto sets = instruction_sets();
  const char* wanted = std::getenv("PYHARNESS_ISA");
  if (wanted == nullptr || *wanted == '\0') return sets.back();
  std::string known;
  for (const InstructionSet set : sets) {
    if (std::string(wanted) == name_of(set)) return set;
    known += (known.empty() ? "" : ", ") + std::string(name_of(set));
  }
  throw std::invalid_argument("PYHARNESS_ISA=" + std::string(wanted) + " cannot be used; this machine runs " +
                              known);
}

}  // namespace pyharness
