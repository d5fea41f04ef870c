#include <memory>
#include <optional>
#include <stdexcept>

#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/splitters.hpp"
#include "bindings/arrays/texts.hpp"
#include "bindings/core.hpp"
#include "bindings/training/trained.hpp"
#include "core/machine/checks.hpp"
#include "core/training/demolition.hpp"
#include "core/training/piece_counter.hpp"

namespace pyharness::bindings {
namespace {

py::dict scaffold_result(TrainedScaffold&& trained) {
  py::list events;
  for (const ScaffoldEvent& event : trained.events) {
    events.append(py::make_tuple(event.kind == ScaffoldEvent::kDemoted ? "demoted" : "promoted", event.token,
                                 event.rules, event.frequency, event.head));
  }
  py::dict result = result_of(std::move(trained.expanded));
  result["scaffold"] = hand_over<bool>(std::move(trained.scaffold));
  result["events"] = events;
  return result;
}

// Bytes and characters of the text that each base symbol stands for.
std::vector<TextLength> lengths_of(const std::optional<std::pair<py::array, py::array>>& given,
                                   std::size_t symbols) {
  std::vector<TextLength> lengths;
  if (!given) return lengths;
  const auto bytes = view_1d<std::uint64_t>(given->first, "bytes of the base symbols");
  const auto characters = view_1d<std::uint64_t>(given->second, "characters of the base symbols");
  check_length(bytes.size(), symbols, "bytes of the base symbols");
  check_length(characters.size(), symbols, "characters of the base symbols");
  for (std::size_t id = 0; id < symbols; ++id) lengths.push_back({bytes[id], characters[id]});
  return lengths;
}

py::dict train(const py::array& symbols, const py::array& offsets, const py::array& weights,
               const py::array& data, const py::array& token_offsets, std::size_t vocabulary_size,
               std::uint64_t min_frequency, std::size_t max_token_length, std::size_t max_token_characters,
               const std::string& prefix, const std::optional<std::pair<py::array, py::array>>& text_lengths,
               const std::string& ties, bool scaffold, bool keep_events, const py::object& progress) {
  const WeightedPieces pieces{view_1d<std::uint32_t>(symbols, "symbols"),
                              view_1d<std::int64_t>(offsets, "offsets"),
                              view_1d<std::uint64_t>(weights, "weights")};
  TokenStrings base = strings(data, token_offsets);
  const TrainingOptions options{vocabulary_size,  min_frequency,
                                max_token_length, max_token_characters,
                                prefix,           lengths_of(text_lengths, base.size()),
                                tie_rule(ties),   reporter(progress)};
  if (scaffold) {
    TrainedScaffold trained;
    {
      const py::gil_scoped_release release;
      trained = train_scaffold_bpe(pieces, std::move(base), options, keep_events);
    }
    return scaffold_result(std::move(trained));
  }
  TrainedBpe trained;
  {
    const py::gil_scoped_release release;
    trained = train_bpe(pieces, std::move(base), options);
  }
  return result_of(std::move(trained));
}

py::tuple demolition_of(const py::array& data, const py::array& token_offsets, const py::array& rules,
                        const py::array& scaffold, const std::string& name) {
  if (name != "eq6" && name != "shortest") {
    throw std::invalid_argument("unknown demolition '" + name + "'; known: eq6, shortest");
  }
  if (rules.ndim() != 2 || rules.shape(1) != 3) throw py::value_error("rules must have shape [n_rules, 3]");
  const TokenStrings tokens = strings(data, token_offsets);
  const auto table = view<std::uint32_t>(rules, "rules");
  const auto flags = view_bools(scaffold, "scaffold");
  const std::span<const MergeRule> list(reinterpret_cast<const MergeRule*>(table.data()), table.size() / 3);
  Demolition done;
  {
    const py::gil_scoped_release release;
    done = demolition(tokens, list, flags,
                      name == "eq6" ? DemolitionRule::kEquation6 : DemolitionRule::kShortest);
  }
  return py::make_tuple(hand_over(std::move(done.ids)), hand_over(std::move(done.offsets)));
}

void add_texts(PieceCounter& counter, const py::sequence& texts, int threads) {
  const Texts held(texts);
  const py::gil_scoped_release release;
  counter.add(held.views(), threads);
}

py::tuple pieces_of(PieceCounter& counter) {
  CountedPieces counted;
  {
    const py::gil_scoped_release release;
    counted = counter.pieces();
  }
  return py::make_tuple(hand_over(std::move(counted.bytes)), hand_over(std::move(counted.offsets)),
                        hand_over(std::move(counted.counts)));
}

}  // namespace

void bind_training(py::module_& module) {
  py::class_<PieceCounter>(module, "PieceCounter")
      .def(py::init([](const py::object& pattern, std::size_t max_bytes) {
             return std::make_unique<PieceCounter>(splitter_of(pattern), max_bytes);
           }),
           py::arg("pattern"), py::arg("max_bytes"))
      .def("add", &add_texts, py::arg("texts"), py::arg("threads"))
      .def("pieces", &pieces_of);
  module.def("train_bpe", &train, py::kw_only(), py::arg("symbols"), py::arg("offsets"), py::arg("weights"),
             py::arg("data"), py::arg("token_offsets"), py::arg("vocabulary_size"), py::arg("min_frequency"),
             py::arg("max_token_length"), py::arg("max_token_characters"), py::arg("prefix"),
             py::arg("text_lengths"), py::arg("tie_rule"), py::arg("scaffold"), py::arg("keep_events"),
             py::arg("progress"));
  module.def("demolition", &demolition_of, py::kw_only(), py::arg("data"), py::arg("token_offsets"),
             py::arg("rules"), py::arg("scaffold"), py::arg("rule"));
}

}  // namespace pyharness::bindings
