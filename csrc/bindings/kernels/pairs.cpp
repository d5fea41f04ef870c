#include <pybind11/stl.h>  // std::optional

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "bindings/kernels/kernels.hpp"
#include "kernels/pairs/pair_histogram.hpp"

namespace pyharness::bindings {
namespace {

using kernels::PairTuning;
using kernels::Word;

// Memory from a Python callable, allocate(bytes, purpose) -> array: cupy's pool, or NumPy for the emulator.
class PythonMemory final : public kernels::DeviceMemory {
 public:
  explicit PythonMemory(py::object allocate) : allocate_(std::move(allocate)) {}

  std::shared_ptr<void> allocate(std::size_t bytes, const char* purpose) override {
    const py::gil_scoped_acquire hold;
    constexpr std::intptr_t kUnordered = -1;  // nothing is pending on fresh memory
    auto array = std::make_unique<DlArray>(allocate_(bytes, purpose), "what allocate returned", kUnordered);
    if (static_cast<std::size_t>(array->size()) * array->itemsize() < bytes)
      throw std::invalid_argument("allocate returned less memory than it was asked for");
    void* const memory = array->data();
    const auto give_back = [owner = array.release()](void*) {
      const py::gil_scoped_acquire hold_again;
      delete owner;
    };
    return {memory, give_back};
  }

 private:
  py::object allocate_;
};

const DlArray& expect_integers(const DlArray& array, int bits, bool is_signed) {
  if (!array.is_integer(bits, is_signed))
    throw py::type_error(array.name() + " must hold " + (is_signed ? "int" : "uint") + std::to_string(bits) +
                         ", not " + array.dtype_name());
  if (array.ndim() != 1 || (array.size() > 1 && array.stride(0) != 1))
    throw std::invalid_argument(array.name() + " must have one dimension and be contiguous");
  return array;
}

const DlArray& expect_size(const DlArray& array, std::int64_t size) {
  expect_shape(array, {size});
  return array;
}

PairTuning default_tuning(int device) {
  PairTuning tuning;
  if (kEmulated) tuning.threads = 64;  // the emulator makes a fiber of every thread
  tuning.multiprocessors = kernels::multiprocessors(device);
  return tuning;
}

PairTuning tuning_of(const py::dict& values, int device) {
  PairTuning tuning = default_tuning(device);
  for (const auto& [key, value] : values) {
    const auto name = py::cast<std::string>(key);
    if (name == "threads")
      tuning.threads = py::cast<int>(value);
    else if (name == "cache_slots")
      tuning.cache_slots = py::cast<int>(value);
    else if (name == "table_slots")
      tuning.table_slots = py::cast<std::size_t>(value);
    else if (name == "positions_per_round")
      tuning.positions_per_round = py::cast<std::int64_t>(value);
    else if (name == "dense_ids")
      tuning.dense_ids = py::cast<std::uint32_t>(value);
    else
      throw std::invalid_argument("unknown tuning '" + name + "'");
  }
  const bool fits =
      tuning.threads >= 32 && tuning.threads <= kernels::kMostPairThreads && tuning.threads % 32 == 0 &&
      (tuning.cache_slots == 0 || std::has_single_bit(static_cast<unsigned>(tuning.cache_slots))) &&
      (tuning.table_slots == 0 || std::has_single_bit(tuning.table_slots)) &&
      tuning.positions_per_round > 0 && tuning.dense_ids > 0;
  if (!fits) throw std::invalid_argument("this tuning cannot be launched");
  return tuning;
}

class PairCounter {
 public:
  PairCounter(const std::string& method, py::object allocate, int device, const py::dict& tuning)
      : memory_(std::move(allocate)), device_(device), tuning_(tuning_of(tuning, device)) {
    if (method == "hash") counter_ = kernels::make_hash_pair_counter(memory_, tuning_);
    if (method == "sort") counter_ = kernels::make_sort_pair_counter(memory_, tuning_);
    if (method == "dense") counter_ = kernels::make_dense_pair_counter(memory_, tuning_);
    if (!counter_) throw std::invalid_argument("unknown method '" + method + "'");
  }

