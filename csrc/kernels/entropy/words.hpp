// Rows of logits as the aligned words of 16 bytes that hold them. A row need not be aligned: its first and
// its last word then hold logits of its neighbours, which are masked. So no row has edges that are read
// apart, and waited for apart.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/exec.hpp"

namespace pyharness::kernels {

// ---- 16 bytes of logits

template <class Logit>
constexpr int kPerLoad = 16 / static_cast<int>(sizeof(Logit));

PH_DEVICE void unpack(const uint4& bits, float (&x)[4], float) {
  const unsigned parts[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = __uint_as_float(parts[i]);
}

template <class Half>
PH_DEVICE void unpack(const uint4& bits, float (&x)[8], Half) {
  const unsigned parts[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) ph_float2(parts[i], Half{}, x[2 * i], x[2 * i + 1]);
}

PH_DEVICE float largest_of(const uint4& bits, float) {
  float x[4];
  unpack(bits, x, float{});
  return fmaxf(fmaxf(x[0], x[1]), fmaxf(x[2], x[3]));
}

// Two at a time, before they are unpacked; a number wins over NaN.
template <class Half>
PH_DEVICE unsigned largest_pair(const uint4& bits, Half half) {
  return ph_max2(ph_max2(bits.x, bits.y, half), ph_max2(bits.z, bits.w, half), half);
}
template <class Half>
PH_DEVICE float larger_of(unsigned pair, Half half) {
  float first;
  float second;
  ph_float2(pair, half, first, second);
  return fmaxf(first, second);
}
template <class Half>
PH_DEVICE float largest_of(const uint4& bits, Half half) {
  return larger_of(largest_pair(bits, half), half);
}

template <int kLoads>
PH_DEVICE float largest_of(const uint4 (&bits)[kLoads], float) {
  float largest = largest_of(bits[0], float{});
#pragma unroll
  for (int k = 1; k < kLoads; ++k) largest = fmaxf(largest, largest_of(bits[k], float{}));
  return largest;
}
template <class Half, int kLoads>
PH_DEVICE float largest_of(const uint4 (&bits)[kLoads], Half half) {
  unsigned pair = largest_pair(bits[0], half);
#pragma unroll
  for (int k = 1; k < kLoads; ++k) pair = ph_max2(pair, largest_pair(bits[k], half), half);
  return larger_of(pair, half);
}

// 4 bytes of -inf, which adds nothing.
PH_DEVICE unsigned nothing_of(float) { return 0xff800000u; }
PH_DEVICE unsigned nothing_of(ph_bf16) { return 0xff80ff80u; }
PH_DEVICE unsigned nothing_of(ph_half) { return 0xfc00fc00u; }

template <class Logit>
PH_DEVICE uint4 nothing() {
  const unsigned part = nothing_of(Logit{});
  return {part, part, part, part};
}

// A word with -inf in place of its bits before `first`, or from `first` on.
template <class Logit>
PH_DEVICE uint4 masked_before(const uint4& bits, int first) {
  const unsigned nothing = nothing_of(Logit{});
  const auto pick = [=](unsigned part, int from) {
    const unsigned kept = ph_ones_from(first - from);
    return (part & kept) | (nothing & ~kept);
  };
  return {pick(bits.x, 0), pick(bits.y, 32), pick(bits.z, 64), pick(bits.w, 96)};
}
template <class Logit>
PH_DEVICE uint4 masked_from(const uint4& bits, int first) {
  const unsigned nothing = nothing_of(Logit{});
  const auto pick = [=](unsigned part, int from) {
    const unsigned masked = ph_ones_from(first - from);
    return (part & ~masked) | (nothing & masked);
  };
  return {pick(bits.x, 0), pick(bits.y, 32), pick(bits.z, 64), pick(bits.w, 96)};
}

// A word logit by logit: only those in [first, last) are read, and -inf stands for the others.
template <class Logit>
PH_DEVICE uint4 read_singly(const uint4* word, int first, int last) {
  using Bits = std::conditional_t<sizeof(Logit) == 4, unsigned, std::uint16_t>;
  constexpr int kPerPart = kPerLoad<Logit> / 4;
  const auto* const logits = reinterpret_cast<const Bits*>(word);
  unsigned parts[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    parts[i] = 0;
#pragma unroll
    for (int k = 0; k < kPerPart; ++k) {
      const int at = i * kPerPart + k;
      const Bits bits =
          first <= at && at < last ? __ldg(logits + at) : static_cast<Bits>(nothing_of(Logit{}));
      parts[i] |= static_cast<unsigned>(bits) << (k * 16);
    }
  }
  return {parts[0], parts[1], parts[2], parts[3]};
}

// ---- rows

// The memory of all rows: what is read lies within it.
struct Extent {
  const char* begin;
  const char* end;
};

// Words of a row.
struct Words {
  const uint4* first;
  int count;
  int column;      // of the first word's first logit: negative where the row begins later in the word
  unsigned edges;  // small numbers in one register

  // Logits of the first word that come before the row, and of the last word that are the row's.
  PH_DEVICE int head() const { return static_cast<int>(edges & 15u); }
  PH_DEVICE int tail() const { return static_cast<int>(edges >> 4 & 15u); }
  // Whether whole_words() left out a word before or after these.
  PH_DEVICE bool has_word_before() const { return (edges & 1u << 8) != 0; }
  PH_DEVICE bool has_word_after() const { return (edges & 1u << 9) != 0; }
};

// All of them. Unsigned, for up to 2^31 - 1 columns and what they are rounded up to.
template <class Logit>
PH_DEVICE Words words_of(const Logit* row, std::int64_t columns) {
  const auto address = reinterpret_cast<std::uintptr_t>(row);
  const unsigned head = static_cast<unsigned>(address % 16 / sizeof(Logit));
  const unsigned end = head + static_cast<unsigned>(columns);
  const unsigned tail = (end - 1) % kPerLoad<Logit> + 1;
  return {reinterpret_cast<const uint4*>(address - address % 16),
          static_cast<int>((end + kPerLoad<Logit> - 1) / kPerLoad<Logit>), -static_cast<int>(head),
          head | tail << 4};
}

// The column of a word's first logit. In unsigned: a word past the last may start at column 2^31.
template <class Logit>
PH_DEVICE int column_of(const Words& words, int word) {
  return static_cast<int>(static_cast<unsigned>(words.column) +
                          static_cast<unsigned>(word) * kPerLoad<Logit>);
}

template <class Logit>
PH_DEVICE const Logit* row_of(const Words& words) {
  return reinterpret_cast<const Logit*>(words.first) - words.column;
}

PH_DEVICE bool begins_within(const Words& words, const Extent& memory) {
  return reinterpret_cast<const char*>(words.first) >= memory.begin;
}
PH_DEVICE bool ends_within(const Words& words, const Extent& memory) {
  return reinterpret_cast<const char*>(words.first + words.count) <= memory.end;
}

PH_DEVICE bool lies_within(const Words& words, const Extent& memory) {
  return begins_within(words, memory) && ends_within(words, memory);
}

// Those that can be read whole. Of rows at the ends of the memory, the first word or the last may be none of
// them.
template <class Logit>
PH_DEVICE Words whole_words(const Words& all, const Extent& memory) {
  Words words = all;
  if (!begins_within(all, memory)) {
    words.edges = (words.edges & ~15u) | 1u << 8;
    words.column += kPerLoad<Logit>;
    ++words.first;
    --words.count;
  }
  if (words.count > 0 && !ends_within(all, memory)) {
    words.edges = (words.edges & ~0xf0u) | kPerLoad<Logit> << 4 | 1u << 9;
    --words.count;
  }
  return words;
}

template <class Logit>
constexpr int kLogitBits = 8 * static_cast<int>(sizeof(Logit));

// What is not the row's in its first and its last word becomes -inf.
template <class Logit>
PH_DEVICE void mask_head(uint4& bits, const Words& words, int word) {
  if (word == 0 && words.head() != 0) bits = masked_before<Logit>(bits, words.head() * kLogitBits<Logit>);
}
template <class Logit>
PH_DEVICE void mask_tail(uint4& bits, const Words& words, int word) {
  if (word == words.count - 1 && words.tail() != kPerLoad<Logit>)
    bits = masked_from<Logit>(bits, words.tail() * kLogitBits<Logit>);
}

}  // namespace pyharness::kernels
