#include "core/reachability/merge_graph.hpp"

#include <numeric>
#include <stdexcept>

#include "core/model/rule_table.hpp"
#include "core/model/symbol_table.hpp"

namespace pyharness {
namespace {

struct Rule {
  std::uint32_t left, right, result;
};

// Rules in the ranks form, found by trying every split.
class Splitter {
 public:
  explicit Splitter(const MergeModel& model) : model_(model), table_(model), user_of_(model.size()) {
    std::iota(user_of_.begin(), user_of_.end(), 0u);
    for (std::size_t id = model.size(); id-- > 0;) {
      const auto same = table_.find(model.bytes(id));
      if (model.atomic[id] && same.id != kNever) user_of_[same.id] = static_cast<std::uint32_t>(id);
    }
    // An atomic id stands for itself: a twin must not take over its uses.
    for (std::uint32_t id = 0; id < model.size(); ++id) {
      if (model.atomic[id] && table_.find(model.bytes(id)).id == id) user_of_[id] = id;
    }
  }

  std::vector<Rule> rules() const {
    std::vector<Rule> rules;
    for (std::uint32_t id = 0; id < model_.size(); ++id) {
      const bool produced = (*model_.ranks)[id] != kNever && table_.find(model_.bytes(id)).id == id;
      if (produced && spelled_by_base(id)) append_splits(id, rules);
    }
    return rules;
  }

 private:
  bool spelled_by_base(std::uint32_t id) const {
    std::string_view rest = model_.bytes(id);
    for (const std::uint32_t symbol : model_.base_of(id)) {
      const std::string_view part = model_.bytes(symbol);
      if (!rest.starts_with(part)) return false;
      rest.remove_prefix(part.size());
    }
    return rest.empty();
  }

  void append_splits(std::uint32_t id, std::vector<Rule>& rules) const {
    const std::string_view bytes = model_.bytes(id);
    std::size_t cut = 0;
    for (const std::uint32_t symbol : model_.base_of(id)) {
      const std::size_t length = model_.bytes(symbol).size();
      cut += length;
      if (length == 0 || cut == bytes.size()) continue;
      const auto left = table_.find(bytes.substr(0, cut));
      if (left.id == kNever) continue;
      const auto right = table_.find(bytes.substr(cut));
      if (right.id != kNever) rules.push_back({user_of_[left.id], user_of_[right.id], id});
    }
  }

  const MergeModel& model_;
  SymbolTable table_;
  std::vector<std::uint32_t> user_of_;  // id found for some bytes -> the id that merges use for them
};

std::vector<Rule> listed_rules(const MergeModel& model, MergeGraph& graph) {
  const RuleTable table(model);
  std::vector<Rule> rules;
  rules.reserve(model.rule_count());
  for (std::size_t row = 0; row < model.rule_count(); ++row) {
    const std::uint32_t* rule = model.rules->data() + 3 * row;
    if (table.find(rule[0], rule[1]).rank == row) {
      rules.push_back({rule[0], rule[1], rule[2]});
    } else {
      graph.shadowed_rules.push_back(static_cast<std::int64_t>(row));
    }
  }
  return rules;
}

void count_uses(const std::vector<Rule>& rules, MergeGraph& graph) {
  for (const Rule& rule : rules) {
    ++graph.derivations[rule.result];
    ++graph.children[rule.left];
    if (rule.right != rule.left) ++graph.children[rule.right];
  }
}

// The rules that use each id: rules_of[begin[id]:begin[id + 1]].
struct Uses {
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> rules_of;
};

Uses index_uses(const std::vector<Rule>& rules, const std::vector<std::int64_t>& children) {
  Uses uses{std::vector<std::size_t>(children.size() + 1), {}};
  for (std::size_t id = 0; id < children.size(); ++id) {
    uses.begin[id + 1] = uses.begin[id] + static_cast<std::size_t>(children[id]);
  }
  uses.rules_of.resize(uses.begin.back());
  std::vector<std::size_t> at(uses.begin.begin(), uses.begin.end() - 1);
  for (std::uint32_t r = 0; r < rules.size(); ++r) {
    uses.rules_of[at[rules[r].left]++] = r;
    if (rules[r].right != rules[r].left) uses.rules_of[at[rules[r].right]++] = r;
  }
  return uses;
}

// Ids leave the queue in order of depth, so the rule that completes first gives the least depth; every rule
// completes at most once, so cycles end.
void derive(const MergeModel& model, const std::vector<Rule>& rules, MergeGraph& graph) {
  const Uses uses = index_uses(rules, graph.children);
  std::vector<std::uint8_t> missing(rules.size());
  for (std::size_t r = 0; r < rules.size(); ++r) missing[r] = rules[r].left == rules[r].right ? 1 : 2;
  std::vector<std::uint32_t> queue;
  queue.reserve(model.size());
  for (std::uint32_t id = 0; id < model.size(); ++id) {
    if (!model.atomic[id]) continue;
    graph.depth[id] = 0;
    queue.push_back(id);
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t part = queue[head];
    for (std::size_t at = uses.begin[part]; at < uses.begin[part + 1]; ++at) {
      const std::uint32_t r = uses.rules_of[at];
      const std::uint32_t result = rules[r].result;
      if (--missing[r] > 0 || graph.depth[result] >= 0) continue;
      graph.depth[result] = graph.depth[part] + 1;
      queue.push_back(result);
    }
  }
  for (const std::uint32_t id : queue) graph.derivable[id] = 1;
}

void list_orphans(const MergeModel& model, MergeGraph& graph) {
  for (std::size_t row = 0; row < model.rule_count(); ++row) {
    const std::uint32_t* rule = model.rules->data() + 3 * row;
    if (!graph.derivable[rule[0]] || !graph.derivable[rule[1]]) {
      graph.orphan_rules.push_back(static_cast<std::int64_t>(row));
    }
  }
}

}  // namespace

MergeGraph merge_graph(const MergeModel& model) {
  model.check();
  const std::size_t n = model.size();
  MergeGraph graph;
  graph.derivable.resize(n);
  graph.depth.assign(n, -1);
  graph.children.resize(n);
  graph.derivations.resize(n);
  const std::vector<Rule> rules = model.rules ? listed_rules(model, graph) : Splitter(model).rules();
  if (rules.size() >= kNever) throw std::invalid_argument("the splits of this vocabulary exceed 2**32");
  graph.rule_count = static_cast<std::int64_t>(rules.size());
  count_uses(rules, graph);
  derive(model, rules, graph);
  if (model.rules) list_orphans(model, graph);
  for (std::uint32_t id = 0; id < n; ++id) {
    if (graph.derivations[id] > 1) graph.duplicates.push_back(id);
  }
  return graph;
}

}  // namespace pyharness
