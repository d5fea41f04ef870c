#include "bindings/kernels/kernels.hpp"

#include <pybind11/stl.h>  // std::optional

#include <optional>
#include <string>

#include "bindings/kernels/device_run.hpp"
#include "kernels/machine/device.hpp"

#if defined(PH_EMULATED)
#include "kernels/emulator/emulator.hpp"
#include "kernels/entropy/entropy.hpp"
#endif

namespace pyharness::bindings {
namespace {

namespace py = pybind11;

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
  facts["bus_id"] = info.bus_id;
  return facts;
}

std::optional<std::string> why_unavailable() {
  std::string reason = kernels::why_unavailable();
  if (reason.empty()) return std::nullopt;
  return reason;
}

bool is_capturing(std::optional<std::intptr_t> stream) {
  return kernels::is_capturing(DeviceRun(stream, py::none()).stream());
}

#if defined(PH_EMULATED)
void set_entropy_tuning(int threads, std::int64_t blocks, std::int64_t loads_per_part,
                        std::int64_t loads_of_short_rows, int most_in_cluster) {
  if (threads < 32 || threads > 256 || threads % 32 != 0 || blocks < 1 || loads_per_part < 1)
    throw std::invalid_argument("this tuning cannot be launched");
  kernels::entropy_tuning() = {threads, blocks, loads_per_part, loads_of_short_rows, most_in_cluster};
}
#endif

void bind_devices(py::module_& module) {
  module.def("device_count", &kernels::device_count);
  module.def("why_unavailable", &why_unavailable);
  module.def("device_info", &device_info, py::arg("device") = 0);
  module.def("is_capturing", &is_capturing, py::arg("stream") = py::none());
#if defined(PH_EMULATED)
  module.def("set_seed", &emulator::set_seed, py::arg("seed"));
  module.def("begin_capture", &emulator::begin_capture);
  module.def("end_capture", &emulator::end_capture);
  module.def("replay", &emulator::replay);
  const kernels::EntropyTuning usual;
  module.def("set_entropy_tuning", &set_entropy_tuning, py::kw_only(), py::arg("threads") = usual.threads,
             py::arg("blocks") = usual.blocks, py::arg("loads_per_part") = usual.loads_per_part,
             py::arg("loads_of_short_rows") = usual.loads_of_short_rows,
             py::arg("most_in_cluster") = usual.most_in_cluster);
  py::register_exception<emulator::Error>(module, "EmulatorError", PyExc_RuntimeError);
#endif
}

}  // namespace
}  // namespace pyharness::bindings

PYBIND11_MODULE(PH_MODULE, module) {
  module.doc() = "The kernels of pyharness. Use them through pyharness.kernels.";
  pyharness::bindings::bind_devices(module);
  pyharness::bindings::bind_entropy(module);
  pyharness::bindings::bind_pairs(module);
  pyharness::bindings::bind_yardsticks(module);
}
