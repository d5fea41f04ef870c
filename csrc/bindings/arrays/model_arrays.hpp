// A pyharness.types.MergeModel of Python as the core's MergeModel.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "bindings/arrays/arrays.hpp"
#include "core/merging/piece_merger/piece_merger.hpp"
#include "core/model/merge_model.hpp"

namespace pyharness::bindings {

// The arrays of a pyharness.types.MergeModel, kept alive, and the core's view of them. Works on anything with
// those attributes, so the extension does not import the package.
class ModelArrays {
 public:
  explicit ModelArrays(const py::object& model)
      : data_(array(model, "data")),
        offsets_(array(model, "offsets")),
        base_(array(model, "base")),
        base_offsets_(array(model, "base_offsets")),
        tested_(array(model, "tested")),
        atomic_(array(model, "atomic")),
        rules_or_ranks_(py::none()) {
    view_.data = view_1d<std::uint8_t>(data_, "data");
    view_.offsets = view_1d<std::int64_t>(offsets_, "offsets");
    view_.base = view_1d<std::uint32_t>(base_, "base");
    view_.base_offsets = view_1d<std::int64_t>(base_offsets_, "base_offsets");
    view_.tested = view_bools(tested_, "tested");
    view_.atomic = view_bools(atomic_, "atomic");
    view_rules(model);
  }

  const MergeModel& view() const { return view_; }

 private:
  static py::array array(const py::object& model, const char* name) {
    const py::object value = model.attr(name);
    if (!py::isinstance<py::array>(value)) throw py::type_error(std::string(name) + " must be a NumPy array");
    return py::reinterpret_borrow<py::array>(value);
  }

  void view_rules(const py::object& model) {
    const bool has_rules = !model.attr("rules").is_none();
    const bool has_ranks = !model.attr("ranks").is_none();
    if (has_rules == has_ranks) throw py::value_error("a model has exactly one of rules and ranks");
    const auto values = array(model, has_rules ? "rules" : "ranks");
    rules_or_ranks_ = values;
    if (has_ranks) {
      view_.ranks = view_1d<std::uint32_t>(values, "ranks");
      return;
    }
    if (values.ndim() != 2 || values.shape(1) != 3)
      throw py::value_error("rules must have shape [n_rules, 3]");
    view_.rules = view_of_rules(values);
  }

  static std::span<const std::uint32_t> view_of_rules(const py::array& values) {
    return pyharness::bindings::view<std::uint32_t>(values, "rules");
  }

  py::array data_, offsets_, base_, base_offsets_, tested_, atomic_;
  py::object rules_or_ranks_;
  MergeModel view_;
};

// Ids that tokens are written as, and where those of each end: uint32 and int64.
using ExpansionArrays = std::pair<py::array, py::array>;

inline Expansion expansion_of(const std::optional<ExpansionArrays>& arrays) {
  if (!arrays) return {};
  const auto ids = view_1d<std::uint32_t>(arrays->first, "expansion ids");
  const auto offsets = view_1d<std::int64_t>(arrays->second, "expansion offsets");
  return {{ids.begin(), ids.end()}, {offsets.begin(), offsets.end()}};
}

}  // namespace pyharness::bindings
