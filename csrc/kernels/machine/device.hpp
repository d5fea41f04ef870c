// Devices and streams, for code that includes no CUDA header.
#pragma once

#include <cstddef>
#include <string>

struct CUstream_st;

namespace pyharness::kernels {

using Stream =
    CUstream_st*;  // cudaStream_t; 1 and 2 are the legacy and the per-thread default stream, as in DLPack

struct DeviceInfo {
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  std::size_t free_bytes = 0;
  int clock_khz = 0;         // the highest clock of the multiprocessors
  int memory_clock_khz = 0;  // the highest clock of the memory
  int memory_bus_bits = 0;
  int driver_version = 0;  // 13000 is 13.0: the newest CUDA that the driver runs
  int runtime_version = 0;
  std::string bus_id;  // the PCI address, by which nvidia-smi names a device
};

// Never throws: without a driver there are 0 devices.
int device_count();
// Empty when there is a device.
std::string why_unavailable();
// Throws std::invalid_argument for a device that does not exist.
DeviceInfo device_info(int device);
// The figures that launches need, without the cost of device_info: multiprocessors, and the bytes of shared
// memory that a block may have.
int multiprocessors(int device);
std::size_t shared_bytes(int device);

// Whether work for the stream goes into a graph, to be done later: nothing can be waited for then.
bool is_capturing(Stream stream);

// Makes `device` current for the calling thread while it lives.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = -1;  // none: the device was current already
};

}  // namespace pyharness::kernels