  // The pairs of tokens[0..n-1], which are the positions first..first+n-1 of the corpus. Offsets and weights
  // as in kernels::PairChunk, checked by the caller.
  void add(const py::object& tokens, std::int64_t first, const py::object& offsets, const py::object& weights,
           std::optional<std::intptr_t> stream) {
    KernelArrays arrays(stream);
    const DlArray ids = arrays.read(tokens, "tokens");
    expect_integers(ids, 32, ids.is_integer(32, true));
    kernels::PairChunk chunk;
    chunk.tokens = static_cast<const std::uint32_t*>(ids.data());
    chunk.first = first;
    chunk.last = first + ids.size() - 1;
    if (chunk.last <= chunk.first) return;
    std::optional<DlArray> ends;
    std::optional<DlArray> times;
    if (!offsets.is_none()) {
      ends.emplace(arrays.read(offsets, "offsets"));
      chunk.offsets = static_cast<const std::int64_t*>(expect_integers(*ends, 64, true).data());
      chunk.segments = ends->size() - 1;
    }
    if (!weights.is_none()) {
      times.emplace(arrays.read(weights, "weights"));
      expect_integers(*times, 64, times->is_integer(64, true));
      chunk.weights = static_cast<const Word*>(expect_size(*times, chunk.segments).data());
    }
    if (arrays.device() != device_)
      throw std::invalid_argument("tokens are on device " + std::to_string(arrays.device()) +
                                  ", the counter on device " + std::to_string(device_));
    const py::gil_scoped_release release;
    const kernels::DeviceGuard guard(device_);
    counter_->add(chunk, arrays.stream());
  }

  std::size_t order(std::optional<std::intptr_t> stream) {
    const KernelArrays arrays(stream);
    const py::gil_scoped_release release;
    const kernels::DeviceGuard guard(device_);
    rows_ = kernels::order_pairs(counter_->collect(arrays.stream()), memory_, tuning_, arrays.stream());
    return rows_.size;
  }

  void write(const py::object& left, const py::object& right, const py::object& count,
             std::optional<std::intptr_t> stream) {
    KernelArrays arrays(stream);
    const auto size = static_cast<std::int64_t>(rows_.size);
    const DlArray lefts = arrays.write(left, "left");
    const DlArray rights = arrays.write(right, "right");
    const DlArray counts = arrays.write(count, "count");
    auto* const left_ids =
        static_cast<std::uint32_t*>(expect_size(expect_integers(lefts, 32, false), size).data());
    auto* const right_ids =
        static_cast<std::uint32_t*>(expect_size(expect_integers(rights, 32, false), size).data());
    auto* const times = static_cast<Word*>(expect_size(expect_integers(counts, 64, false), size).data());
    const py::gil_scoped_release release;
    const kernels::DeviceGuard guard(device_);
    kernels::write_pairs(rows_, left_ids, right_ids, times, tuning_, arrays.stream());
  }

