// Splitters from Python: the name of a pattern that the core knows, or a CompiledSplitter.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "core/splitting/text_splitter.hpp"

namespace pyharness::bindings {

inline Splitter splitter_of(const pybind11::object& splitter) {
  if (pybind11::isinstance<pybind11::str>(splitter)) return split_pattern(splitter.cast<std::string>());
  return checked(splitter.cast<std::shared_ptr<CompiledSplitter>>());
}

}  // namespace pyharness::bindings
