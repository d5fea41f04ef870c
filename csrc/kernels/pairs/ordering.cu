// Rows in any order -> falling count, ties by (left, right): three stable radix sorts, least significant
// first, over no more bits than the largest id and count have. With ids below 2^18 and counts below 2^24 that
// is 9 passes of 8 bits instead of 24.
#include <algorithm>

#include "kernels/pairs/primitives.hpp"
#include "kernels/pairs/rows.hpp"

namespace pyharness::kernels {
namespace {

struct Widths {
  Word ids;  // at least as many bits as the largest id has, and no more
  Word counts;
};

PH_GLOBAL void find_widths(const Word* key, const Word* count, std::size_t size, Widths* widths) {
  Word ids = 0;
  Word counts = 0;
  for (std::size_t row = row_index(); row < size; row += row_stride()) {
    ids |= key[row] >> 32 | static_cast<std::uint32_t>(key[row]);
    counts |= count[row];
  }
  for (int flip = 16; flip > 0; flip /= 2) {
    ids |= __shfl_xor_sync(0xffffffffu, ids, flip);
    counts |= __shfl_xor_sync(0xffffffffu, counts, flip);
  }
  if (threadIdx.x % 32 != 0) return;
  atomicOr(&widths->ids, ids);
  atomicOr(&widths->counts, counts);
}

PH_GLOBAL void split_rows(const Word* key, const Word* count, std::size_t size, PairColumns columns) {
  for (std::size_t row = row_index(); row < size; row += row_stride()) {
    columns.left[row] = static_cast<std::uint32_t>(key[row] >> 32);
    columns.right[row] = static_cast<std::uint32_t>(key[row]);
    columns.count[row] = count[row];
  }
}

int bit_width(Word value) {
  int width = 0;
  for (; value != 0; value >>= 1) ++width;
  return width;
}

}  // namespace

PairRows order_pairs(PairRows rows, DeviceMemory& memory, const PairTuning& tuning, Stream stream) {
  if (rows.size == 0) return rows;
  const DeviceArray<Widths> device_widths(memory, 1, "the widths of ids and counts");
  fill(device_widths.data(), 0, sizeof(Widths), stream);
  PH_LAUNCH(find_widths, row_blocks(rows.size, tuning), kRowThreads, 0, stream, rows.key.data(),
            rows.count.data(), rows.size, device_widths.data());
  const Widths widths = read_back(device_widths.data(), stream);
  const int id_bits = std::max(1, bit_width(widths.ids));

  TwoArrays keys{rows.key, DeviceArray<Word>(memory, rows.size, "rows to order")};
  TwoArrays counts{rows.count, DeviceArray<Word>(memory, rows.size, "rows to order")};
  sort_by_key(keys, counts, rows.size, 0, id_bits, Order::kRising, memory, stream);
  sort_by_key(keys, counts, rows.size, 32, 32 + id_bits, Order::kRising, memory, stream);
  sort_by_key(counts, keys, rows.size, 0, bit_width(widths.counts), Order::kFalling, memory, stream);
  return {keys.current, counts.current, rows.size};
}

void write_pairs(const PairRows& rows, const PairColumns& columns, const PairTuning& tuning, Stream stream) {
  if (rows.size == 0) return;
  PH_LAUNCH(split_rows, row_blocks(rows.size, tuning), kRowThreads, 0, stream, rows.key.data(),
            rows.count.data(), rows.size, columns);
  synchronize(stream);
}

void copy_and_wait(void* to, const void* from, std::size_t bytes, Stream stream) {
  copy(to, from, bytes, stream);
  synchronize(stream);
}

}  // namespace pyharness::kernels
