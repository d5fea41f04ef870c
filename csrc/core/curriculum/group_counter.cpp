#include "core/curriculum/group_counter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"

namespace pyharness::curriculum {
namespace {

constexpr std::size_t kFewestIds = 1 << 14;  // of a thread: starting one takes about as long

void check_signal(std::span<const double> signal) {
  for (std::size_t i = 0; i < signal.size(); ++i)
    if (std::isnan(signal[i]))
      throw std::invalid_argument("signal[" + std::to_string(i) + "] is not a number");
}

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

}  // namespace

// Groups of one thread that wait for their slots.
class GroupCounter::Pending {
 public:
  Pending(GroupCounter& counter, int worker, int workers) : counter_(counter) {
    for (int table = 0; table < kTables; ++table)
      own_[static_cast<std::size_t>(table)] = table % workers == worker;
  }

  template <class Id>
  void count(std::span<const Id> ids, std::span<const double> signal, std::span<const std::int64_t> offsets) {
    std::array<std::span<const Id>, kAhead> groups;
    for (std::size_t d = 0; d + 1 < offsets.size(); ++d) {
      const auto begin = static_cast<std::size_t>(offsets[d]);
      const std::size_t length = static_cast<std::size_t>(offsets[d + 1]) - begin;
      const std::span<const Id> document = ids.subspan(begin, length);
      for_each_group(document, signal.subspan(begin, length), counter_.rule_, scratch_,
                     [&](std::size_t first, std::size_t end) {
                       groups[size_] = document.subspan(first, end - first);
                       hashes_[size_] = hash_of(groups[size_]);
                       // Without a branch: whose group it is, nobody can predict.
                       size_ += own_[hashes_[size_] >> kTableShift];
                       if (size_ == kAhead) [[unlikely]]
                         flush<Id>(groups);
                     });
    }
    flush<Id>(groups);
  }

 private:
  static constexpr std::size_t kAhead = 32;  // slots that are fetched before they are needed
  static constexpr int kTableShift = 64 - std::countr_zero(static_cast<unsigned>(kTables));

  template <class Id>
  void flush(std::span<const std::span<const Id>> groups) {
    for (std::size_t i = 0; i < size_; ++i) table(i).prefetch_slot(hashes_[i]);
    for (std::size_t i = 0; i < size_; ++i) table(i).prefetch_ids(hashes_[i]);
    for (std::size_t i = 0; i < size_; ++i)
      table(i).add(groups[i], hashes_[i], [this](std::size_t bytes) { counter_.take(bytes); });
    size_ = 0;
  }

  GroupTable& table(std::size_t i) { return counter_.tables_[hashes_[i] >> kTableShift]; }

  GroupCounter& counter_;
  std::array<std::uint8_t, kTables> own_;
  std::array<std::uint64_t, kAhead> hashes_;
  std::size_t size_ = 0;
  std::vector<double> scratch_;
};

GroupCounter::GroupCounter(const GroupRule& rule, std::size_t max_bytes)
    : rule_(rule), max_bytes_(max_bytes) {
  if (!(rule.epsilon > 0)) throw std::invalid_argument("epsilon must be above 0");
  if (rule.row_quantile && !(*rule.row_quantile >= 0 && *rule.row_quantile <= 1))
    throw std::invalid_argument("row_quantile must be in 0..1");
}

template <class Id>
void GroupCounter::add(std::span<const Id> ids, std::span<const double> signal,
                       std::span<const std::int64_t> offsets, int threads) {
  check_threads(threads);
  check_offsets(offsets, ids.size(), "offsets");
  check_length(signal.size(), ids.size(), "signal");
  check_signal(signal);
  const auto most = std::min(static_cast<std::size_t>(kTables), ids.size() / kFewestIds + 1);
  const int workers = std::min(threads, static_cast<int>(most));
  run_on_threads(workers, [&](int worker) { Pending(*this, worker, workers).count(ids, signal, offsets); });
}

template void GroupCounter::add(std::span<const std::uint8_t>, std::span<const double>,
                                std::span<const std::int64_t>, int);
template void GroupCounter::add(std::span<const std::uint32_t>, std::span<const double>,
                                std::span<const std::int64_t>, int);

std::uint64_t GroupCounter::distinct() const {
  std::uint64_t sum = 0;
  for (const GroupTable& table : tables_) sum += table.size();
  return sum;
}

std::uint64_t GroupCounter::total() const {
  std::uint64_t sum = 0;
  for (const GroupTable& table : tables_)
    for (const GroupTable::Row& row : table.rows()) sum += row.count;
  return sum;
}

Groups GroupCounter::first(std::size_t most, std::optional<std::uint64_t> seed) const {
  std::vector<Candidate> all;
  all.reserve(distinct());
  for (const GroupTable& table : tables_)
    for (const GroupTable::Row& row : table.rows())
      if (row.count != 0)
        all.push_back({seed ? mixed(row.hash ^ mixed(*seed)) : row.count, row.count, table.ids(row)});
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), end, all.end(), [](const Candidate& left, const Candidate& right) {
    if (left.key != right.key) return left.key > right.key;
    if (left.ids.size() != right.ids.size()) return left.ids.size() > right.ids.size();
    return std::lexicographical_compare(left.ids.begin(), left.ids.end(), right.ids.begin(), right.ids.end());
  });
  Groups groups{{}, {0}, {}};
  for (auto group = all.begin(); group != end; ++group) {
    groups.ids.insert(groups.ids.end(), group->ids.begin(), group->ids.end());
    groups.offsets.push_back(static_cast<std::int64_t>(groups.ids.size()));
    groups.counts.push_back(group->count);
  }
  return groups;
}

void GroupCounter::take(std::size_t bytes) {
  if (taken_ += bytes; taken_ > max_bytes_)
    throw std::length_error("the distinct groups take more than " + std::to_string(max_bytes_) + " bytes");
}

}  // namespace pyharness::curriculum
