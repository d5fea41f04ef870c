#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/arrays/dlpack.hpp"
#include "bindings/core.hpp"
#include "core/machine/instruction_set.hpp"

namespace pyharness::bindings {
namespace {

py::tuple describe_array(const py::object& object, const char* name) {
  const DlArray array(object, name, -1);  // -1: nothing is read, so nothing waits
  return py::make_tuple(array.device_type(), array.device_id(), array.dtype_name(), array.itemsize(),
                        py::tuple(py::cast(array.shape())), py::tuple(py::cast(array.strides())),
                        array.read_only(), reinterpret_cast<std::uintptr_t>(array.data()));
}

std::vector<std::string> instruction_set_names() {
  std::vector<std::string> names;
  for (const InstructionSet set : instruction_sets()) names.emplace_back(name_of(set));
  return names;
}

}  // namespace

void bind_machine(py::module_& module) {
  module.def("describe_array", &describe_array, py::arg("array"), py::arg("name"));
  module.def("instruction_sets", &instruction_set_names);
  module.def("instruction_set", [] { return name_of(chosen_instruction_set()); });
}

}  // namespace pyharness::bindings
