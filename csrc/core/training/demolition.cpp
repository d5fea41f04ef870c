#include "core/training/demolition.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/machine/checks.hpp"

namespace pyharness {
namespace {

void append(Demolition& done, std::uint32_t token) {
  const auto begin = static_cast<std::size_t>(done.offsets[token]);
  const auto end = static_cast<std::size_t>(done.offsets[token + 1]);
  for (std::size_t at = begin; at < end; ++at) done.ids.push_back(done.ids[at]);
}

// The first rule that makes a token says what its parts are.
std::vector<const MergeRule*> first_rules(std::span<const MergeRule> rules, std::size_t n_tokens) {
  std::vector<const MergeRule*> made_by(n_tokens, nullptr);
  for (const MergeRule& rule : rules) {
    const std::uint32_t ids[] = {rule.left, rule.right, rule.result};
    check_ids(ids, n_tokens, "rules");
    if (made_by[rule.result] == nullptr) made_by[rule.result] = &rule;
  }
  return made_by;
}

void append_parts(Demolition& done, const MergeRule* rule, std::uint32_t token) {
  if (rule == nullptr || rule->left >= token || rule->right >= token) {
    throw std::invalid_argument("scaffold token " + std::to_string(token) + " is made of no earlier tokens");
  }
  append(done, rule->left);
  append(done, rule->right);
}

// Fewest normal tokens for `bytes`, smallest ids among equals. Built from the right, so that comparing the
// heads of two equally long answers decides between them.
class ShortestSplit {
 public:
  ShortestSplit(const TokenStrings& tokens, std::span<const std::uint8_t> scaffold)
      : tokens_(tokens), scaffold_(scaffold) {}

  void append(std::string_view bytes, std::vector<std::uint32_t>& ids) {
    const std::size_t length = bytes.size();
    best_.assign(length + 1, {});
    best_[length].count = 0;
    for (std::size_t begin = length; begin-- > 0;) {
      for (std::size_t end = begin + 1; end <= length; ++end) consider(bytes, begin, end);
    }
    if (best_[0].count == kUnreachable) {
      throw std::invalid_argument("the normal tokens cannot spell scaffold token '" + std::string(bytes) +
                                  "'");
    }
    for (std::size_t at = 0; at < length; at = best_[at].end) ids.push_back(best_[at].token);
  }

 private:
  static constexpr std::size_t kUnreachable = ~std::size_t{0};
  struct Step {
    std::size_t count = kUnreachable;  // tokens from here to the end
    std::uint32_t token = 0;
    std::size_t end = 0;
  };

  void consider(std::string_view bytes, std::size_t begin, std::size_t end) {
    if (best_[end].count == kUnreachable) return;
    const std::uint32_t token = tokens_.find(bytes.substr(begin, end - begin));
    if (token == TokenStrings::kNone || scaffold_[token]) return;
    const std::size_t count = best_[end].count + 1;
    Step& best = best_[begin];
    // Two tokens that start at one byte differ in length, so in id: the rest need not be compared.
    if (count < best.count || (count == best.count && token < best.token)) best = {count, token, end};
  }

  const TokenStrings& tokens_;
  std::span<const std::uint8_t> scaffold_;
  std::vector<Step> best_;
};

}  // namespace

Demolition demolition(const TokenStrings& tokens, std::span<const MergeRule> rules,
                      std::span<const std::uint8_t> scaffold, DemolitionRule rule) {
  check_length(scaffold.size(), tokens.size(), "scaffold");
  const auto made_by = first_rules(rules, tokens.size());
  ShortestSplit shortest(tokens, scaffold);
  Demolition done;
  done.offsets.push_back(0);
  for (std::uint32_t token = 0; token < tokens.size(); ++token) {
    if (!scaffold[token]) {
      done.ids.push_back(token);
    } else if (rule == DemolitionRule::kEquation6) {
      append_parts(done, made_by[token], token);
    } else {
      shortest.append(tokens[token], done.ids);
    }
    done.offsets.push_back(static_cast<std::int64_t>(done.ids.size()));
  }
  return done;
}

}  // namespace pyharness
