// Arrays of any library in without a copy, through DLPack: host and device memory, and the dtypes that NumPy
// lacks.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/arrays/dlpack_abi.hpp"

namespace pyharness::bindings {

namespace py = pybind11;

// What a call sees of an array. Made, moved and destroyed with the GIL held; the memory lives as long as
// this.
class DlArray {
 public:
  enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaPinned = 3, kCudaManaged = 13 };

  // `name` is the argument's, for messages. On a device the producer orders its pending work before
  // `stream`: a CUDA handle as in DLPack (1 legacy default, 2 per-thread default, -1 no ordering; a null
  // handle is taken as 1). Throws py::type_error for what is no array and std::invalid_argument for an array
  // that its library does not hand out.
  DlArray(const py::object& array, const char* name, std::optional<std::intptr_t> stream = std::nullopt)
      : name_(name) {
    // NumPy directly: before 2.1 it exported no read-only arrays, and it exports no ml_dtypes.bfloat16.
    if (py::isinstance<py::array>(array))
      take_numpy(py::reinterpret_borrow<py::array>(array));
    else
      take_dlpack(array, stream);
    size_ = checked_size();
    if (size_ == 0) strides_ = compact_strides();  // libraries write anything there
    if (size_ > 0 && reinterpret_cast<std::uintptr_t>(data_) % itemsize() != 0)
      throw std::invalid_argument(name_ + " must be aligned to its items of " + std::to_string(itemsize()) +
                                  " bytes; copy it first");
  }
  DlArray(DlArray&&) = default;
  DlArray& operator=(DlArray&&) = default;
  DlArray(const DlArray&) = delete;
  DlArray& operator=(const DlArray&) = delete;

  void* data() const { return data_; }  // the first element
  std::int32_t device_type() const { return device_.type; }
  std::int32_t device_id() const { return device_.id; }
  bool is_host() const { return device_.type == kCpu || device_.type == kCudaPinned; }
  bool is_cuda() const { return device_.type == kCuda || device_.type == kCudaManaged; }
  bool read_only() const { return read_only_; }  // or a copy, whose values would be lost
  const std::string& name() const { return name_; }

  std::size_t ndim() const { return shape_.size(); }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t shape(std::size_t axis) const { return shape_[axis]; }
  const std::vector<std::int64_t>& strides() const { return strides_; }  // in elements
  std::int64_t stride(std::size_t axis) const { return strides_[axis]; }
  std::int64_t size() const { return size_; }

  dlpack::DataType dtype() const { return dtype_; }
  std::size_t itemsize() const { return static_cast<std::size_t>(dtype_.bits * dtype_.lanes + 7) / 8; }
  bool is_float32() const { return is(dlpack::kFloat, 32); }
  bool is_float16() const { return is(dlpack::kFloat, 16); }
  bool is_bfloat16() const { return is(dlpack::kBfloat, 16); }
  bool is_integer(int bits, bool is_signed) const {
    return is(is_signed ? dlpack::kInt : dlpack::kUint, bits);
  }
  std::string dtype_name() const {
    static constexpr const char* kNames[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
    if (dtype_.code > dlpack::kBool) return "dtype of DLPack code " + std::to_string(dtype_.code);
    if (dtype_.code == dlpack::kBool) return "bool";
    return kNames[dtype_.code] + std::to_string(dtype_.bits) +
           (dtype_.lanes == 1 ? "" : "x" + std::to_string(dtype_.lanes));
  }

 private:
  bool is(std::uint8_t code, int bits) const {
    return dtype_.code == code && dtype_.bits == bits && dtype_.lanes == 1;
  }

  void take_numpy(const py::array& array) {
    const py::dtype dtype = array.dtype();
    const std::uint8_t code = code_of(dtype);
    if (dtype.itemsize() > 16)  // complex256, whose bits DLPack cannot count
      throw py::type_error(name_ + " must hold numbers of at most 128 bits, not dtype " + text_of(dtype));
    dtype_ = {code, static_cast<std::uint8_t>(dtype.itemsize() * 8), 1};
    if (dtype.byteorder() == (std::endian::native == std::endian::little ? '>' : '<'))
      throw std::invalid_argument(name_ + " must have the machine's byte order, not dtype " + text_of(dtype));
    device_ = {kCpu, 0};
    data_ = const_cast<void*>(array.data());
    read_only_ = !array.writeable();
    for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
      shape_.push_back(array.shape(axis));
      if (array.size() > 0 && array.strides(axis) % array.itemsize() != 0)
        throw std::invalid_argument(name_ + " must have strides of whole items; copy it first");
      strides_.push_back(array.strides(axis) / array.itemsize());
    }
    owner_ = array;
  }