 private:
  PythonMemory memory_;  // outlives what it gave
  int device_;
  PairTuning tuning_;
  std::unique_ptr<kernels::PairCounter> counter_;
  kernels::PairRows rows_;
};

// The position of the first id that is no uint32, -1 without one; int64 ids are also written to `narrow`.
std::int64_t find_bad_id(const py::object& tokens, const py::object& narrow, py::object allocate,
                         std::optional<std::intptr_t> stream) {
  PythonMemory memory(std::move(allocate));
  KernelArrays arrays(stream);
  const DlArray ids = arrays.read(tokens, "tokens");
  const bool wide = !narrow.is_none();
  const void* const data = expect_integers(ids, wide ? 64 : 32, true).data();
  std::optional<DlArray> out;
  std::uint32_t* narrow_ids = nullptr;
  if (wide) {
    out.emplace(arrays.write(narrow, "narrow"));
    narrow_ids =
        static_cast<std::uint32_t*>(expect_size(expect_integers(*out, 32, false), ids.size()).data());
  }
  const py::gil_scoped_release release;
  const kernels::DeviceGuard guard(arrays.device());
  const PairTuning tuning = default_tuning(arrays.device());
  if (!wide)
    return kernels::find_bad_id(static_cast<const std::int32_t*>(data), ids.size(), memory, tuning,
                                arrays.stream());
  return kernels::narrow_ids(static_cast<const std::int64_t*>(data), ids.size(), narrow_ids, memory, tuning,
                             arrays.stream());
}

void check_segments(const py::object& offsets, const py::object& weights, std::int64_t total,
                    py::object allocate, std::optional<std::intptr_t> stream) {
  PythonMemory memory(std::move(allocate));
  KernelArrays arrays(stream);
  const DlArray ends = arrays.read(offsets, "offsets");
  const auto* const positions = static_cast<const std::int64_t*>(expect_integers(ends, 64, true).data());
  if (ends.size() == 0) throw std::invalid_argument("offsets must hold at least one value");
  kernels::PairSegments segments{positions, ends.size() - 1};
  std::optional<DlArray> times;
  if (!weights.is_none()) {
    times.emplace(arrays.read(weights, "weights"));
    segments.signed_weights = times->is_integer(64, true);
    expect_integers(*times, 64, segments.signed_weights);
    if (times->size() != segments.size)
      throw std::invalid_argument("weights must hold " + std::to_string(segments.size) + " values, not " +
                                  std::to_string(times->size()));
    segments.weights = static_cast<const Word*>(times->data());
  }
  const py::gil_scoped_release release;
  const kernels::DeviceGuard guard(arrays.device());
  kernels::check_segments(segments, total, memory, default_tuning(arrays.device()), arrays.stream());
}

// Between the host and the device of the stream: both arrays compact and of one size.
void copy_array(const py::object& to, const py::object& from, std::optional<std::intptr_t> stream) {
  const DlArray target(to, "to", kEmulated ? std::nullopt : stream);
  const DlArray source(from, "from", kEmulated ? std::nullopt : stream);
  expect_size(source, source.size());
  expect_size(target, source.size());
  if (target.read_only() || target.itemsize() != source.itemsize())
    throw std::invalid_argument("to must be writeable, with items of the size of from's");
  const kernels::Stream handle = KernelArrays(stream).stream();
  const std::size_t bytes = static_cast<std::size_t>(source.size()) * source.itemsize();
  const int device =
      std::max(target.is_cuda() ? target.device_id() : 0, source.is_cuda() ? source.device_id() : 0);
  const py::gil_scoped_release release;
  const kernels::DeviceGuard guard(device);
  kernels::copy_and_wait(target.data(), source.data(), bytes, handle);
}

}  // namespace

void bind_pairs(py::module_& module) {
  py::class_<PairCounter>(module, "PairCounter")
      .def(py::init<const std::string&, py::object, int, const py::dict&>(), py::arg("method"),
           py::arg("allocate"), py::arg("device") = 0, py::arg("tuning") = py::dict())
      .def("add", &PairCounter::add, py::arg("tokens"), py::arg("first") = 0, py::arg("offsets") = py::none(),
           py::arg("weights") = py::none(), py::arg("stream") = py::none())
      .def("order", &PairCounter::order, py::arg("stream") = py::none())
      .def("write", &PairCounter::write, py::arg("left"), py::arg("right"), py::arg("count"),
           py::arg("stream") = py::none());
  module.def("find_bad_id", &find_bad_id, py::arg("tokens"), py::arg("narrow"), py::arg("allocate"),
             py::arg("stream") = py::none());
  module.def("copy_array", &copy_array, py::arg("to"), py::arg("from_"), py::arg("stream") = py::none());
  module.def("check_segments", &check_segments, py::arg("offsets"), py::arg("weights"), py::arg("total"),
             py::arg("allocate"), py::arg("stream") = py::none());
}

}  // namespace pyharness::bindings
