// NumPy arrays in without a copy, vectors out without a copy.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // std::optional

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/encoding/id_buffer.hpp"

namespace pyharness::bindings {

namespace py = pybind11;

// The values of a C-contiguous array of exactly this dtype; anything else is an error, never a silent
// conversion.
template <class Value>
std::span<const Value> view(const py::array& array, const char* name) {
  if (!py::isinstance<py::array_t<Value, 0>>(array)) {
    throw py::type_error(std::string(name) + " must have dtype " +
                         std::string(py::str(py::dtype::of<Value>())) + ", not " +
                         std::string(py::str(array.dtype())));
  }
  if (!(array.flags() & py::array::c_style))
    throw py::value_error(std::string(name) + " must be C-contiguous");
  return {static_cast<const Value*>(array.data()), static_cast<std::size_t>(array.size())};
}

template <class Value>
std::span<const Value> view_1d(const py::array& array, const char* name) {
  if (array.ndim() != 1) throw py::value_error(std::string(name) + " must have one dimension");
  return view<Value>(array, name);
}

// Calls work(ids as they are, offsets) without the GIL: bytes are ids, too.
template <class Work>
void with_ids(const py::array& ids, const py::array& offsets, Work&& work) {
  const auto ends = view_1d<std::int64_t>(offsets, "offsets");
  if (py::isinstance<py::array_t<std::uint8_t, 0>>(ids)) {
    const auto bytes = view_1d<std::uint8_t>(ids, "ids");
    const py::gil_scoped_release release;
    work(bytes, ends);
  } else {
    const auto words = view_1d<std::uint32_t>(ids, "ids");
    const py::gil_scoped_release release;
    work(words, ends);
  }
}

// bool arrays as bytes: NumPy stores 0 or 1.
inline std::span<const std::uint8_t> view_bools(const py::array& array, const char* name) {
  if (array.ndim() != 1) throw py::value_error(std::string(name) + " must have one dimension");
  const auto values = view<bool>(array, name);
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size()};
}

// Hands a vector to NumPy: a capsule owns it, nothing is copied. `Shown` is the dtype that Python sees.
template <class Shown, class Value>
py::array_t<Shown> hand_over(std::vector<Value>&& values) {
  static_assert(sizeof(Shown) == sizeof(Value));
  auto owner = std::make_unique<std::vector<Value>>(std::move(values));
  auto* vector = owner.get();
  const py::capsule capsule(owner.get(),
                            [](void* pointer) { delete static_cast<std::vector<Value>*>(pointer); });
  owner.release();
  return py::array_t<Shown>(static_cast<py::ssize_t>(vector->size()),
                            reinterpret_cast<const Shown*>(vector->data()), capsule);
}

template <class Value>
py::array_t<Value> hand_over(std::vector<Value>&& values) {
  return hand_over<Value, Value>(std::move(values));
}

inline py::array_t<std::uint32_t> hand_over(IdBuffer&& ids) {
  auto owner = std::make_unique<IdBuffer>(std::move(ids));
  const IdBuffer* const held = owner.get();
  const py::capsule capsule(owner.get(), [](void* pointer) { delete static_cast<IdBuffer*>(pointer); });
  owner.release();
  return py::array_t<std::uint32_t>(static_cast<py::ssize_t>(held->size()), held->data(), capsule);
}

}  // namespace pyharness::bindings
