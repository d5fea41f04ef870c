// Memory of a device that a call computes in.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace pyharness::kernels {

// The device has too little memory; says how much was needed and for what.
class OutOfDeviceMemory : public std::bad_alloc {
 public:
  explicit OutOfDeviceMemory(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// Where device memory comes from: a pool, so that a call finds what the last one gave back.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Aligned to 16 bytes; given back in the order of the stream when the last owner goes. `purpose` is for
  // messages. Throws OutOfDeviceMemory.
  virtual std::shared_ptr<void> allocate(std::size_t bytes, const char* purpose) = 0;
};

template <class Value>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(DeviceMemory& memory, std::size_t size, const char* purpose)
      : owner_(memory.allocate((size == 0 ? 1 : size) * sizeof(Value), purpose)), size_(size) {}

  Value* data() const { return static_cast<Value*>(owner_.get()); }
  std::size_t size() const { return size_; }

 private:
  std::shared_ptr<void> owner_;
  std::size_t size_ = 0;
};

}  // namespace pyharness::kernels
