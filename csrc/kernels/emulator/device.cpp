// The device that the emulator stands for: host memory, and few enough multiprocessors that small tests split
// work.
#include "kernels/machine/device.hpp"

#include <stdexcept>

#include "kernels/emulator/emulator.hpp"

namespace pyharness::kernels {

int device_count() { return 1; }

std::string why_unavailable() { return ""; }

DeviceInfo device_info(int device) {
  if (device != 0) throw std::invalid_argument("the emulator has one device, 0");
  DeviceInfo info;
  info.name = "emulator";
  info.major = 8;
  info.multiprocessors = multiprocessors(device);
  return info;
}

int multiprocessors(int) { return 2; }

std::size_t shared_bytes(int) { return emulator::kMostSharedBytes; }

bool is_capturing(Stream) { return emulator::capturing(); }

DeviceGuard::DeviceGuard(int) {}
DeviceGuard::~DeviceGuard() = default;

}  // namespace pyharness::kernels
