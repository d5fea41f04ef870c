// How a call of `_cuda` and `_emulated` runs: on a stream, with memory from a Python callable.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // std::optional

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bindings/arrays/call_arrays.hpp"
#include "bindings/options.hpp"
#include "kernels/machine/device.hpp"
#include "kernels/machine/memory.hpp"

namespace pyharness::bindings {

// The same sources over csrc/kernels: one module on device memory, one on the host's.
#if defined(PH_EMULATED)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

// Memory from a Python callable, allocate(bytes, purpose) -> array: a library's pool.
class PythonMemory final : public kernels::DeviceMemory {
 public:
  explicit PythonMemory(py::object allocate) : allocate_(std::move(allocate)) {}

  std::shared_ptr<void> allocate(std::size_t bytes, const char* purpose) override {
    const py::gil_scoped_acquire hold;
    if (!allocate_ || allocate_.is_none())
      throw std::invalid_argument("this call needs " + std::to_string(bytes) + " bytes for " + purpose +
                                  ": pass allocate");
    constexpr std::intptr_t kUnordered = -1;  // nothing is pending on fresh memory
    auto array = std::make_unique<DlArray>(array_of(bytes, purpose), "what allocate returned", kUnordered);
    if (static_cast<std::size_t>(array->size()) * array->itemsize() < bytes)
      throw std::invalid_argument("allocate returned less memory than it was asked for");
    check_alignment(*array, 16);
    void* const memory = array->data();
    const auto give_back = [owner = array.release()](void*) {
      const py::gil_scoped_acquire hold_again;
      delete owner;
    };
    return {memory, give_back};
  }

 private:
  // Kernels that can do with less know a lack of memory from other errors.
  py::object array_of(std::size_t bytes, const char* purpose) const {
    try {
      return allocate_(bytes, purpose);
    } catch (const py::error_already_set& error) {
      if (!error.matches(PyExc_MemoryError)) throw;
      throw kernels::OutOfDeviceMemory(py::str(error.value()));
    }
  }

  py::object allocate_;
};

class DeviceRun {
 public:
  static constexpr Memory kMemory = kEmulated ? Memory::kHost : Memory::kCuda;

  DeviceRun(std::optional<std::intptr_t> stream, py::object allocate)
      : stream_(stream), memory_(std::move(allocate)) {
    // The driver would read memory at what no handle can be.
    if (stream && *stream < 0)
      throw std::invalid_argument("stream must be a CUDA handle, which " + std::to_string(*stream) +
                                  " is not");
  }

  // stream = None (the legacy default stream), allocate = None.
  explicit DeviceRun(const py::kwargs& options)
      : DeviceRun(option_of<std::optional<std::intptr_t>>(option(options, "stream"), "stream",
                                                          "a CUDA handle or None"),
                  option(options, "allocate")) {
    for (const auto& [key, value] : options) {
      const auto name = py::cast<std::string>(key);
      if (name != "stream" && name != "allocate")
        throw py::type_error("unknown option '" + name + "'; known: allocate, stream");
    }
  }

  CallArrays arrays() const { return CallArrays(kMemory, stream_); }
  kernels::DeviceMemory& memory() { return memory_; }
  kernels::Stream stream() const {
    return kEmulated ? nullptr : reinterpret_cast<kernels::Stream>(stream_.value_or(0));
  }

  template <class Work>
  void operator()(const CallArrays& arrays, Work&& work) const {
    const py::gil_scoped_release release;
    const kernels::DeviceGuard guard(arrays.device());
    work();
  }

 private:
  static py::object option(const py::kwargs& options, const char* name) {
    return options.contains(name) ? py::object(options[name]) : py::none();
  }

  std::optional<std::intptr_t> stream_;
  PythonMemory memory_;
};

}  // namespace pyharness::bindings
