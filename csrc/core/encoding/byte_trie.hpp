// Byte strings -> number, by prefix: which of them a text goes on with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace pyharness {

class ByteTrie {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  struct Found {
    std::uint32_t number = kNone;  // index of the string
    std::size_t length = 0;
  };

  // Empty strings are never found; of equal strings the first is.
  explicit ByteTrie(std::span<const std::string_view> strings) {
    std::vector<std::uint32_t> order(strings.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return strings[a] < strings[b]; });
    nodes_.emplace_back();
    bytes_.push_back(0);  // of the root: nothing leads to it
    std::vector<Range> level{{0, order.size(), 0}};
    for (std::size_t depth = 0; !level.empty(); ++depth) level = add_level(strings, order, level, depth);
  }

  // The longest string that `text` has at `at`.
  Found longest_at(std::string_view text, std::size_t at) const {
    Found found;
    for_each_beginning(text.substr(at),
                       [&](std::size_t length, std::uint32_t number) { found = {number, length}; });
    return found;
  }

  // Calls visit(length, number) for every string that `text` begins with, the shortest first.
  template <class Visit>
  void for_each_beginning(std::string_view text, Visit&& visit) const {
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      node = child(nodes_[node], static_cast<unsigned char>(text[i]));
      if (node == kNone) return;
      if (nodes_[node].number != kNone) visit(i + 1, nodes_[node].number);
    }
  }

 private:
  struct Node {
    std::uint32_t number = kNone;
    std::uint32_t first_child = 0;  // children are consecutive nodes in the order of their bytes
    std::uint32_t children = 0;
  };
  struct Range {
    std::size_t begin, end;  // of the sorted strings
    std::uint32_t node;
  };

  // Breadth first, so that the children of a node lie together. Returns the ranges of the next level.
  std::vector<Range> add_level(std::span<const std::string_view> strings,
                               std::span<const std::uint32_t> order, std::span<const Range> level,
                               std::size_t depth) {
    std::vector<Range> next;
    for (const Range& range : level) {
      std::size_t at = range.begin;
      for (; at < range.end && strings[order[at]].size() == depth; ++at) {
        if (depth > 0 && nodes_[range.node].number == kNone) nodes_[range.node].number = order[at];
      }
      nodes_[range.node].first_child = static_cast<std::uint32_t>(nodes_.size());
      while (at < range.end) {
        const std::size_t begin = at;
        const char byte = strings[order[at]][depth];
        while (at < range.end && strings[order[at]][depth] == byte) ++at;
        next.push_back({begin, at, static_cast<std::uint32_t>(nodes_.size())});
        nodes_.emplace_back();
        bytes_.resize(nodes_.size());
        bytes_.back() = static_cast<unsigned char>(byte);
        ++nodes_[range.node].children;
      }
    }
    return next;
  }

  std::uint32_t child(const Node& node, unsigned char byte) const {
    if (node.children == 1) return bytes_[node.first_child] == byte ? node.first_child : kNone;
    const auto begin = bytes_.begin() + node.first_child;
    const auto end = begin + node.children;
    const auto found = std::lower_bound(begin, end, byte);
    return found != end && *found == byte ? static_cast<std::uint32_t>(found - bytes_.begin()) : kNone;
  }

  std::vector<Node> nodes_;
  std::vector<unsigned char>
      bytes_;  // on the way to each node; its own array, so that a search stays in one line
};

}  // namespace pyharness
