// The encoder of the vocabulary curriculum: a token takes in what follows while the strings join to a string
// of the vocabulary; then the scan steps back by one.
//
// Two neighbours that join are a rule: the pair, and the id of what they spell. What is left of the scan
// joins with nothing, so that the scan is a stack: a new token takes in what follows; when it grew, the top
// of the stack is tried with it, and if they join, it goes on from there. Nothing else has to be looked at
// again, because a token that did not grow is the one that the top of the stack has just refused. Every step
// either removes a token or moves one onto the stack: linear time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/encoding/id_buffer.hpp"
#include "core/model/rule_table.hpp"

namespace pyharness::curriculum {

struct Encoded {
  IdBuffer ids;
  std::vector<std::int64_t> offsets;
};

class FixpointEncoder {
 public:
  // Id i is strings[i]. Empty strings join with nothing; of equal ones the first counts. Memory grows with
  // the bytes of all strings. Throws std::length_error for 2**32 of them or more.
  explicit FixpointEncoder(std::span<const std::string_view> strings);

  // Nothing crosses the end of a document, and ids that are no string join with nothing. Threads do not
  // change the result. Throws std::invalid_argument for offsets that do not fit.
  template <class Id>
  Encoded encode(std::span<const Id> symbols, std::span<const std::int64_t> offsets, int threads) const;

 private:
  template <class Id>
  std::uint32_t* encode_document(std::span<const Id> symbols, std::uint32_t* out) const;

  RuleTable joins_;
};

}  // namespace pyharness::curriculum
