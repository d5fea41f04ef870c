#include "core/reachability/leaf_order.hpp"

#include <functional>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/machine/checks.hpp"
#include "core/model/merge_model.hpp"

namespace pyharness {
namespace {

// How many of the tokens that are left have each id as a part; (a, a) counts twice.
std::vector<std::uint32_t> count_uses(std::span<const std::uint32_t> parts, std::size_t ids) {
  std::vector<std::uint32_t> uses(ids);
  for (std::size_t at = 0; at < parts.size(); ++at) {
    if (parts[at] == kNever) continue;
    if (parts[at] >= ids || parts[at ^ 1] == kNever) {
      throw std::invalid_argument("parts[" + std::to_string(at / 2) + "] are not two ids below " +
                                  std::to_string(ids));
    }
    ++uses[parts[at]];
  }
  return uses;
}

std::uint64_t sum(std::uint64_t count, std::uint64_t more) {
  if (count + more < count) throw std::invalid_argument("counts of parts pass 2**64 - 1");
  return count + more;
}

}  // namespace

std::vector<std::uint32_t> leaf_order(std::span<const std::uint32_t> parts,
                                      std::span<const std::uint64_t> counts,
                                      std::span<const std::uint8_t> removable) {
  const std::size_t ids = counts.size();
  check_length(parts.size(), 2 * ids, "parts");
  check_length(removable.size(), ids, "removable");
  std::vector<std::uint32_t> uses = count_uses(parts, ids);
  std::vector<std::uint64_t> count(counts.begin(), counts.end());
  using Leaf = std::pair<std::uint64_t, std::uint32_t>;  // count, ~id; a leaf's count changes no more
  std::priority_queue<Leaf, std::vector<Leaf>, std::greater<>> leaves;
  const auto add_leaf = [&](std::uint32_t id) {
    if (uses[id] == 0 && removable[id]) leaves.emplace(count[id], ~id);
  };
  for (std::uint32_t id = 0; id < ids; ++id) add_leaf(id);
  std::vector<std::uint32_t> order;
  while (!leaves.empty()) {
    const std::uint32_t id = ~leaves.top().second;
    leaves.pop();
    order.push_back(id);
    const std::uint32_t left = parts[2 * id], right = parts[2 * id + 1];
    if (left == kNever) continue;
    for (const std::uint32_t part : {left, right}) {
      count[part] = sum(count[part], count[id]);
      --uses[part];
    }
    add_leaf(left);
    if (right != left) add_leaf(right);
  }
  return order;
}

}  // namespace pyharness
