// What bindings of trainers have in common: strings of tokens, options, results.
#pragma once

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays/arrays.hpp"
#include "core/machine/checks.hpp"
#include "core/training/bpe_trainer.hpp"

namespace pyharness::bindings {

// `gaps`: ids may have no bytes.
inline TokenStrings strings(const py::array& data, const py::array& offsets, bool gaps = false) {
  const auto bytes = view_1d<std::uint8_t>(data, "data");
  const auto bounds = view_1d<std::int64_t>(offsets, "token_offsets");
  check_offsets(bounds, bytes.size(), "token_offsets");
  TokenStrings tokens;
  tokens.reserve(bounds.size() - 1, bytes.size());
  for (std::size_t id = 0; id + 1 < bounds.size(); ++id) {
    const auto begin = static_cast<std::size_t>(bounds[id]);
    const auto end = static_cast<std::size_t>(bounds[id + 1]);
    if (begin == end && !gaps) throw std::invalid_argument("token " + std::to_string(id) + " has no bytes");
    tokens.add({reinterpret_cast<const char*>(bytes.data()) + begin, end - begin});
  }
  return tokens;
}

inline TieRule tie_rule(const std::string& name) {
  if (name == "smallest_ids") return TieRule::kSmallestIds;
  if (name == "first_seen") return TieRule::kFirstSeen;
  if (name == "lexicographic") return TieRule::kLexicographic;
  if (name == "sentencepiece") return TieRule::kSentencePiece;
  throw std::invalid_argument("unknown tie rule '" + name +
                              "'; known: smallest_ids, first_seen, lexicographic, sentencepiece");
}

// Runs without the interpreter; now and then it asks for signals and tells how far it is.
inline std::function<void(std::size_t)> reporter(const py::object& progress) {
  return [&progress](std::size_t tokens) {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!progress.is_none()) progress(tokens);
  };
}

inline py::array_t<std::uint32_t> rows(const std::vector<MergeRule>& rules) {
  static_assert(sizeof(MergeRule) == 3 * sizeof(std::uint32_t));
  py::array_t<std::uint32_t> table({static_cast<py::ssize_t>(rules.size()), py::ssize_t{3}});
  if (!rules.empty()) std::memcpy(table.mutable_data(), rules.data(), rules.size() * sizeof(MergeRule));
  return table;
}

inline py::dict result_of(TrainedBpe&& trained) {
  py::dict result;
  result["offsets"] = hand_over(trained.tokens.offsets());
  result["data"] = hand_over(trained.tokens.take_data());
  result["rules"] = rows(trained.rules);
  result["counts"] = hand_over(std::move(trained.counts));
  return result;
}

}  // namespace pyharness::bindings
