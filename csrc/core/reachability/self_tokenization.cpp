#include "core/reachability/self_tokenization.hpp"

#include <algorithm>

#include "core/machine/parallel.hpp"
#include "core/reachability/merge_graph.hpp"

namespace pyharness {
namespace {

struct Failures {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> witness_ids;
  std::vector<std::size_t> witness_lengths;
};

// Cuts the ids into shares with equal numbers of base symbols: the work goes with the symbols, not with the
// tokens.
std::size_t cut_by_symbols(const MergeModel& model, int worker, int workers) {
  if (worker == workers) return model.size();
  const auto target = static_cast<std::int64_t>(share_begin(model.base.size(), worker, workers));
  const auto at = std::lower_bound(model.base_offsets.begin(), model.base_offsets.end() - 1, target);
  return worker == 0 ? 0 : static_cast<std::size_t>(at - model.base_offsets.begin());
}

Failures test_range(const BpeEncoder& encoder, std::size_t begin, std::size_t end, SelfTokenization& result) {
  const MergeModel& model = encoder.model();
  EncodingWorkspace workspace;
  Failures failures;
  constexpr std::size_t kAhead = 4;
  for (std::size_t id = begin; id < end; ++id) {
    if (id + kAhead < end) encoder.prefetch(id + kAhead);
    if (!model.tested[id]) continue;
    const auto ids = encoder.encode(model.base_of(id), workspace);
    if (ids.size() == 1 && ids[0] == id) {
      result.verdict[id] = Verdict::kReachable;
      if (model.base_of(id).size() > 1) {
        result.parts[2 * id] = workspace.last_left;
        result.parts[2 * id + 1] = workspace.last_right;
      }
      continue;
    }
    result.verdict[id] = Verdict::kModel;
    failures.ids.push_back(static_cast<std::uint32_t>(id));
    failures.witness_ids.insert(failures.witness_ids.end(), ids.begin(), ids.end());
    failures.witness_lengths.push_back(ids.size());
  }
  return failures;
}

void append(SelfTokenization& result, const Failures& failures) {
  EncodedBatch& witnesses = result.witnesses;
  result.failed.insert(result.failed.end(), failures.ids.begin(), failures.ids.end());
  witnesses.ids.insert(witnesses.ids.end(), failures.witness_ids.begin(), failures.witness_ids.end());
  for (const std::size_t length : failures.witness_lengths) {
    witnesses.offsets.push_back(witnesses.offsets.back() + static_cast<std::int64_t>(length));
  }
}

}  // namespace

SelfTokenization self_tokenization(const MergeModel& model, int threads) {
  check_threads(threads);
  const BpeEncoder encoder(model);
  SelfTokenization result;
  result.verdict.resize(model.size(), Verdict::kNotTested);
  result.parts.resize(2 * model.size(), kNever);
  result.witnesses.offsets.push_back(0);
  std::vector<Failures> failures(static_cast<std::size_t>(threads));
  run_on_threads(threads, [&](int worker) {
    failures[static_cast<std::size_t>(worker)] = test_range(
        encoder, cut_by_symbols(model, worker, threads), cut_by_symbols(model, worker + 1, threads), result);
  });
  for (const Failures& share : failures) append(result, share);
  if (result.failed.empty()) return result;
  const MergeGraph graph = merge_graph(model);
  for (const std::uint32_t id : result.failed) {
    if (!graph.derivable[id]) result.verdict[id] = Verdict::kUnderivable;
  }
  return result;
}

}  // namespace pyharness
