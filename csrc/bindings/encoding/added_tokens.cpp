#include "core/encoding/added_tokens.hpp"

#include <tuple>

#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/texts.hpp"
#include "bindings/core.hpp"

namespace pyharness::bindings {
namespace {

// content, id, lstrip, rstrip, single_word, off
using Description = std::tuple<std::string, std::uint32_t, bool, bool, bool, bool>;

AddedTokenCutter cutter_of(const std::vector<Description>& descriptions) {
  std::vector<AddedToken> tokens;
  for (const Description& description : descriptions)
    tokens.push_back(std::make_from_tuple<AddedToken>(description));
  return AddedTokenCutter(std::move(tokens));
}

// The text that each stretch is of.
std::vector<std::size_t> sources_of(const CutTexts& cut) {
  std::vector<std::size_t> sources;
  sources.reserve(cut.stretches.size());
  for (std::size_t text = 0; text + 1 < cut.offsets.size(); ++text) {
    for (auto item = cut.offsets[text]; item < cut.offsets[text + 1]; ++item) {
      if (cut.items[static_cast<std::size_t>(item)] == CutTexts::kStretch) sources.push_back(text);
    }
  }
  return sources;
}

py::object cut(const AddedTokenCutter& cutter, const py::sequence& texts, int threads) {
  const Texts held(texts);
  CutTexts cut;
  std::vector<std::size_t> sources;
  {
    const py::gil_scoped_release release;
    cut = cutter.cut(held.views(), threads);
    if (cut.has_tokens()) sources = sources_of(cut);
  }
  if (!cut.has_tokens()) return py::none();
  return py::make_tuple(held.parts(std::move(cut.stretches), std::move(sources)),
                        hand_over(std::move(cut.items)), hand_over(std::move(cut.offsets)));
}

py::tuple join_arrays(const py::array& ids, const py::array& offsets, const py::array& items,
                      const py::array& item_offsets) {
  const auto encoded = view_1d<std::uint32_t>(ids, "ids");
  const auto edges = view_1d<std::int64_t>(offsets, "offsets");
  const auto cut = view_1d<std::int64_t>(items, "items");
  const auto documents = view_1d<std::int64_t>(item_offsets, "item_offsets");
  JoinedIds joined;
  {
    const py::gil_scoped_release release;
    joined = join_stretches(encoded, edges, cut, documents);
  }
  return py::make_tuple(hand_over(std::move(joined.ids)), hand_over(std::move(joined.offsets)));
}

}  // namespace

void bind_added_tokens(py::module_& module) {
  py::class_<TextParts>(module, "TextParts")
      .def("__len__", [](const TextParts& parts) { return parts.views().size(); })
      .def("__getitem__", &TextParts::item, py::arg("index"));
  py::class_<AddedTokenCutter>(module, "AddedTokenCutter")
      .def(py::init(&cutter_of), py::arg("tokens"))
      .def("cut", &cut, py::arg("texts"), py::arg("threads"));
  module.def("join_stretches", &join_arrays, py::arg("ids"), py::arg("offsets"), py::arg("items"),
             py::arg("item_offsets"));
}

}  // namespace pyharness::bindings
