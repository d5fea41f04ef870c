// 64 bytes of text as masks with one bit per byte.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pyharness::masks {

using Mask = std::uint64_t;

constexpr Mask below(int bit) { return bit >= 64 ? ~Mask{0} : (Mask{1} << bit) - 1; }

#if defined(__AVX2__)

// Another name than below for the linker: what one source calls must not be what another was compiled to.
inline namespace avx2 {

class Bytes64 {
 public:
  explicit Bytes64(const void* at) {
    for (int i = 0; i < 2; ++i) rows_[i] = _mm256_loadu_si256(static_cast<const __m256i*>(at) + i);
  }

  Mask non_ascii() const { return collect(rows_[0], rows_[1]); }
  Mask equal(char value) const {
    const __m256i all = _mm256_set1_epi8(value);
    return collect(_mm256_cmpeq_epi8(rows_[0], all), _mm256_cmpeq_epi8(rows_[1], all));
  }
  Mask between(char first, int count) const {
    const __m256i shift = _mm256_set1_epi8(static_cast<char>(-128 - first));
    const __m256i limit = _mm256_set1_epi8(static_cast<char>(-128 + count));
    return collect(_mm256_cmpgt_epi8(limit, _mm256_add_epi8(rows_[0], shift)),
                   _mm256_cmpgt_epi8(limit, _mm256_add_epi8(rows_[1], shift)));
  }

 private:
  static Mask collect(__m256i low, __m256i high) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
           static_cast<Mask>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
  }

  __m256i rows_[2];
};

}  // namespace avx2

#elif defined(__SSE2__)

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
