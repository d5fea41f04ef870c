#include "core/encoding/decoding.hpp"

#include <cstring>
#include <stdexcept>

#include "core/machine/checks.hpp"

namespace pyharness {

std::size_t TokenBytes::decoded_size(std::span<const std::uint32_t> ids) const {
  if (offsets.empty()) throw std::invalid_argument("offsets must hold at least one value");
  check_ids(ids, offsets.size() - 1, "ids");
  std::size_t size = 0;
  for (const std::uint32_t id : ids) {
    const std::int64_t begin = offsets[id], end = offsets[id + 1];
    if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > data.size())
      throw std::invalid_argument("the offsets of token " + std::to_string(id) + " do not fit its data");
    size += static_cast<std::size_t>(end - begin);
  }
  return size;
}

void TokenBytes::decode(std::span<const std::uint32_t> ids, std::span<char> out) const {
  // Most tokens are short, and a copy of a known size is a load and a store.
  constexpr std::size_t kShort = 16;
  std::size_t at = 0;
  for (const std::uint32_t id : ids) {
    const auto begin = static_cast<std::size_t>(offsets[id]);
    const std::size_t length = static_cast<std::size_t>(offsets[id + 1]) - begin;
    if (length <= kShort && out.size() - at >= kShort && data.size() - begin >= kShort) {
      std::memcpy(out.data() + at, data.data() + begin, kShort);
    } else if (length > 0) {
      std::memcpy(out.data() + at, data.data() + begin, length);
    }
    at += length;
  }
}

}  // namespace pyharness
