// The arrays of pair counts, checked the same way on every backend.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "bindings/arrays/call_arrays.hpp"
#include "shared/pairs.hpp"

namespace pyharness::bindings {

// int64 [segments + 1] and int64 or uint64 [segments]; None for either. Their values are not looked at.
inline PairSegments segments_of(CallArrays& arrays, const py::object& offsets, const py::object& weights) {
  PairSegments segments;
  if (!offsets.is_none()) {
    const DlArray& ends = arrays.read(offsets, "offsets");
    segments.offsets = vector_of<const std::int64_t>(ends);
    if (ends.size() == 0) throw std::invalid_argument("offsets must hold at least one value");
    segments.size = ends.size() - 1;
  }
  if (weights.is_none()) return segments;
  const DlArray& times = arrays.read(weights, "weights");
  segments.signed_weights = times.is_integer(64, true);
  if (!segments.signed_weights && !times.is_integer(64, false))
    throw py::type_error("weights must have dtype int64 or uint64, not " + times.dtype_name());
  if (times.ndim() != 1) throw std::invalid_argument("weights must have one dimension");
  if (times.size() != segments.size)
    throw std::invalid_argument("weights must hold " + std::to_string(segments.size) + " values, not " +
                                std::to_string(times.size()));
  check_shape(times, {segments.size});
  segments.weights = static_cast<const std::uint64_t*>(times.data());
  return segments;
}

// uint32, uint32 and uint64 [rows].
inline PairColumns columns_of(CallArrays& arrays, const py::object& left, const py::object& right,
                              const py::object& count, std::int64_t rows) {
  return {vector_of<std::uint32_t>(arrays.write(left, "left"), rows),
          vector_of<std::uint32_t>(arrays.write(right, "right"), rows),
          vector_of<std::uint64_t>(arrays.write(count, "count"), rows)};
}

}  // namespace pyharness::bindings