  static std::string text_of(const py::dtype& dtype) { return py::cast<std::string>(py::str(dtype)); }

  std::uint8_t code_of(const py::dtype& dtype) const {
    switch (dtype.kind()) {
      case 'i':
        return dlpack::kInt;
      case 'u':
        return dlpack::kUint;
      case 'f':
        return dlpack::kFloat;
      case 'c':
        return dlpack::kComplex;
      case 'b':
        return dlpack::kBool;
      default:
        if (text_of(dtype) == "bfloat16") return dlpack::kBfloat;  // ml_dtypes
        throw py::type_error(name_ + " must hold numbers, not dtype " + text_of(dtype));
    }
  }

  void take_dlpack(const py::object& array, std::optional<std::intptr_t> stream) {
    if (!py::hasattr(array, "__dlpack__") || !py::hasattr(array, "__dlpack_device__"))
      throw py::type_error(name_ + " must be an array that speaks DLPack (torch, cupy, numpy, ...), not " +
                           py::cast<std::string>(py::type::of(array).attr("__qualname__")));
    // The capsule keeps its first name, so that its own destructor gives the memory back.
    owner_ = capsule_of(array, stream);
    PyObject* capsule = owner_.ptr();
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
      const auto* managed =
          static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
      if (managed->major != 1)
        throw std::invalid_argument(name_ + " speaks DLPack " + std::to_string(managed->major) +
                                    "; versions 0 and 1 are understood");
      read_only_ = (managed->flags & (dlpack::kReadOnlyFlag | dlpack::kCopiedFlag)) != 0;
      take(managed->tensor);
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
      take(static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, "dltensor"))->tensor);
    } else {
      throw py::type_error(name_ + " handed out no DLPack capsule");
    }
  }

  py::object capsule_of(const py::object& array, std::optional<std::intptr_t> stream) const {
    py::dict arguments;
    try {
      const auto type = py::cast<std::int32_t>(array.attr("__dlpack_device__")().cast<py::tuple>()[0]);
      if (stream && (type == kCuda || type == kCudaManaged))
        arguments["stream"] = *stream == 0 ? std::intptr_t{1} : *stream;
      const py::object producer = array.attr("__dlpack__");
      try {
        return producer(py::arg("max_version") = py::make_tuple(1, 0), **arguments);
      } catch (py::error_already_set& error) {  // a producer from before DLPack 1.0
        if (!error.matches(PyExc_TypeError)) throw;
      }
      return producer(**arguments);
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_BufferError) && !error.matches(PyExc_TypeError) &&
          !error.matches(PyExc_ValueError))
        throw;
      throw std::invalid_argument(name_ +
                                  " cannot be read: " + py::cast<std::string>(py::str(error.value())));
    }
  }

  void take(const dlpack::Tensor& tensor) {
    data_ = tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
    device_ = tensor.device;
    dtype_ = tensor.dtype;
    if (itemsize() == 0) throw py::type_error(name_ + " must hold numbers, not items of 0 bits");
    shape_.assign(tensor.shape, tensor.shape + tensor.ndim);
    if (tensor.strides == nullptr) {
      checked_size();
      strides_ = compact_strides();
    } else {
      strides_.assign(tensor.strides, tensor.strides + tensor.ndim);
    }
  }

  // Strides of 0 allow any lengths without memory; callers multiply them. As in NumPy lengths of 0 do not
  // make the others harmless.
  std::int64_t checked_size() const {
    std::int64_t product = 1;
    bool empty = false;
    for (const std::int64_t length : shape_) {
      empty = empty || length == 0;
      if (length < 0 || (length > 0 && __builtin_mul_overflow(product, length, &product)))
        throw std::invalid_argument(name_ + " must have lengths from 0 on whose product is below 2^63");
    }
    return empty ? 0 : product;
  }

  std::vector<std::int64_t> compact_strides() const {
    std::vector<std::int64_t> strides(shape_.size());
    std::int64_t step = 1;
    for (std::size_t axis = shape_.size(); axis-- > 0; step *= shape_[axis]) strides[axis] = step;
    return strides;
  }

  std::string name_;
  py::object owner_;  // the NumPy array or the capsule
  void* data_ = nullptr;
  dlpack::Device device_{kCpu, 0};
  dlpack::DataType dtype_{};
  bool read_only_ = false;
  std::int64_t size_ = 0;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
};

}  // namespace pyharness::bindings
