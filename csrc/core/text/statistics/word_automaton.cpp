#include "core/text/statistics/word_automaton.hpp"

#include <unordered_map>

#include "core/text/word_boundary.hpp"

namespace pyharness {
namespace {

constexpr std::uint8_t kNobody = 0xFF;

struct Walk {
  WordBoundary boundary;
  bool is_word = false;  // the segment has a letter or number
  bool after_space = true;
  std::uint8_t waiting = kNobody;  // record of the last code point, if a rule looks behind it

  std::uint64_t key() const {
    return std::uint64_t{boundary.key()} << 16 | std::uint64_t{waiting} << 8 | std::uint64_t{is_word} << 1 |
           std::uint64_t{after_space};
  }

  // Whether a word begins to count.
  bool pass(std::uint16_t here, std::uint16_t next) {
    if (boundary.advance(here, [next] { return next; })) is_word = false;
    const bool counts = (here & unicode::kLetterOrNumber) != 0 && !is_word;
    is_word |= counts;
    return counts;
  }

  bool pass_waiting(std::uint16_t next) {
    const bool counts = waiting != kNobody && pass(unicode::kRecords[waiting], next);
    waiting = kNobody;
    return counts;
  }

  // Whether a rule looks at what follows.
  bool must_wait(std::uint16_t here) const {
    bool asked = false;
    WordBoundary(boundary).advance(here, [&asked] {
      asked = true;
      return std::uint16_t{0};
    });
    return asked;
  }

  // Returns white-space word << 1 | word.
  std::uint32_t read(std::uint8_t record) {
    const std::uint16_t here = unicode::kRecords[record];
    bool counts = pass_waiting(here);
    if (must_wait(here)) {
      waiting = record;
    } else {
      counts |= pass(here, 0);  // one of both at most: what waits is no letter and no number
    }
    const bool space = (here & unicode::kSpace) != 0;
    const std::uint32_t whitespace_words = after_space && !space;
    after_space = space;
    return whitespace_words << 1 | std::uint32_t{counts};
  }
};

}  // namespace

WordAutomaton::WordAutomaton() {
  std::vector<Walk> walks{Walk{}};
  std::unordered_map<std::uint64_t, Row> known{{walks[0].key(), 0}};
  for (std::size_t state = 0; state < walks.size(); ++state) {
    steps_.resize((state + 1) * kWidth);
    for (std::uint8_t record = 0; record < unicode::kRecords.size(); ++record) {
      Walk walk = walks[state];
      const std::uint32_t counted = walk.read(record);
      const auto [found, is_new] = known.try_emplace(walk.key(), static_cast<Row>(walks.size()));
      if (is_new) walks.push_back(walk);
      steps_[state * kWidth + record] = found->second * kWidth << 2 | counted;
    }
  }
  find_settled();
}

// Of the states that ASCII reaches: what the first characters of other scripts leave behind may last longer.
void WordAutomaton::find_settled() {
  std::vector<bool> reached(states());
  std::vector<Row> open{start()};
  std::array<bool, unicode::kRecords.size()> seen{};
  settled_.fill(kNone);
  while (!open.empty()) {
    const Row row = open.back();
    open.pop_back();
    for (std::uint32_t point = 0; point < 128; ++point) {
      const std::uint8_t record = unicode::record_of(point);
      const Row next = step(row, record).row;
      if (!reached[next / kWidth]) open.push_back(next);
      reached[next / kWidth] = true;
      settled_[record] = !seen[record] || settled_[record] == next ? next : kNone;
      seen[record] = true;
    }
  }
  character_of_.assign(states(), kNobody);
  for (std::uint8_t record = 0; record < settled_.size(); ++record)
    if (settled_[record] != kNone) character_of_[settled_[record] / kWidth] = record;
}

const WordAutomaton& WordAutomaton::instance() {
  static const WordAutomaton automaton;
  return automaton;
}

}  // namespace pyharness
