#include "bindings/kernels/kernels.hpp"

#include <string>
#include <utility>

#if defined(PH_EMULATED)
#include "kernels/emulator/emulator.hpp"
#endif

namespace pyharness::bindings {
namespace {

py::dict device_info(int device) {
  const kernels::DeviceInfo info = kernels::device_info(device);
  py::dict facts;
  facts["name"] = info.name;
  facts["compute_capability"] = py::make_tuple(info.major, info.minor);
  facts["multiprocessors"] = info.multiprocessors;
  facts["l2_bytes"] = info.l2_bytes;
  facts["memory_bytes"] = info.memory_bytes;
  facts["free_bytes"] = info.free_bytes;
  facts["clock_khz"] = info.clock_khz;
  facts["memory_clock_khz"] = info.memory_clock_khz;
  facts["memory_bus_bits"] = info.memory_bus_bits;
  facts["driver_version"] = info.driver_version;
  facts["runtime_version"] = info.runtime_version;
  return facts;
}

std::optional<std::string> why_unavailable() {
  std::string reason = kernels::why_unavailable();
  if (reason.empty()) return std::nullopt;
  return reason;
}

void bind_devices(py::module_& module) {
  module.def("device_count", &kernels::device_count);
  module.def("why_unavailable", &why_unavailable);
  module.def("device_info", &device_info, py::arg("device") = 0);
#if defined(PH_EMULATED)
  module.def("set_seed", &emulator::set_seed, py::arg("seed"));
  py::register_exception<emulator::Error>(module, "EmulatorError", PyExc_RuntimeError);
#endif
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t length : shape) text += (text.empty() ? "" : ", ") + std::to_string(length);
  return "[" + text + "]";
}

}  // namespace

KernelArrays::KernelArrays(std::optional<std::intptr_t> stream) : stream_(stream) {
  if (stream && *stream < 0)
    throw std::invalid_argument("stream must be a CUDA handle, which " + std::to_string(*stream) + " is not");
}

DlArray KernelArrays::read(const py::object& object, const char* name) {
  DlArray array(object, name, kEmulated ? std::nullopt : stream_);
  if (kEmulated ? !array.is_host() : !array.is_cuda())
    throw std::invalid_argument(array.name() +
                                (kEmulated ? " must be in host memory" : " must be on a CUDA device"));
  const int device = kEmulated ? 0 : array.device_id();
  if (!device_) device_ = device;
  if (device != *device_)
    throw std::invalid_argument(array.name() + " is on device " + std::to_string(device) +
                                ", not on device " + std::to_string(*device_) + " like the arrays before it");
  return array;
}

DlArray KernelArrays::write(const py::object& object, const char* name) {
  DlArray array = read(object, name);
  if (array.read_only()) throw std::invalid_argument(array.name() + " must be writeable");
  return array;
}

void expect_shape(const DlArray& array, const std::vector<std::int64_t>& shape) {
  if (array.shape() != shape)
    throw std::invalid_argument(array.name() + " must have shape " + shape_text(shape) + ", not " +
                                shape_text(array.shape()));
  std::int64_t compact = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] > 1 && array.size() > 0 && array.stride(axis) != compact)
      throw std::invalid_argument(array.name() + " must be C-contiguous");
    compact *= shape[axis];
  }
}

}  // namespace pyharness::bindings

PYBIND11_MODULE(PH_MODULE, module) {
  module.doc() = "The kernels of pyharness. Use them through pyharness.kernels.";
  pyharness::bindings::bind_devices(module);
  pyharness::bindings::bind_entropy(module);
  pyharness::bindings::bind_pairs(module);
}
