#include "kernels/yardsticks/yardsticks.hpp"

#include <pybind11/stl.h>  // std::optional

#include <optional>
#include <utility>

#include "bindings/kernels/device_run.hpp"
#include "bindings/kernels/kernels.hpp"
#include "kernels/pairs/pair_histogram.hpp"  // copy_and_wait

namespace pyharness::bindings {
namespace {

// Any array of whole 16 bytes; sum: uint64 [1], which is added to.
void add_words(const py::object& words, const py::object& sum, std::optional<std::intptr_t> stream) {
  const DeviceRun run(stream, py::none());
  CallArrays arrays = run.arrays();
  const DlArray& array = arrays.read(words, "words");
  check_shape(array, array.shape());
  check_alignment(array, 16);
  const auto bytes = static_cast<std::int64_t>(static_cast<std::size_t>(array.size()) * array.itemsize());
  if (bytes % 16 != 0) throw std::invalid_argument("words must have a multiple of 16 bytes");
  auto* const total =
      reinterpret_cast<unsigned long long*>(vector_of<std::uint64_t>(arrays.write(sum, "sum"), 1));
  run(arrays, [&] {
    kernels::add_words(array.data(), bytes / 16, total, kernels::multiprocessors(arrays.device()),
                       run.stream());
  });
}

void hold(std::int64_t cycles, std::optional<std::intptr_t> stream) {
  const DeviceRun run(stream, py::none());
  kernels::hold(cycles, run.stream());
}

class PairRuns {
 public:
  // tokens: uint32, all below 2^id_bits.
  PairRuns(const py::object& tokens, int id_bits, py::object allocate, std::optional<std::intptr_t> stream)
      : memory_(std::move(allocate)) {
    const DeviceRun run(stream, py::none());
    CallArrays arrays = run.arrays();
    const DlArray& ids = arrays.read(tokens, "tokens");
    const auto* const values = vector_of<const std::uint32_t>(ids);
    device_ = arrays.device();
    run(arrays, [&] {
      runs_ = kernels::find_pair_runs(values, ids.size(), id_bits, memory_, kernels::multiprocessors(device_),
                                      run.stream());
    });
  }

  std::size_t size() const { return runs_.size; }

  // keys: uint64 [size], in rising order; counts: uint32 [size].
  void write(const py::object& keys, const py::object& counts, std::optional<std::intptr_t> stream) const {
    const DeviceRun run(stream, py::none());
    CallArrays arrays = run.arrays();
    const auto size = static_cast<std::int64_t>(runs_.size);
    auto* const to_keys = vector_of<std::uint64_t>(arrays.write(keys, "keys"), size);
    auto* const to_counts = vector_of<std::uint32_t>(arrays.write(counts, "counts"), size);
    run(arrays, [&] {
      kernels::copy_and_wait(to_keys, runs_.keys.data(), runs_.size * sizeof(*to_keys), run.stream());
      kernels::copy_and_wait(to_counts, runs_.counts.data(), runs_.size * sizeof(*to_counts), run.stream());
    });
  }

 private:
  PythonMemory memory_;  // outlives the arrays that it gave
  int device_ = 0;
  kernels::PairRuns runs_;
};

}  // namespace

void bind_yardsticks(py::module_& module) {
  module.def("add_words", &add_words, py::arg("words"), py::arg("sum"), py::arg("stream") = py::none());
  module.def("hold", &hold, py::arg("cycles"), py::arg("stream") = py::none());
  py::class_<PairRuns>(module, "PairRuns")
      .def(py::init<const py::object&, int, py::object, std::optional<std::intptr_t>>(), py::arg("tokens"),
           py::arg("id_bits"), py::arg("allocate"), py::arg("stream") = py::none())
      .def("__len__", &PairRuns::size)
      .def("write", &PairRuns::write, py::arg("keys"), py::arg("counts"), py::arg("stream") = py::none());
}

}  // namespace pyharness::bindings
