#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/model_arrays.hpp"
#include "bindings/core.hpp"
#include "bindings/training/trained.hpp"
#include "core/training/extending/extension_trainer.hpp"

namespace pyharness::bindings {
namespace {

using PieceRuleArrays = std::tuple<py::object, py::array, py::array, py::array>;

// Fields of a pyharness.features.adaptation.bpe.model_pieces.PieceRules, and code points, scripts and
// digits of characters.
std::optional<PieceRules> piece_rules_of(const std::optional<PieceRuleArrays>& given) {
  if (!given) return std::nullopt;
  const auto& [rules, point_array, script_array, digit_array] = *given;
  const auto flag = [&rules = rules](const char* name) { return rules.attr(name).cast<bool>(); };
  const PieceRuleOptions options{flag("by_script"),
                                 flag("by_number"),
                                 flag("by_whitespace"),
                                 flag("digits_alone"),
                                 flag("whitespace_last"),
                                 flag("whitespace_only"),
                                 rules.attr("longest").cast<std::size_t>()};
  const auto points = view_1d<std::uint32_t>(point_array, "points");
  const auto scripts = view_1d<std::uint32_t>(script_array, "scripts");
  const auto digits = view_bools(digit_array, "digits");
  check_length(scripts.size(), points.size(), "scripts");
  check_length(digits.size(), points.size(), "digits");
  std::vector<PieceRules::CharacterClass> characters;
  for (std::size_t i = 0; i < points.size(); ++i)
    characters.push_back({points[i], scripts[i], digits[i] != 0});
  return PieceRules(options, characters);
}

// Runs without the interpreter.
std::function<bool(std::string_view)> denier(const py::object& denies) {
  if (denies.is_none()) return nullptr;
  return [&denies](std::string_view bytes) {
    const py::gil_scoped_acquire acquire;
    return denies(py::bytes(bytes.data(), bytes.size())).cast<bool>();
  };
}

py::dict extend(const py::object& model, const py::array& symbols, const py::array& offsets,
                const py::array& weights, const py::array& data, const py::array& token_offsets,
                const py::array& unreachable, std::size_t tokens, std::uint64_t min_frequency,
                std::size_t max_token_length, std::size_t max_token_characters, const std::string& ties,
                bool cascade, const std::optional<PieceRuleArrays>& piece_rules, const py::object& denies,
                const py::object& progress) {
  const ModelArrays arrays(model);
  const WeightedPieces pieces{view_1d<std::uint32_t>(symbols, "symbols"),
                              view_1d<std::int64_t>(offsets, "offsets"),
                              view_1d<std::uint64_t>(weights, "weights")};
  TokenStrings base = strings(data, token_offsets, true);
  const ExtendableModel extendable{arrays.view(), view_1d<std::uint32_t>(unreachable, "unreachable")};
  const ExtendingOptions options{{.vocabulary_size = base.size() + tokens,
                                  .min_frequency = min_frequency,
                                  .max_token_length = max_token_length,
                                  .max_token_characters = max_token_characters,
                                  .tie_rule = tie_rule(ties),
                                  .progress = reporter(progress)},
                                 piece_rules_of(piece_rules),
                                 denier(denies),
                                 cascade};
  ExtendedBpe extended;
  {
    const py::gil_scoped_release release;
    extended = extend_bpe(pieces, std::move(base), extendable, options);
  }
  py::dict result = result_of(std::move(extended.trained));
  result["symbols"] = hand_over(std::move(extended.text.symbols));
  result["symbol_offsets"] = hand_over(std::move(extended.text.offsets));
  return result;
}

}  // namespace

void bind_extending(py::module_& module) {
  module.def("extend_bpe", &extend, py::kw_only(), py::arg("model"), py::arg("symbols"), py::arg("offsets"),
             py::arg("weights"), py::arg("data"), py::arg("token_offsets"), py::arg("unreachable"),
             py::arg("tokens"), py::arg("min_frequency"), py::arg("max_token_length"),
             py::arg("max_token_characters"), py::arg("tie_rule"), py::arg("cascade"), py::arg("piece_rules"),
             py::arg("denies"), py::arg("progress"));
}

}  // namespace pyharness::bindings
