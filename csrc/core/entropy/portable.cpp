// For any machine: vectors of four floats in the compilers' own vector syntax, which are SSE2 on x86-64 and
// NEON on AArch64 without a flag.
#include <cstring>

#include "core/entropy/row_body.hpp"

namespace pyharness::entropy_rows {
namespace {

using Floats = float __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));
using Shorts = std::uint16_t __attribute__((vector_size(8)));

template <class Item>
Words words_of(const Item* from) {
  Shorts bits;
  std::memcpy(&bits, from, sizeof(bits));
  return __builtin_convertvector(bits, Words);
}

struct Portable {
  static constexpr std::int64_t kLanes = 4;
  Floats lanes;

  static Portable all(float value) { return {Floats{value, value, value, value}}; }
  static Portable load(const float* from) {
    Portable loaded;
    std::memcpy(&loaded.lanes, from, sizeof(loaded.lanes));
    return loaded;
  }
  static Portable load(const Half* from) {
    const Words bits = words_of(from);
    const Words magnitude = (bits & 0x7FFF) << 13;
    const Words special = (magnitude & 0x7FFFFF) | 0x7F800000;  // inf and NaN
    const Words finite = reinterpret_cast<Words>(reinterpret_cast<Floats>(magnitude) * 0x1p112F);
    const Words unsigned_bits = magnitude >= 0x7C00U << 13 ? special : finite;
    return {reinterpret_cast<Floats>(unsigned_bits | (bits & 0x8000) << 16)};
  }
  static Portable load(const Bfloat* from) { return {reinterpret_cast<Floats>(words_of(from) << 16)}; }
  void store(float* to) const { std::memcpy(to, &lanes, sizeof(lanes)); }

  Portable plus(Portable other) const { return {lanes + other.lanes}; }
  Portable minus(Portable other) const { return {lanes - other.lanes}; }
  Portable times(Portable other) const { return {lanes * other.lanes}; }
  static Portable fused(Portable a, Portable b, Portable c) { return {a.lanes * b.lanes + c.lanes}; }
  static Portable greater(Portable a, Portable b) { return {a.lanes > b.lanes ? a.lanes : b.lanes}; }
  static Portable smaller(Portable a, Portable b) { return {a.lanes < b.lanes ? a.lanes : b.lanes}; }
  static Portable times_power_of_two(Portable p, Portable t) {
    return {reinterpret_cast<Floats>(reinterpret_cast<Words>(p.lanes) +
                                     (reinterpret_cast<Words>(t.lanes) << 23))};
  }
  static int first_equal(Portable a, float value) {
    for (int lane = 0; lane < kLanes; ++lane)
      if (a.lanes[lane] == value) return lane;
    return -1;
  }
};

}  // namespace

const AddToRow kPortable[3] = {&RowPass<Portable>::add<float>, &RowPass<Portable>::add<Half>,
                               &RowPass<Portable>::add<Bfloat>};

}  // namespace pyharness::entropy_rows
