#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "kernels/exec.hpp"
#include "kernels/machine/device.hpp"

namespace pyharness::kernels {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  PH_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

std::string version(int number) {  // 13020 is 13.2
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

void check_device(int device) {
  const int count = device_count();
  if (device < 0 || device >= count)
    throw std::invalid_argument("there is no CUDA device " + std::to_string(device) + ": " +
                                (count == 0 ? why_unavailable() : std::to_string(count) + " found"));
}

}  // namespace

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // the runtime would report it again at the next launch
  return 0;
}

std::string why_unavailable() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count > 0 ? "" : "the driver reports no device";
  cudaGetLastError();
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const std::string needs = "this build uses CUDA " + version(runtime);
  if (driver == 0) return "no NVIDIA driver was found (" + needs + ")";
  return std::string(cudaGetErrorString(status)) + " (the driver supports CUDA " + version(driver) + ", " +
         needs + ")";
}

DeviceInfo device_info(int device) {
  check_device(device);
  cudaDeviceProp properties;
  PH_CHECK(cudaGetDeviceProperties(&properties, device));
  DeviceInfo info;
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  info.memory_bus_bits = properties.memoryBusWidth;
  info.clock_khz = attribute(cudaDevAttrClockRate, device);
  info.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, device);
  const DeviceGuard guard(device);
  PH_CHECK(cudaMemGetInfo(&info.free_bytes, &info.memory_bytes));
  PH_CHECK(cudaDriverGetVersion(&info.driver_version));
  PH_CHECK(cudaRuntimeGetVersion(&info.runtime_version));
  char bus_id[32];
  PH_CHECK(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device));
  info.bus_id = bus_id;
  return info;
}

int multiprocessors(int device) { return attribute(cudaDevAttrMultiProcessorCount, device); }

std::size_t shared_bytes(int device) {
  return static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
}

bool is_capturing(Stream stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(stream, &status);
  if (error == cudaErrorStreamCaptureImplicit) {  // the default stream, while another one is captured
    cudaGetLastError();
    return true;
  }
  check(error, "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

DeviceGuard::DeviceGuard(int device) {
  int current = 0;
  PH_CHECK(cudaGetDevice(&current));
  if (device == current) return;
  PH_CHECK(cudaSetDevice(device));
  previous_ = current;
}

DeviceGuard::~DeviceGuard() {
  if (previous_ >= 0) cudaSetDevice(previous_);
}

}  // namespace pyharness::kernels
