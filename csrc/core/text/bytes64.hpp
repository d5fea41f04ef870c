// 64 bytes of text as masks with one bit per byte.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pyharness::masks {

using Mask = std::uint64_t;

constexpr Mask below(int bit) { return bit >= 64 ? ~Mask{0} : (Mask{1} << bit) - 1; }

#if defined(__SSE2__)

class Bytes64 {
 public:
  explicit Bytes64(const void* at) {
    for (int i = 0; i < 4; ++i) rows_[i] = _mm_loadu_si128(static_cast<const __m128i*>(at) + i);
  }

  Mask non_ascii() const {
    return collect([](__m128i row) { return row; });
  }
  Mask equal(char value) const {
    return collect([value](__m128i row) { return _mm_cmpeq_epi8(row, _mm_set1_epi8(value)); });
  }
  // first <= byte < first + count, unsigned: moved to the bottom of the signed range, one comparison is
  // enough.
  Mask between(char first, int count) const {
    const __m128i shift = _mm_set1_epi8(static_cast<char>(-128 - first));
    const __m128i limit = _mm_set1_epi8(static_cast<char>(-128 + count));
    return collect([=](__m128i row) { return _mm_cmplt_epi8(_mm_add_epi8(row, shift), limit); });
  }

 private:
  template <class Test>
  Mask collect(Test test) const {
    Mask mask = 0;
    for (int i = 0; i < 4; ++i)
      mask |= static_cast<Mask>(static_cast<unsigned>(_mm_movemask_epi8(test(rows_[i])))) << (16 * i);
    return mask;
  }

  __m128i rows_[4];
};

#endif

}  // namespace pyharness::masks
