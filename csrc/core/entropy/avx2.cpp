// Compiled with AVX2, FMA and F16C (CMakeLists.txt); called only where the machine has them.
#include "core/entropy/row.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "core/entropy/row_body.hpp"

namespace pyharness::entropy_rows {
namespace {

struct Avx2 {
  static constexpr std::int64_t kLanes = 8;
  __m256 lanes;

  static Avx2 all(float value) { return {_mm256_set1_ps(value)}; }
  static Avx2 load(const float* from) { return {_mm256_loadu_ps(from)}; }
  static Avx2 load(const Half* from) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
  }
  static Avx2 load(const Bfloat* from) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
  }
  void store(float* to) const { _mm256_storeu_ps(to, lanes); }

  Avx2 plus(Avx2 other) const { return {_mm256_add_ps(lanes, other.lanes)}; }
  Avx2 minus(Avx2 other) const { return {_mm256_sub_ps(lanes, other.lanes)}; }
  Avx2 times(Avx2 other) const { return {_mm256_mul_ps(lanes, other.lanes)}; }
  static Avx2 fused(Avx2 a, Avx2 b, Avx2 c) { return {_mm256_fmadd_ps(a.lanes, b.lanes, c.lanes)}; }
  static Avx2 greater(Avx2 a, Avx2 b) { return {_mm256_max_ps(a.lanes, b.lanes)}; }
  static Avx2 smaller(Avx2 a, Avx2 b) { return {_mm256_min_ps(a.lanes, b.lanes)}; }
  static Avx2 times_power_of_two(Avx2 p, Avx2 t) {
    const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(t.lanes), 23);
    return {_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p.lanes), exponent))};
  }
  static int first_equal(Avx2 a, float value) {
    const int equal = _mm256_movemask_ps(_mm256_cmp_ps(a.lanes, _mm256_set1_ps(value), _CMP_EQ_OQ));
    return equal == 0 ? -1 : __builtin_ctz(static_cast<unsigned>(equal));
  }
};

}  // namespace

const AddToRow kAvx2[3] = {&RowPass<Avx2>::add<float>, &RowPass<Avx2>::add<Half>,
                           &RowPass<Avx2>::add<Bfloat>};

}  // namespace pyharness::entropy_rows
#endif
