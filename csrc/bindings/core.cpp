#include "bindings/core.hpp"

#include <pybind11/pybind11.h>

#include "core/text/unicode_tables.hpp"

PYBIND11_MODULE(_core, module) {
  module.doc() = "Native core of pyharness. Use it through pyharness.kernels, bpe and curriculum.";
  module.attr("UNICODE_VERSION") = pyharness::unicode::kUnicodeVersion;
  module.attr("REGEX_VERSION") = pyharness::unicode::kRegexVersion;
  pyharness::bindings::bind_machine(module);
  pyharness::bindings::bind_text(module);
  pyharness::bindings::bind_splitting(module);
  pyharness::bindings::bind_merging(module);
  pyharness::bindings::bind_added_tokens(module);
  pyharness::bindings::bind_text_encoder(module);
  pyharness::bindings::bind_symbol_encoder(module);
  pyharness::bindings::bind_training(module);
  pyharness::bindings::bind_extending(module);
  pyharness::bindings::bind_reachability(module);
  pyharness::bindings::bind_pairs(module);
  pyharness::bindings::bind_entropy(module);
  pyharness::bindings::bind_symbols(module);
  pyharness::bindings::bind_curriculum(module);
}
