// The arrays of one call, checked before memory is touched. The Python face has checked them in the user's
// words; these checks keep a wrong call from leaving its arrays.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "bindings/arrays/dlpack.hpp"

namespace pyharness::bindings {

enum class Memory : std::uint8_t { kHost, kCuda };

// All on one device and of one kind of memory, ordered after their producers on one stream, and alive as long
// as this.
class CallArrays {
 public:
  explicit CallArrays(Memory memory, std::optional<std::intptr_t> stream = std::nullopt)
      : memory_(memory), stream_(memory == Memory::kCuda ? stream : std::nullopt) {}

  // Throws std::invalid_argument that names the argument and where it should be.
  const DlArray& read(const py::object& object, const char* name) {
    const DlArray& array = arrays_.emplace_back(object, name, stream_);
    const bool host = memory_ == Memory::kHost;
    if (host ? !array.is_host() : !array.is_cuda())
      throw std::invalid_argument(array.name() +
                                  (host ? " must be in host memory" : " must be on a CUDA device"));
    const int device = host ? 0 : array.device_id();
    if (!device_) device_ = device;
    if (device != *device_)
      throw std::invalid_argument(array.name() + " is on device " + std::to_string(device) +
                                  ", not on device " + std::to_string(*device_) +
                                  " like the arrays before it");
    return array;
  }

  const DlArray& write(const py::object& object, const char* name) {
    const DlArray& array = read(object, name);
    if (array.read_only()) throw std::invalid_argument(array.name() + " must be writeable");
    return array;
  }

  int device() const { return device_.value_or(0); }

 private:
  Memory memory_;
  std::optional<std::intptr_t> stream_;
  std::optional<int> device_;  // of the first array
  std::deque<DlArray> arrays_;
};

inline std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t length : shape) text += (text.empty() ? "" : ", ") + std::to_string(length);
  return "[" + text + "]";
}

// Throws std::invalid_argument unless the array is compact with exactly this shape.
inline void check_shape(const DlArray& array, const std::vector<std::int64_t>& shape) {
  if (array.shape() != shape)
    throw std::invalid_argument(array.name() + " must have shape " + text_of(shape) + ", not " +
                                text_of(array.shape()));
  std::int64_t compact = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] > 1 && array.size() > 0 && array.stride(axis) != compact)
      throw std::invalid_argument(array.name() + " must be C-contiguous");
    compact *= shape[axis];
  }
}

// The items of an array of exactly this type: a float or an integer. Throws py::type_error for another dtype.
template <class Item>
Item* items_of(const DlArray& array) {
  constexpr int kBits = 8 * sizeof(Item);
  constexpr std::uint8_t kCode = std::is_floating_point_v<Item> ? dlpack::kFloat
                                 : std::is_signed_v<Item>       ? dlpack::kInt
                                                                : dlpack::kUint;
  if (array.dtype().code != kCode || array.dtype().bits != kBits || array.dtype().lanes != 1) {
    const char* const kind = kCode == dlpack::kFloat ? "float" : kCode == dlpack::kInt ? "int" : "uint";
    throw py::type_error(array.name() + " must have dtype " + kind + std::to_string(kBits) + ", not " +
                         array.dtype_name());
  }
  return static_cast<Item*>(array.data());
}

// [size], where the caller knows the size; any other vector otherwise.
template <class Item>
Item* vector_of(const DlArray& array, std::optional<std::int64_t> size = std::nullopt) {
  if (array.ndim() != 1) throw std::invalid_argument(array.name() + " must have one dimension");
  check_shape(array, {size.value_or(array.shape(0))});
  return items_of<Item>(array);
}

inline void check_alignment(const DlArray& array, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(array.data()) % bytes != 0)
    throw std::invalid_argument(array.name() + " must be aligned to " + std::to_string(bytes) +
                                " bytes; copy it first");
}

}  // namespace pyharness::bindings
