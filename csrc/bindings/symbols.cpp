#include <memory>
#include <tuple>
#include <utility>

#include "bindings/arrays/arrays.hpp"
#include "bindings/core.hpp"
#include "core/symbols/symbol_counter.hpp"
#include "core/symbols/symbol_model.hpp"

namespace pyharness::bindings {
namespace {

using symbols::SymbolCounter;
using symbols::SymbolModel;
using symbols::SymbolScores;
using symbols::SymbolTrie;

template <class Value>
std::vector<Value> copied(const py::array& array, const char* name) {
  const auto values = view_1d<Value>(array, name);
  return {values.begin(), values.end()};
}

using TrieArrays = std::tuple<std::uint32_t, py::array, py::array, py::array, py::array>;

std::unique_ptr<SymbolModel> model_of(const TrieArrays& arrays, int threads) {
  const auto& [alphabet_size, level_sizes, symbols, counts, children] = arrays;
  SymbolTrie trie{alphabet_size, copied<std::uint64_t>(level_sizes, "level_sizes"),
                  copied<std::uint32_t>(symbols, "symbols"), copied<std::uint64_t>(counts, "counts"),
                  copied<std::uint32_t>(children, "children")};
  const py::gil_scoped_release release;
  return std::make_unique<SymbolModel>(std::move(trie), threads);
}

std::unique_ptr<SymbolModel> take_model(SymbolCounter& counter, int threads) {
  const py::gil_scoped_release release;
  return std::make_unique<SymbolModel>(counter.take_trie(), threads);
}

py::tuple score(const SymbolModel& model, const py::array& ids, const py::array& offsets, int threads) {
  SymbolScores scores;
  with_ids(ids, offsets, [&](auto values, auto ends) { scores = model.score(values, ends, threads); });
  return py::make_tuple(hand_over(std::move(scores.entropy)), hand_over(std::move(scores.nll)),
                        hand_over(std::move(scores.next_entropy)));
}

// A vector of the model as an array that keeps the model alive and cannot be written to.
template <class Value>
py::array shown(const py::object& model, const std::vector<Value>& values) {
  py::array_t<Value> array(static_cast<py::ssize_t>(values.size()), values.data(), model);
  array.attr("flags").attr("writeable") = false;
  return array;
}

py::tuple trie_of(const py::object& model) {
  const SymbolTrie& trie = model.cast<const SymbolModel&>().trie();
  return py::make_tuple(trie.alphabet_size, shown(model, trie.level_sizes), shown(model, trie.symbols),
                        shown(model, trie.counts), shown(model, trie.children));
}

}  // namespace

void bind_symbols(py::module_& module) {
  using py::arg;
  py::class_<SymbolCounter>(module, "SymbolCounter")
      .def(py::init<std::uint64_t, int, std::size_t>(), arg("alphabet_size"), arg("order"), arg("max_bytes"))
      .def(
          "add",
          [](SymbolCounter& counter, const py::array& ids, const py::array& offsets, int threads) {
            with_ids(ids, offsets, [&](auto values, auto ends) { counter.add(values, ends, threads); });
          },
          arg("ids"), arg("offsets"), arg("threads"))
      .def("symbols", &SymbolCounter::symbols)
      .def("take_model", &take_model, arg("threads"));
  py::class_<SymbolModel>(module, "SymbolModel")
      .def(py::init(&model_of), arg("trie"), arg("threads"))
      .def("score", &score, arg("ids"), arg("offsets"), arg("threads"))
      .def("probabilities",
           [](const SymbolModel& model, const py::array& before) {
             return hand_over(model.probabilities(view_1d<std::uint32_t>(before, "context")));
           })
      .def("trie", &trie_of);
}

}  // namespace pyharness::bindings
