// Pairs of symbols with their counts and the places where they were seen: an open hash over flat arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace pyharness {

inline std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | right;
}
inline std::uint32_t left_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }
inline std::uint32_t right_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

class TrainingPairs {
 public:
  using Number = std::uint32_t;  // pairs are numbered as they are met
  static constexpr Number kNone = 0xFFFFFFFFu;

  struct Pair {
    std::uint64_t key;
    std::uint64_t count = 0;
    std::uint32_t first_segment = kNone;
    std::uint32_t last_segment = kNone;
  };

  std::size_t size() const { return pairs_.size(); }
  const Pair& operator[](Number number) const { return pairs_[number]; }
  Pair& operator[](Number number) { return pairs_[number]; }

  Number find(std::uint64_t key) const {
    const Number found = table_[locate(key)];
    return found - 1;  // a free slot holds 0: kNone
  }

  Number find_or_add(std::uint64_t key) {
    std::size_t at = locate(key);
    if (table_[at] != 0) return table_[at] - 1;
    if (2 * pairs_.size() >= table_.size()) {
      grow();
      at = locate(key);
    }
    pairs_.push_back({key});
    return (table_[at] = static_cast<Number>(pairs_.size())) - 1;
  }

  // Makes room for `count` more places of a pair; returns where they go in places(). A pair has more than one
  // segment only when a merge gives a symbol that was there before.
  std::size_t add_segment(Number number, std::size_t count) {
    const auto segment = static_cast<std::uint32_t>(segments_.size());
    Pair& pair = pairs_[number];
    (pair.first_segment == kNone ? pair.first_segment : segments_[pair.last_segment].next) = segment;
    pair.last_segment = segment;
    segments_.push_back({places_.size(), places_.size() + count, kNone});
    places_.resize(places_.size() + count);
    return segments_.back().begin;
  }

  std::span<std::uint32_t> places() { return places_; }

  // The places of a pair in rising order, dead ones among them; valid until a pair is added.
  std::span<const std::uint32_t> places_of(Number number, std::vector<std::uint32_t>& scratch) const {
    const Segment& only = segments_[pairs_[number].first_segment];
    if (only.next == kNone) return {places_.data() + only.begin, only.end - only.begin};
    scratch.clear();
    for (std::uint32_t at = pairs_[number].first_segment; at != kNone; at = segments_[at].next) {
      scratch.insert(scratch.end(), places_.data() + segments_[at].begin, places_.data() + segments_[at].end);
    }
    std::sort(scratch.begin(), scratch.end());
    return scratch;
  }

  // The lowest place for which `lives` holds; drops the dead ones before it.
  template <class Lives>
  std::uint32_t first_place(Number number, Lives&& lives) {
    std::uint32_t first = kNone;
    for (std::uint32_t at = pairs_[number].first_segment; at != kNone; at = segments_[at].next) {
      Segment& segment = segments_[at];
      while (segment.begin != segment.end && !lives(places_[segment.begin])) ++segment.begin;
      if (segment.begin != segment.end) first = std::min(first, places_[segment.begin]);
    }
    return first;
  }

 private:
  struct Segment {
    std::size_t begin, end;
    std::uint32_t next;
  };

  std::size_t locate(std::uint64_t key) const {
    std::size_t at = static_cast<std::size_t>((key ^ key >> 32) * 0x9E3779B97F4A7C15u >> shift_);
    while (table_[at] != 0 && pairs_[table_[at] - 1].key != key) at = (at + 1) & (table_.size() - 1);
    return at;
  }

  void grow() {
    table_.assign(table_.size() * 2, 0);
    --shift_;
    for (std::size_t i = 0; i < pairs_.size(); ++i)
      table_[locate(pairs_[i].key)] = static_cast<Number>(i + 1);
  }

  static constexpr int kFirstBits = 16;
  std::vector<Number> table_ = std::vector<Number>(std::size_t{1} << kFirstBits);  // number + 1; 0: free
  int shift_ = 64 - kFirstBits;
  std::vector<Pair> pairs_;
  std::vector<Segment> segments_;
  std::vector<std::uint32_t> places_;
};

}  // namespace pyharness
