// Compiled with AVX-512 F (CMakeLists.txt); called only where the machine has them.
#include "core/entropy/row.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "core/entropy/row_body.hpp"

namespace pyharness::entropy_rows {
namespace {

struct Avx512 {
  static constexpr std::int64_t kLanes = 16;
  __m512 lanes;

  static Avx512 all(float value) { return {_mm512_set1_ps(value)}; }
  static Avx512 load(const float* from) { return {_mm512_loadu_ps(from)}; }
  static Avx512 load(const Half* from) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
  }
  static Avx512 load(const Bfloat* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
  }
  void store(float* to) const { _mm512_storeu_ps(to, lanes); }

  Avx512 plus(Avx512 other) const { return {_mm512_add_ps(lanes, other.lanes)}; }
  Avx512 minus(Avx512 other) const { return {_mm512_sub_ps(lanes, other.lanes)}; }
  Avx512 times(Avx512 other) const { return {_mm512_mul_ps(lanes, other.lanes)}; }
  static Avx512 fused(Avx512 a, Avx512 b, Avx512 c) { return {_mm512_fmadd_ps(a.lanes, b.lanes, c.lanes)}; }
  static Avx512 greater(Avx512 a, Avx512 b) { return {_mm512_max_ps(a.lanes, b.lanes)}; }
  static Avx512 smaller(Avx512 a, Avx512 b) { return {_mm512_min_ps(a.lanes, b.lanes)}; }
  static Avx512 times_power_of_two(Avx512 p, Avx512 t) {
    const __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(t.lanes), 23);
    return {_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p.lanes), exponent))};
  }
  static int first_equal(Avx512 a, float value) {
    const __mmask16 equal = _mm512_cmp_ps_mask(a.lanes, _mm512_set1_ps(value), _CMP_EQ_OQ);
    return equal == 0 ? -1 : __builtin_ctz(equal);
  }
};

}  // namespace

const AddToRow kAvx512[3] = {&RowPass<Avx512>::add<float>, &RowPass<Avx512>::add<Half>,
                             &RowPass<Avx512>::add<Bfloat>};

}  // namespace pyharness::entropy_rows
#endif
