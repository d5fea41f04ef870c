// The structs of DLPack (https://dmlc.github.io/dlpack), versions 0 and 1: an ABI, so nothing is linked for
// it.
#pragma once

#include <cstdint>

namespace pyharness::bindings::dlpack {

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: compact and row-major
  std::uint64_t byte_offset;
};

struct Managed {  // the capsule "dltensor"
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

struct ManagedVersioned {  // the capsule "dltensor_versioned"
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

inline constexpr std::uint64_t kReadOnlyFlag = 1;
inline constexpr std::uint64_t kCopiedFlag = 2;  // the memory is not the array's own
enum TypeCode : std::uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

}  // namespace pyharness::bindings::dlpack
