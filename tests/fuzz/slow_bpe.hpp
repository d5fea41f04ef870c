// Byte-pair encoding by definition: everything is counted or searched again before every merge. What the fuzz
// targets compare the core with.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/model/merge_model.hpp"
#include "core/training/bpe_trainer.hpp"

namespace pyharness::fuzz {

using Ids = std::vector<std::uint32_t>;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

// Left to right, non-overlapping.
inline Ids merge_pair(const Ids& ids, Pair pair, std::uint32_t result) {
  Ids merged;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    const bool here = at + 1 < ids.size() && Pair(ids[at], ids[at + 1]) == pair;
    merged.push_back(here ? result : ids[at]);
    at += here;
  }
  return merged;
}

// ------------------------------------------------------------------------------------------ encoding

// `find(left, right)` gives (rank, result), kNever for a pair that does not merge: lowest rank, leftmost
// first.
template <class Find>
Ids encode_slowly(Ids ids, Find&& find) {
  for (;;) {
    std::uint32_t best_rank = kNever, result = 0;
    std::size_t best = 0;
    for (std::size_t at = 0; at + 1 < ids.size(); ++at) {
      if (const auto [rank, id] = find(ids[at], ids[at + 1]); rank < best_rank) {
        std::tie(best_rank, result, best) = std::tuple(rank, id, at);
      }
    }
    if (best_rank == kNever) return ids;
    ids[best] = result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

class SlowEncoder {
 public:
  explicit SlowEncoder(const MergeModel& model) : model_(model) {
    for (std::uint32_t rule = 0; model.rules && rule < model.rule_count(); ++rule) {
      const auto row = model.rules->subspan(std::size_t{3} * rule, 3);
      rules_.try_emplace({row[0], row[1]}, rule, row[2]);
    }
    for (std::uint32_t id = 0; model.ranks && id < model.size(); ++id) {
      const std::uint32_t rank = (*model.ranks)[id];
      const auto [entry, added] = ranks_.try_emplace(std::string(model.bytes(id)), rank, id);
      if (!added && rank < entry->second.first) entry->second = {rank, id};
    }
  }

  // Symbols of the ranks form are what they were made from, not the bytes of their id: the same for these
  // models.
  Ids encode(const Ids& base) const {
    return encode_slowly(base, [&](std::uint32_t left, std::uint32_t right) {
      if (model_.rules) return found(rules_, Pair(left, right));
      return found(ranks_, std::string(model_.bytes(left)).append(model_.bytes(right)));
    });
  }

 private:
  using Merge = std::pair<std::uint32_t, std::uint32_t>;  // rank, result
  template <class Key>
  static Merge found(const std::map<Key, Merge>& merges, const Key& key) {
    const auto at = merges.find(key);
    return at == merges.end() ? Merge(kNever, kNever) : at->second;
  }

  const MergeModel& model_;
  std::map<Pair, Merge> rules_;
  std::map<std::string, Merge> ranks_;
};

// ------------------------------------------------------------------------------------------ training

struct SlowPiece {
  Ids ids;
  std::uint64_t weight;
};

class SlowTrainer {
 public:
  std::vector<std::string> tokens;
  std::vector<SlowPiece> pieces;
  std::vector<MergeRule> rules;
  std::vector<std::uint64_t> counts;
  std::set<std::uint32_t> scaffold;

  SlowTrainer(std::vector<std::string> base, std::vector<SlowPiece> text, const TrainingOptions& options)
      : tokens(std::move(base)), pieces(std::move(text)), options_(options), n_base_(tokens.size()) {}

  void train_bpe() {
    while (tokens.size() < options_.vocabulary_size) {
      const auto best = best_pair();
      if (best.count == 0) break;
      merge(best);
    }
  }

  void train_scaffold() {
    while (tokens.size() - scaffold.size() < options_.vocabulary_size) {
      const auto [token_count, token] = best_scaffold();
      const auto best = best_pair();
      if (std::max(token_count, best.count) == 0) break;
      if (token_count >= best.count) {
        scaffold.erase(token);
        continue;
      }
      scaffold.erase(merge(best));
      const std::uint64_t head = std::max(best_scaffold().first, best_pair().count);
      for (const std::uint32_t part : std::set{best.pair.first, best.pair.second}) {
        if (part >= n_base_ && !scaffold.contains(part) && frequency(part) < head) demoted_.push_back(part);
      }
      scaffold.insert(demoted_.begin(), demoted_.end());
      demoted_.clear();
    }
  }

 private:
  struct Candidate {
    Pair pair;
    std::uint64_t count = 0;
    std::size_t place = 0;  // of its first occurrence
  };

  std::uint64_t least() const { return std::max<std::uint64_t>(1, options_.min_frequency); }

  static std::size_t characters_in(std::string_view token) {
    return static_cast<std::size_t>(
        std::count_if(token.begin(), token.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
  }

  Candidate best_pair() const {
    std::map<Pair, Candidate> found;
    std::size_t place = 0;
    for (const SlowPiece& piece : pieces) {
      for (std::size_t at = 0; piece.weight != 0 && at + 1 < piece.ids.size(); ++at, ++place) {
        const Pair pair(piece.ids[at], piece.ids[at + 1]);
        found.try_emplace(pair, Candidate{pair, 0, place}).first->second.count += piece.weight;
      }
    }
    Candidate best;
    for (const auto& [pair, candidate] : found) {
      const std::size_t length = tokens[pair.first].size() + tokens[pair.second].size();
      const std::size_t characters = characters_in(tokens[pair.first]) + characters_in(tokens[pair.second]);
      const bool short_enough =
          (options_.max_token_length == 0 || length <= options_.max_token_length) &&
          (options_.max_token_characters == 0 || characters <= options_.max_token_characters);
      if (candidate.count >= least() && short_enough && (best.count == 0 || goes_before(candidate, best)))
        best = candidate;
    }
    return best;
  }

  // Candidates come in the order of their ids, so what is equal up to here loses.
  bool goes_before(const Candidate& a, const Candidate& b) const {
    if (a.count != b.count) return a.count > b.count;
    switch (options_.tie_rule) {
      case TieRule::kFirstSeen:
        return a.place < b.place;
      case TieRule::kLexicographic:
        return std::tie(tokens[a.pair.first], tokens[a.pair.second]) <
               std::tie(tokens[b.pair.first], tokens[b.pair.second]);
      case TieRule::kSentencePiece:
        return characters_and_bytes(a.pair) < characters_and_bytes(b.pair);
      case TieRule::kSmallestIds:
        break;
    }
    return false;
  }

  std::pair<std::ptrdiff_t, std::string> characters_and_bytes(Pair pair) const {
    const std::string bytes = tokens[pair.first] + tokens[pair.second];
    return {std::count_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0xC0) != 0x80; }),
            bytes};
  }

  std::uint64_t frequency(std::uint32_t token) const {
    std::uint64_t found = 0;
    for (const SlowPiece& piece : pieces)
      found += piece.weight * static_cast<std::uint64_t>(std::ranges::count(piece.ids, token));
    return found;
  }

  std::pair<std::uint64_t, std::uint32_t> best_scaffold() const {
    std::pair<std::uint64_t, std::uint32_t> best(0, 0);
    for (const std::uint32_t token : scaffold) {
      const std::uint64_t count = frequency(token);
      if (count >= least() && count > best.first) best = {count, token};
    }
    return best;
  }

  std::uint32_t merge(const Candidate& best) {
    const std::string bytes = tokens[best.pair.first] + tokens[best.pair.second];
    const auto known = std::ranges::find(tokens, bytes);
    const auto result = static_cast<std::uint32_t>(known - tokens.begin());
    if (known == tokens.end()) tokens.push_back(bytes);
    rules.push_back({best.pair.first, best.pair.second, result});
    counts.push_back(best.count);
    for (SlowPiece& piece : pieces) piece.ids = merge_pair(piece.ids, best.pair, result);
    return result;
  }

  const TrainingOptions& options_;
  std::size_t n_base_;
  std::vector<std::uint32_t> demoted_;
};

}  // namespace pyharness::fuzz
