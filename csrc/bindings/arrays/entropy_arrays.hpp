// What `_core`'s entropy functions ask of their arrays before memory is touched. The Python face has
// checked it all in the user's words; these checks keep a wrong call from leaving its arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/arrays/dlpack.hpp"

namespace pyharness::bindings {

inline void check_logits(const DlArray& logits) {
  if (logits.ndim() != 2) throw std::invalid_argument(logits.name() + " must have two dimensions");
  if (!logits.is_float32() && !logits.is_float16() && !logits.is_bfloat16())
    throw py::type_error(logits.name() + " must hold float32, float16 or bfloat16, not " +
                         logits.dtype_name());
  if (logits.shape(1) > 1 && logits.stride(1) != 1)
    throw std::invalid_argument(logits.name() + " must be contiguous in its last dimension");
}

// [rows], contiguous.
inline void check_rows(const DlArray& array, std::int64_t rows) {
  if (array.ndim() != 1 || array.shape(0) != rows || (rows > 1 && array.stride(0) != 1))
    throw std::invalid_argument(array.name() + " must be contiguous with " + std::to_string(rows) +
                                " values, one per row");
}

// int32 or int64, [rows]; whether int64.
inline bool check_targets_array(const DlArray& targets, std::int64_t rows) {
  if (!targets.is_integer(32, true) && !targets.is_integer(64, true))
    throw py::type_error(targets.name() + " must hold int32 or int64, not " + targets.dtype_name());
  check_rows(targets, rows);
  return targets.is_integer(64, true);
}

// float32 [rows, 8]: EntropyState.
inline void check_states(const DlArray& states, std::int64_t rows, bool written) {
  if (!states.is_float32() || states.ndim() != 2 || states.shape(0) != rows || states.shape(1) != 8 ||
      states.stride(1) != 1 || (rows > 1 && states.stride(0) != 8))
    throw std::invalid_argument(states.name() + " must be a contiguous float32 [" + std::to_string(rows) +
                                ", 8]");
  if (written && states.read_only()) throw std::invalid_argument(states.name() + " must be writeable");
}

// The output arrays of a call, opened, checked and kept until it ends.
class OutputArrays {
 public:
  OutputArrays(std::int64_t rows, std::optional<std::intptr_t> stream) : rows_(rows), stream_(stream) {}

  // The memory of an output; null for None. Real is float, double or std::int64_t.
  template <class Real>
  Real* open(const py::object& output, const char* name) {
    if (output.is_none()) return nullptr;
    DlArray array(output, name, stream_);
    constexpr bool kInteger = std::is_integral_v<Real>;
    const auto dtype = array.dtype();
    if (dtype.code != (kInteger ? dlpack::kInt : dlpack::kFloat) || dtype.bits != 8 * sizeof(Real) ||
        dtype.lanes != 1)
      throw py::type_error(array.name() + " must hold " + (kInteger ? "int" : "float") +
                           std::to_string(8 * sizeof(Real)) + ", not " + array.dtype_name());
    check_rows(array, rows_);
    if (array.read_only()) throw std::invalid_argument(array.name() + " must be writeable");
    arrays_.push_back(std::move(array));
    return static_cast<Real*>(arrays_.back().data());
  }

  const std::vector<DlArray>& arrays() const { return arrays_; }

 private:
  std::int64_t rows_;
  std::optional<std::intptr_t> stream_;
  std::vector<DlArray> arrays_;
};

}  // namespace pyharness::bindings
