// Pairs of symbols with their counts and the places where they were seen: an open hash over flat arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/training/memory.hpp"

namespace pyharness {

inline std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | right;
}
inline std::uint32_t left_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }
inline std::uint32_t right_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

class TrainingPairs {
 public:
  using Number = std::uint32_t;  // in order of first occurrence
  static constexpr Number kNone = 0xFFFFFFFFu;

  // Places of a pair: a part of places().
  struct Segment {
    std::size_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t next = kNone;
  };
  struct Pair {
    std::uint64_t key;
    std::uint64_t count = 0;
    Segment segment = {};  // here, and not behind a link: half a line has it all
  };

  std::size_t size() const { return pairs_.size(); }
  const Pair& operator[](Number number) const { return pairs_[number]; }
  Pair& operator[](Number number) { return pairs_[number]; }

  Number find(std::uint64_t key) const {
    const Number entry = table_[locate(key)];
    return entry - 1;  // a free slot holds 0: kNone
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

  void prefetch(std::uint64_t key) const { __builtin_prefetch(&table_[home(key)]); }

  // Makes room for `count` more places of a pair; returns where they go in places(). A pair has more than one
  // segment only when a merge gives a symbol that was there before.
  std::size_t add_segment(Number number, std::size_t count) {
    Segment& first = pairs_[number].segment;
    if (first.size != 0) {
      segments_.push_back(first);
      first.next = static_cast<std::uint32_t>(segments_.size() - 1);
    }
    first.begin = places_.size();
    first.size = static_cast<std::uint32_t>(count);
    places_.resize(places_.size() + count);
    return first.begin;
  }

  void reserve_places(std::size_t count) { places_.reserve(count); }
  std::span<std::uint32_t> places() { return places_; }

  // The places of a pair in rising order, dead ones among them; valid until a pair is added.
  std::span<const std::uint32_t> places_of(Number number, std::vector<std::uint32_t>& scratch) const {
    const Segment& first = pairs_[number].segment;
    if (first.next == kNone) return {places_.data() + first.begin, first.size};
    scratch.clear();
    for (const Segment* at = &first; at != nullptr; at = next(*at)) {
      const auto* const begin = places_.data() + at->begin;
      scratch.insert(scratch.end(), begin, begin + at->size);
    }
    std::sort(scratch.begin(), scratch.end());
    return scratch;
  }

  // The lowest place for which `lives` holds; drops the dead ones before it.
  template <class Lives>
  std::uint32_t first_place(Number number, Lives&& lives) {
    std::uint32_t first = kNone;
    for (Segment* at = &pairs_[number].segment; at != nullptr; at = next(*at)) {
      for (; at->size != 0 && !lives(places_[at->begin]); --at->size) ++at->begin;
      if (at->size != 0) first = std::min(first, places_[at->begin]);
    }
    return first;
  }

  // What a merge of the pair will need, a step at a time: each reads what the one before has fetched.
  void prefetch_pair(Number number) const { __builtin_prefetch(&pairs_[number]); }
  void prefetch_places(Number number) const {
    __builtin_prefetch(places_.data() + pairs_[number].segment.begin);
  }
  std::span<const std::uint32_t> first_places(Number number, std::size_t most) const {
    const Segment& first = pairs_[number].segment;
    return {places_.data() + first.begin, std::min<std::size_t>(first.size, most)};
  }

 private:
  const Segment* next(const Segment& segment) const {
    return segment.next == kNone ? nullptr : &segments_[segment.next];
  }
  Segment* next(const Segment& segment) { return segment.next == kNone ? nullptr : &segments_[segment.next]; }

  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>((key ^ key >> 32) * 0x9E3779B97F4A7C15u >> shift_);
  }

  std::size_t locate(std::uint64_t key) const {
    std::size_t at = home(key);
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
  TrainingArray<Number> table_ = TrainingArray<Number>(std::size_t{1} << kFirstBits);  // number + 1; 0: free
  int shift_ = 64 - kFirstBits;
  TrainingArray<Pair> pairs_;
  std::vector<Segment> segments_;  // those of a pair after its first one
  TrainingArray<std::uint32_t> places_;
};

}  // namespace pyharness
