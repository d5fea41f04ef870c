// The parts of `_cuda` and `_emulated`, one file each. Add a kernel's bind function here and in kernels.cpp.
#pragma once

#include <pybind11/pybind11.h>

namespace pyharness::bindings {

void bind_entropy(pybind11::module_& module);     // entropy and its states, check_targets
void bind_pairs(pybind11::module_& module);       // PairCounter, find_bad_id, check_segments, copy_array
void bind_yardsticks(pybind11::module_& module);  // add_words, hold, PairRuns

}  // namespace pyharness::bindings
