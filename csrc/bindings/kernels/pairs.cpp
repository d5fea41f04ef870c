#include "bindings/pairs.hpp"

#include <pybind11/stl.h>  // std::optional

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "bindings/kernels/device_run.hpp"
#include "bindings/kernels/kernels.hpp"
#include "kernels/pairs/pair_histogram.hpp"

namespace pyharness::bindings {
namespace {

using kernels::PairTuning;
using kernels::Word;

PairTuning default_tuning(int device) {
  PairTuning tuning;
  if (kEmulated) tuning.threads = 64;  // the emulator makes a fiber of every thread
  tuning.multiprocessors = kernels::multiprocessors(device);
  tuning.shared_bytes = kernels::shared_bytes(device);
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
    else if (name == "bucket_bits")
      tuning.bucket_bits = py::cast<int>(value);
    else if (name == "bucket_slots")
      tuning.bucket_slots = py::cast<int>(value);
    else if (name == "part_positions")
      tuning.part_positions = py::cast<int>(value);
    else if (name == "hot_slots")
      tuning.hot_slots = py::cast<int>(value);
    else if (name == "sampled_part")
      tuning.sampled_part = py::cast<std::int64_t>(value);
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
      (tuning.bucket_slots == 0 ||
       (tuning.bucket_slots > 1 && std::has_single_bit(static_cast<unsigned>(tuning.bucket_slots)))) &&
      (tuning.bucket_bits == 0 || (tuning.bucket_bits >= kernels::kFewestBucketBits &&
                                   tuning.bucket_bits <= kernels::kMostBucketBits)) &&
      (tuning.hot_slots == 0 ||
       (tuning.hot_slots >= kernels::kFewestHotSlots && tuning.hot_slots <= kernels::kMostHotSlots)) &&
      tuning.sampled_part > 0 && tuning.part_positions > 0 && tuning.positions_per_round > 0 &&
      tuning.dense_ids > 0;
  if (!fits) throw std::invalid_argument("this tuning cannot be launched");
  return tuning;
}

class PairCounter {
 public:
  PairCounter(const std::string& method, py::object allocate, int device, const py::dict& tuning)
      : memory_(std::move(allocate)), device_(device), tuning_(tuning_of(tuning, device)) {
    if (method == "partition") counter_ = kernels::make_partition_pair_counter(memory_, tuning_);
    if (method == "sort") counter_ = kernels::make_sort_pair_counter(memory_, tuning_);
    if (method == "dense") counter_ = kernels::make_dense_pair_counter(memory_, tuning_);
    if (!counter_) throw std::invalid_argument("unknown method '" + method + "'");
  }

  // The pairs of tokens[0..n-1], which are the positions first..first+n-1 of the corpus. Offsets and weights
  // as in kernels::PairChunk, checked by the caller.
  void add(const py::object& tokens, std::int64_t first, const py::object& offsets, const py::object& weights,
           std::optional<std::intptr_t> stream) {
    const DeviceRun run(stream, py::none());
    CallArrays arrays = run.arrays();
    const DlArray& array = arrays.read(tokens, "tokens");
    kernels::PairChunk chunk;
    chunk.tokens = array.is_integer(32, true)
                       ? reinterpret_cast<const std::uint32_t*>(vector_of<const std::int32_t>(array))
                       : vector_of<const std::uint32_t>(array);
    chunk.first = first;
    chunk.last = first + array.size() - 1;
    if (chunk.last <= chunk.first) return;
    if (!offsets.is_none()) {
      const PairSegments segments = segments_of(arrays, offsets, weights);
      chunk.offsets = segments.offsets;
      chunk.segments = segments.size;
      chunk.weights = reinterpret_cast<const Word*>(segments.weights);
    } else if (!weights.is_none()) {
      throw std::invalid_argument("weights need offsets");
    }
    if (arrays.device() != device_)
      throw std::invalid_argument("tokens are on device " + std::to_string(arrays.device()) +
                                  ", the counter on device " + std::to_string(device_));
    run(arrays, [&] { counter_->add(chunk, run.stream()); });
  }

