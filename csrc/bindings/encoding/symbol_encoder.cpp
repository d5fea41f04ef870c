#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/model_arrays.hpp"
#include "bindings/arrays/texts.hpp"
#include "bindings/core.hpp"
#include "core/encoding/decoding.hpp"
#include "core/encoding/symbols/batches.hpp"

namespace pyharness::bindings {
namespace {

std::vector<std::uint32_t> copied(const py::array& array, const char* name) {
  const auto values = view_1d<std::uint32_t>(array, name);
  return {values.begin(), values.end()};
}

SymbolOptions options_of(const py::kwargs& given) {
  SymbolOptions options;
  options.characters = given["characters"].cast<bool>();
  options.alphabet = given["alphabet"].cast<std::vector<std::pair<std::string, std::uint32_t>>>();
  options.prefix = given["prefix"].cast<std::string>();
  options.suffix = given["suffix"].cast<std::string>();
  options.fallback = copied(given["fallback"], "fallback");
  options.unknown = given["unknown"].is_none() ? kNever : given["unknown"].cast<std::uint32_t>();
  options.fuse_unknown = given["fuse_unknown"].cast<bool>();
  options.whole_pieces = given["whole_pieces"].cast<bool>();
  options.longest_match = given["longest_match"].cast<bool>();
  if (const py::object expansion = given["expansion"]; !expansion.is_none()) {
    const auto pair = expansion.cast<py::tuple>();
    options.expansion = copied(pair[0], "expansion ids");
    const py::array held = pair[1];
    const auto offsets = view_1d<std::int64_t>(held, "expansion offsets");
    options.expansion_offsets.assign(offsets.begin(), offsets.end());
  }
  return options;
}

// The encoder, the arrays it points into, and the caches of its threads.
class SymbolEncoderHandle {
 public:
  SymbolEncoderHandle(const py::object& model, const py::kwargs& options)
      : arrays_(model), encoder_(arrays_.view(), options_of(options)) {}

  py::tuple encode_batch(const py::sequence& texts,
                         const std::optional<std::pair<py::array, py::array>>& pieces, int threads) {
    return run(texts, pieces, {}, threads);
  }

  py::tuple encode_pieces(const py::array& data, const py::array& offsets, int threads) {
    const auto bytes = view_1d<std::uint8_t>(data, "data");
    const auto bounds = view_1d<std::int64_t>(offsets, "offsets");
    EncodedBatch batch;
    {
      const py::gil_scoped_release release;
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      batch = pyharness::encode_pieces(encoder_, text, bounds, workspaces_, threads);
    }
    return tokens(std::move(batch));
  }

  py::tuple sample_batch(const py::sequence& texts,
                         const std::optional<std::pair<py::array, py::array>>& pieces, double probability,
                         std::uint64_t seed, const py::array& documents, const py::array& positions,
                         int threads) {
    return run(texts, pieces,
               {probability, seed, view_1d<std::uint64_t>(documents, "documents"),
                view_1d<std::uint64_t>(positions, "positions")},
               threads);
  }

 private:
  py::tuple run(const py::sequence& texts, const std::optional<std::pair<py::array, py::array>>& pieces,
                const DropoutBatch& dropout, int threads) {
    const Texts held(texts);
    PieceEnds given;
    if (pieces)
      given = {view_1d<std::int64_t>(pieces->first, "ends"),
               view_1d<std::int64_t>(pieces->second, "offsets")};
    EncodedBatch batch;
    {
      const py::gil_scoped_release release;
      batch = encode_texts(encoder_, held.views(), pieces ? &given : nullptr, dropout, workspaces_, threads);
    }
    return tokens(std::move(batch));
  }

  static py::tuple tokens(EncodedBatch&& batch) {
    return py::make_tuple(hand_over(std::move(batch.ids)), hand_over(std::move(batch.offsets)));
  }

  ModelArrays arrays_;
  SymbolEncoder encoder_;
  SymbolWorkspaces workspaces_;
};

py::bytes decode(const py::array& data, const py::array& offsets, const py::array& ids) {
  const TokenBytes tokens{view_1d<std::uint8_t>(data, "data"), view_1d<std::int64_t>(offsets, "offsets")};
  const auto numbers = view_1d<std::uint32_t>(ids, "ids");
  const std::size_t size = tokens.decoded_size(numbers);
  auto text =
      py::reinterpret_steal<py::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(size)));
  if (!text) throw py::error_already_set();
  tokens.decode(numbers, {PyBytes_AS_STRING(text.ptr()), size});
  return text;
}

}  // namespace

void bind_symbol_encoder(py::module_& module) {
  py::class_<SymbolEncoderHandle>(module, "SymbolEncoder")
      .def(py::init<const py::object&, const py::kwargs&>(), py::arg("model"))
      .def("encode_batch", &SymbolEncoderHandle::encode_batch, py::arg("texts"), py::arg("pieces"),
           py::arg("threads"))
      .def("encode_pieces", &SymbolEncoderHandle::encode_pieces, py::arg("data"), py::arg("offsets"),
           py::arg("threads"))
      .def("sample_batch", &SymbolEncoderHandle::sample_batch, py::arg("texts"), py::arg("pieces"),
           py::arg("probability"), py::arg("seed"), py::arg("documents"), py::arg("positions"),
           py::arg("threads"));
  module.def("decode", &decode, py::arg("data"), py::arg("offsets"), py::arg("ids"));
}

}  // namespace pyharness::bindings
