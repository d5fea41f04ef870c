// Which vector instructions the machine has, asked at run time: wheels are built for any x86-64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pyharness {

enum class InstructionSet : std::uint8_t { kPortable, kAvx2, kAvx512 };

// "portable", "avx2" or "avx512".
const char* name_of(InstructionSet instructions);

// What this build and this machine can run, slowest first.
std::vector<InstructionSet> instruction_sets();

// The fastest of them, or the one named by the environment variable PYHARNESS_ISA. Throws
// std::invalid_argument when that one is unknown or cannot run here.
InstructionSet chosen_instruction_set();

}  // namespace pyharness
