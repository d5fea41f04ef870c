// Values of keyword options.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace pyharness::bindings {

// Throws pybind11::type_error, as pybind11 does for an argument in a signature.
template <class Value>
Value option_of(pybind11::handle value, const std::string& name, const char* kind) {
  try {
    return pybind11::cast<Value>(value);
  } catch (const pybind11::cast_error&) {
    const auto given = pybind11::cast<std::string>(pybind11::type::of(value).attr("__qualname__"));
    throw pybind11::type_error(name + " must be " + kind + ", not " + given);
  }
}

}  // namespace pyharness::bindings
