#include <algorithm>

#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/model_arrays.hpp"
#include "bindings/core.hpp"
#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"
#include "core/merging/bpe_encoder.hpp"
#include "core/merging/dropout.hpp"
#include "core/merging/piece_merger/piece_merger.hpp"

namespace pyharness::bindings {
namespace {

py::tuple tokens(EncodedBatch&& batch) {
  return py::make_tuple(hand_over(std::move(batch.ids)), hand_over(std::move(batch.offsets)));
}

// Look-up tables of a model and the arrays they point into.
class BpeEncoderHandle {
 public:
  explicit BpeEncoderHandle(const py::object& model) : arrays_(model), encoder_(build(arrays_.view())) {}

  py::array_t<std::uint32_t> encode(const py::array& base) const {
    const auto symbols = view_1d<std::uint32_t>(base, "base");
    std::vector<std::uint32_t> ids;
    {
      const py::gil_scoped_release release;
      EncodingWorkspace workspace;
      const auto result = encoder_.encode(symbols, workspace);
      ids.assign(result.begin(), result.end());
    }
    return hand_over(std::move(ids));
  }

  py::tuple encode_batch(const py::array& base, const py::array& base_offsets, int threads) const {
    const auto symbols = view_1d<std::uint32_t>(base, "base");
    const auto offsets = view_1d<std::int64_t>(base_offsets, "base_offsets");
    EncodedBatch batch;
    {
      const py::gil_scoped_release release;
      batch = pyharness::encode_batch(encoder_, symbols, offsets, threads);
    }
    return tokens(std::move(batch));
  }

 private:
  static BpeEncoder build(const MergeModel& model) {
    const py::gil_scoped_release release;
    return BpeEncoder(model);
  }

  ModelArrays arrays_;
  BpeEncoder encoder_;
};

// Ids of the pieces first..last - 1; the number of ids of piece p goes to ends[p + 1].
std::vector<std::uint32_t> encode_share(const PieceMerger& merger, std::string_view data,
                                        std::span<const std::int64_t> offsets, std::size_t first,
                                        std::size_t last, std::int64_t* ends) {
  constexpr std::size_t kTogether = 1024;  // pieces that are merged in turns
  PieceMergingWorkspace workspace;
  std::vector<std::uint32_t> ids, met;
  std::vector<std::string_view> pieces;
  std::vector<std::size_t> begins(kTogether);  // in the ids as they are met
  for (; first < last; first += pieces.size()) {
    pieces.clear();
    for (std::size_t piece = first; piece < std::min(last, first + kTogether); ++piece) {
      const auto begin = static_cast<std::size_t>(offsets[piece]);
      pieces.push_back(data.substr(begin, static_cast<std::size_t>(offsets[piece + 1]) - begin));
    }
    met.clear();
    merger.encode_each(pieces, workspace, [&](std::size_t piece, std::span<const std::uint32_t> found) {
      begins[piece] = met.size();
      ends[first + piece + 1] = static_cast<std::int64_t>(found.size());
      met.insert(met.end(), found.begin(), found.end());
    });
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      const auto begin = met.begin() + static_cast<std::ptrdiff_t>(begins[piece]);
      ids.insert(ids.end(), begin, begin + ends[first + piece + 1]);
    }
  }
  return ids;
}

EncodedBatch encode_pieces(const PieceMerger& merger, std::string_view data,
                           std::span<const std::int64_t> offsets, int threads) {
  const std::size_t pieces = offsets.size() - 1;
  EncodedBatch batch{{}, std::vector<std::int64_t>(offsets.size())};
  check_threads(threads);
  std::vector<std::vector<std::uint32_t>> shares(static_cast<std::size_t>(threads));
  run_on_threads(threads, [&](int worker) {
    shares[static_cast<std::size_t>(worker)] =
        encode_share(merger, data, offsets, share_begin(pieces, worker, threads),
                     share_begin(pieces, worker + 1, threads), batch.offsets.data());
  });
  for (std::size_t piece = 0; piece < pieces; ++piece) batch.offsets[piece + 1] += batch.offsets[piece];
  batch.ids = std::move(shares[0]);
  for (std::size_t share = 1; share < shares.size(); ++share) {
    batch.ids.insert(batch.ids.end(), shares[share].begin(), shares[share].end());
  }
  return batch;
}

// A merger and the arrays that its model points into.
class Merger {
 public:
  Merger(const py::object& model, bool whole_pieces, const std::optional<ExpansionArrays>& expansion)
      : arrays_(model), merger_(build(arrays_.view(), whole_pieces, expansion_of(expansion))) {}

  py::tuple encode_batch(const py::array& data, const py::array& offsets, int threads) const {
    const auto bytes = view_1d<std::uint8_t>(data, "data");
    const auto bounds = view_1d<std::int64_t>(offsets, "offsets");
    check_offsets(bounds, bytes.size(), "offsets");
    EncodedBatch batch;
    {
      const py::gil_scoped_release release;
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      batch = encode_pieces(merger_, text, bounds, threads);
    }
    return tokens(std::move(batch));
  }

 private:
  static PieceMerger build(const MergeModel& model, bool whole_pieces, Expansion&& expansion) {
    const py::gil_scoped_release release;
    return PieceMerger(model, whole_pieces, std::move(expansion));
  }

  ModelArrays arrays_;
  PieceMerger merger_;
};

}  // namespace

void bind_merging(py::module_& module) {
  py::class_<BpeEncoderHandle>(module, "BpeEncoder")
      .def(py::init<const py::object&>(), py::arg("model"))
      .def("encode", &BpeEncoderHandle::encode, py::arg("base"))
      .def("encode_batch", &BpeEncoderHandle::encode_batch, py::arg("base"), py::arg("base_offsets"),
           py::arg("threads") = 1);
  py::class_<Merger>(module, "PieceMerger")
      .def(py::init<const py::object&, bool, const std::optional<ExpansionArrays>&>(), py::arg("model"),
           py::arg("whole_pieces") = false, py::arg("expansion") = py::none())
      .def("encode_batch", &Merger::encode_batch, py::arg("data"), py::arg("offsets"),
           py::arg("threads") = 1);
  module.def("philox", &philox, py::arg("counter"), py::arg("key"));
}

}  // namespace pyharness::bindings
