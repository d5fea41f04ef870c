#include "core/curriculum/fixpoint_encoder.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/encoding/byte_trie.hpp"
#include "core/machine/checks.hpp"
#include "core/machine/parallel.hpp"

namespace pyharness::curriculum {
namespace {

constexpr std::size_t kFewestSymbols = 1 << 14;  // of a thread: starting one takes about as long

void check_size(std::span<const std::string_view> strings) {
  std::uint64_t bytes = 0;
  for (const std::string_view string : strings) bytes += string.size();
  if (bytes >= kNever || strings.size() >= kNever)
    throw std::length_error("the strings have " + std::to_string(bytes) + " bytes, which is too much");
}

// Number of the string that each beginning of `text` is, by its length; kNone where it is none.
void find_beginnings(const ByteTrie& trie, std::string_view text, std::vector<std::uint32_t>& numbers) {
  numbers.assign(text.size() + 1, ByteTrie::kNone);
  trie.for_each_beginning(text, [&](std::size_t length, std::uint32_t number) { numbers[length] = number; });
}

// Left, right and what they join to, end to end.
std::vector<std::uint32_t> rules_of(std::span<const std::string_view> strings) {
  check_size(strings);
  std::vector<std::string> reversed;
  reversed.reserve(strings.size());
  for (const std::string_view string : strings) reversed.emplace_back(string.rbegin(), string.rend());
  const std::vector<std::string_view> backward(reversed.begin(), reversed.end());
  const ByteTrie beginnings(strings), ends(backward);
  std::vector<std::uint32_t> rules, left, right;
  for (std::size_t id = 0; id < strings.size(); ++id) {
    const std::size_t size = strings[id].size();
    find_beginnings(beginnings, strings[id], left);
    find_beginnings(ends, backward[id], right);
    for (std::size_t length = 1; length < size; ++length)
      if (left[length] != ByteTrie::kNone && right[size - length] != ByteTrie::kNone)
        rules.insert(rules.end(), {left[length], right[size - length], static_cast<std::uint32_t>(id)});
  }
  return rules;
}

// First document of the share of `worker`: shares have about the same number of symbols.
std::size_t first_document(std::span<const std::int64_t> offsets, int worker, int workers) {
  if (worker == workers) return offsets.size() - 1;
  const auto begin = share_begin(static_cast<std::size_t>(offsets.back()), worker, workers);
  return static_cast<std::size_t>(
      std::lower_bound(offsets.begin(), offsets.end() - 1, static_cast<std::int64_t>(begin)) -
      offsets.begin());
}

}  // namespace

FixpointEncoder::FixpointEncoder(std::span<const std::string_view> strings) : joins_(rules_of(strings)) {}

template <class Id>
Encoded FixpointEncoder::encode(std::span<const Id> symbols, std::span<const std::int64_t> offsets,
                                int threads) const {
  check_threads(threads);
  check_offsets(offsets, symbols.size(), "offsets");
  const int workers =
      static_cast<int>(std::min(static_cast<std::size_t>(threads), symbols.size() / kFewestSymbols + 1));
  Encoded encoded{{}, std::vector<std::int64_t>(offsets.size())};
  std::vector<IdBuffer> shares(static_cast<std::size_t>(workers));
  run_on_threads(workers, [&](int worker) {
    IdBuffer& ids = shares[static_cast<std::size_t>(worker)];
    const std::size_t end = first_document(offsets, worker + 1, workers);
    for (std::size_t d = first_document(offsets, worker, workers); d < end; ++d) {
      const auto begin = static_cast<std::size_t>(offsets[d]);
      const auto document = symbols.subspan(begin, static_cast<std::size_t>(offsets[d + 1]) - begin);
      std::uint32_t* const room = ids.room(document.size());
      std::uint32_t* const last = encode_document(document, room);
      ids.set_end(last);
      encoded.offsets[d + 1] = last - room;
    }
  });
  std::partial_sum(encoded.offsets.begin(), encoded.offsets.end(), encoded.offsets.begin());
  encoded.ids = std::move(shares[0]);
  for (std::size_t share = 1; share < shares.size(); ++share) encoded.ids.append(shares[share].ids());
  encoded.ids.shrink();
  return encoded;
}

template Encoded FixpointEncoder::encode(std::span<const std::uint8_t>, std::span<const std::int64_t>,
                                         int) const;
template Encoded FixpointEncoder::encode(std::span<const std::uint32_t>, std::span<const std::int64_t>,
                                         int) const;

template <class Id>
std::uint32_t* FixpointEncoder::encode_document(std::span<const Id> symbols, std::uint32_t* out) const {
  std::uint32_t* const bottom = out;
  for (std::size_t i = 0; i < symbols.size();) {
    std::uint32_t token = symbols[i++];
    for (bool grew = false;;) {
      for (; i < symbols.size(); ++i, grew = true) {
        const std::uint32_t joined = joins_.find(token, symbols[i]).id;
        if (joined == kNever) break;
        token = joined;
      }
      if (!grew || out == bottom) break;
      const std::uint32_t joined = joins_.find(out[-1], token).id;
      if (joined == kNever) break;
      token = joined;
      --out;
    }
    *out++ = token;
  }
  return out;
}

}  // namespace pyharness::curriculum
