// The parts of `_cuda` and `_emulated`, which are the same sources over csrc/kernels: one on device memory,
// one on the host's. Add a kernel's bind function here and in kernels.cpp.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // std::optional

#include <cstdint>
#include <optional>

#include "bindings/arrays/dlpack.hpp"
#include "kernels/device.hpp"

namespace pyharness::bindings {

void bind_entropy(py::module_& module);  // entropy and its states, check_targets
void bind_pairs(py::module_& module);    // PairCounter, find_bad_id, check_segments, copy_array

#if defined(PH_EMULATED)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

// The arrays of one call: all on one device of this module's kind, ordered after their producers on one
// stream.
class KernelArrays {
 public:
  // Throws std::invalid_argument for what no handle can be: the driver would read memory there.
  explicit KernelArrays(std::optional<std::intptr_t> stream);

  // Throws std::invalid_argument that names the argument and where it should be.
  DlArray read(const py::object& array, const char* name);
  DlArray write(const py::object& array, const char* name);

  kernels::Stream stream() const {
    return kEmulated ? nullptr : reinterpret_cast<kernels::Stream>(stream_.value_or(0));
  }
  int device() const { return device_.value_or(0); }

 private:
  std::optional<std::intptr_t> stream_;
  std::optional<int> device_;  // of the first array
};

// Throws std::invalid_argument unless the array is compact with exactly this shape.
void expect_shape(const DlArray& array, const std::vector<std::int64_t>& shape);

}  // namespace pyharness::bindings
