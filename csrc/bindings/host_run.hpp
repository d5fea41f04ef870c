// How a call of `_core` runs: on threads, in host memory.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "bindings/arrays/call_arrays.hpp"
#include "bindings/options.hpp"

namespace pyharness::bindings {

class HostRun {
 public:
  static constexpr Memory kMemory = Memory::kHost;

  // threads = 1.
  explicit HostRun(const py::kwargs& options) {
    for (const auto& [key, value] : options) {
      const auto name = py::cast<std::string>(key);
      if (name != "threads") throw py::type_error("unknown option '" + name + "'; known: threads");
      threads_ = option_of<int>(value, name, "an integer");
    }
  }

  CallArrays arrays() const { return CallArrays(kMemory); }
  int threads() const { return threads_; }

  template <class Work>
  void operator()(const CallArrays&, Work&& work) const {
    const py::gil_scoped_release release;
    work();
  }

 private:
  int threads_ = 1;
};

}  // namespace pyharness::bindings
