// Merge models that own their arrays.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/merge_model.hpp"
#include "core/training/bpe_trainer.hpp"

namespace pyharness::fuzz {

class OwnedModel {
 public:
  // `bytes` of every id; `base` of every id, whose symbols are atomic. Rules are rows of three ids.
  static OwnedModel with_rules(const std::vector<std::string>& bytes,
                               const std::vector<std::vector<std::uint32_t>>& base,
                               std::vector<std::uint32_t> rules) {
    OwnedModel model(bytes, base);
    model.rules_ = std::move(rules);
    model.view_.rules = model.rules_;
    return model;
  }
  static OwnedModel with_ranks(const std::vector<std::string>& bytes,
                               const std::vector<std::vector<std::uint32_t>>& base,
                               std::vector<std::uint32_t> ranks) {
    OwnedModel model(bytes, base);
    model.ranks_ = std::move(ranks);
    model.view_.ranks = model.ranks_;
    return model;
  }
  OwnedModel(OwnedModel&&) = default;
  OwnedModel(const OwnedModel&) = delete;
  OwnedModel& operator=(const OwnedModel&) = delete;

  const MergeModel& view() const { return view_; }

  // The atomic ids of the bytes of a piece; bytes without one are left out.
  std::vector<std::uint32_t> base_of(std::string_view piece) const {
    std::vector<std::uint32_t> ids;
    for (const char byte : piece) {
      const auto at = std::ranges::find(atoms_, std::string_view(&byte, 1), &Atom::bytes);
      if (at != atoms_.end()) ids.push_back(at->id);
    }
    return ids;
  }

 private:
  struct Atom {
    std::string_view bytes;
    std::uint32_t id;
  };

  OwnedModel(const std::vector<std::string>& bytes, const std::vector<std::vector<std::uint32_t>>& base)
      : tested_(bytes.size(), 1), atomic_(bytes.size()) {
    for (std::size_t id = 0; id < bytes.size(); ++id) {
      data_.insert(data_.end(), bytes[id].begin(), bytes[id].end());
      offsets_.push_back(static_cast<std::int64_t>(data_.size()));
      base_.insert(base_.end(), base[id].begin(), base[id].end());
      base_offsets_.push_back(static_cast<std::int64_t>(base_.size()));
    }
    for (const std::uint32_t symbol : base_) atomic_[symbol] = 1;
    view_ = {data_, offsets_, base_, base_offsets_, tested_, atomic_, {}, {}};
    for (std::uint32_t id = 0; id < bytes.size(); ++id) {
      if (atomic_[id]) atoms_.push_back({view_.bytes(id), id});
    }
  }

  // Vectors keep their memory when they are moved, so the view stays good.
  std::vector<std::uint8_t> data_;
  std::vector<std::int64_t> offsets_{0};
  std::vector<std::uint32_t> base_;
  std::vector<std::int64_t> base_offsets_{0};
  std::vector<std::uint8_t> tested_, atomic_;
  std::vector<std::uint32_t> rules_, ranks_;
  std::vector<Atom> atoms_;
  MergeModel view_;
};

inline OwnedModel model_of(const TrainedBpe& trained, std::size_t n_base) {
  std::vector<std::string> bytes;
  std::vector<std::vector<std::uint32_t>> base;
  for (std::uint32_t id = 0; id < trained.tokens.size(); ++id) {
    bytes.emplace_back(trained.tokens[id]);
    base.push_back(id < n_base ? std::vector<std::uint32_t>{id} : std::vector<std::uint32_t>{});
  }
  std::vector<std::uint32_t> rules;
  for (const MergeRule& rule : trained.rules) {
    rules.insert(rules.end(), {rule.left, rule.right, rule.result});
    if (base[rule.result].empty()) {  // the first rule that makes a token says what it is made of
      base[rule.result] = base[rule.left];
      base[rule.result].insert(base[rule.result].end(), base[rule.right].begin(), base[rule.right].end());
    }
  }
  return OwnedModel::with_rules(bytes, base, std::move(rules));
}

}  // namespace pyharness::fuzz
