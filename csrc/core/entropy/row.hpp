// The pass over a row: what the files of the instruction sets share.
//
// Each of them includes row_body.hpp, compiled with its own flags. Nothing here or there may call an
// inline function of the standard library: the linker keeps one copy of such a function, and that copy could
// hold instructions that the machine lacks.
#pragma once

#include <cstdint>

namespace pyharness::entropy_rows {

// EntropyState with sums in double, while a row is under way.
struct RowState {
  float max = -__builtin_inff();
  float second = -__builtin_inff();
  double sum = 0;
  double weighted = 0;
  std::int32_t argmax = 0x7FFFFFFF;
  float target = -__builtin_inff();
};

// Elements that are converted, searched for their maximum and summed while they stay in the L1 cache: 2,048
// floats are 8 KiB. 1,024 and 4,096 were equally fast.
inline constexpr std::int64_t kBlock = 2048;

// Adds logits[0..count), the columns from `first_column` on, to the state. `scale` is log2(e) / temperature.
using AddToRow = void (*)(const void* logits, std::int64_t count, std::int32_t first_column, double scale,
                          RowState& state);

// One per LogitType, in its order.
extern const AddToRow kPortable[3];
extern const AddToRow kAvx2[3];
extern const AddToRow kAvx512[3];

}  // namespace pyharness::entropy_rows