  // Ends the counting; `write` gives the rows, in the order of a histogram or in any.
  std::size_t order(std::optional<std::intptr_t> stream, bool ordered) {
    const DeviceRun run(stream, py::none());
    const py::gil_scoped_release release;
    const kernels::DeviceGuard guard(device_);
    rows_ = counter_->collect(run.stream());
    if (ordered) rows_ = kernels::order_pairs(std::move(rows_), memory_, tuning_, run.stream());
    return rows_.size;
  }

  void write(const py::object& left, const py::object& right, const py::object& count,
             std::optional<std::intptr_t> stream) {
    const DeviceRun run(stream, py::none());
    CallArrays arrays = run.arrays();
    const PairColumns columns = columns_of(arrays, left, right, count, static_cast<std::int64_t>(rows_.size));
    const py::gil_scoped_release release;
    const kernels::DeviceGuard guard(device_);
    kernels::write_pairs(rows_, columns, tuning_, run.stream());
  }

 private:
  PythonMemory memory_;  // outlives the arrays that it gave
  int device_;
  PairTuning tuning_;
  std::unique_ptr<kernels::PairCounter> counter_;
  kernels::PairRows rows_;
};

// The position of the first id that is no uint32, -1 without one; int64 ids are also written to `narrow`.
std::int64_t find_bad_id(const py::object& tokens, const py::object& narrow, const py::kwargs& options) {
  DeviceRun run(options);
  CallArrays arrays = run.arrays();
  const DlArray& ids = arrays.read(tokens, "tokens");
  const PairTuning tuning = default_tuning(arrays.device());
  std::int64_t position = -1;
  if (narrow.is_none()) {
    const auto* const values = vector_of<const std::int32_t>(ids);
    run(arrays,
        [&] { position = kernels::find_bad_id(values, ids.size(), run.memory(), tuning, run.stream()); });
  } else {
    const auto* const values = vector_of<const std::int64_t>(ids);
    auto* const narrow_ids = vector_of<std::uint32_t>(arrays.write(narrow, "narrow"), ids.size());
    run(arrays, [&] {
      position = kernels::narrow_ids(values, ids.size(), narrow_ids, run.memory(), tuning, run.stream());
    });
  }
  return position;
}

void check_segments(const py::object& offsets, const py::object& weights, std::int64_t total,
                    const py::kwargs& options) {
  DeviceRun run(options);
  CallArrays arrays = run.arrays();
  if (offsets.is_none()) throw std::invalid_argument("offsets are needed");
  const PairSegments segments = segments_of(arrays, offsets, weights);
  const PairTuning tuning = default_tuning(arrays.device());
  run(arrays, [&] { kernels::check_segments(segments, total, run.memory(), tuning, run.stream()); });
}

// Between the host and the device of the stream: both arrays compact and of one size.
void copy_array(const py::object& to, const py::object& from, std::optional<std::intptr_t> stream) {
  const DlArray target(to, "to", kEmulated ? std::nullopt : stream);
  const DlArray source(from, "from", kEmulated ? std::nullopt : stream);
  check_shape(source, {source.size()});
  check_shape(target, {source.size()});
  if (target.read_only() || target.itemsize() != source.itemsize())
    throw std::invalid_argument("to must be writeable, with items of the size of from's");
  const kernels::Stream handle = DeviceRun(stream, py::none()).stream();
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
      .def("order", &PairCounter::order, py::arg("stream") = py::none(), py::arg("ordered") = true)
      .def("write", &PairCounter::write, py::arg("left"), py::arg("right"), py::arg("count"),
           py::arg("stream") = py::none());
  module.def("find_bad_id", &find_bad_id, py::arg("tokens"), py::arg("narrow"));
  module.def("copy_array", &copy_array, py::arg("to"), py::arg("from_"), py::arg("stream") = py::none());
  module.def("check_segments", &check_segments, py::arg("offsets"), py::arg("weights"), py::arg("total"));
}

}  // namespace pyharness::bindings
