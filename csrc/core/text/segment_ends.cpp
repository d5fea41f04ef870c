#include "core/text/segment_ends.hpp"

#include "core/text/segment_reader.hpp"

namespace pyharness {
namespace {

// The end of a segment is the start of the next one.
template <class Add>
struct Ends {
  Add& add;

  void segment(std::size_t at) const {
    if (at > 0) add(at);
  }
  void character(std::uint16_t) const {}
  void word_run(std::string_view) const {}
};

}  // namespace

UnitEnds segment_ends(std::span<const std::string_view> texts, int threads) {
  return cut_on_threads(texts, threads, [&](std::size_t index, auto&& add) {
    const std::string_view text = texts[index];
    Ends<std::remove_reference_t<decltype(add)>> ends{add};
    SegmentReader(text, ends).read();
    if (!text.empty()) add(text.size());
  });
}

}  // namespace pyharness
