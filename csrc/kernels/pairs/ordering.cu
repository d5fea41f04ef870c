// Rows in any order -> falling count, ties by (left, right). Where the bits of both ids and of the largest
// count fit 64, a row is one word, or becomes one, and one radix sort of words orders them: ids below 2^17
// leave 30 bits for counts. Otherwise three stable sorts of keys and counts, least significant first, over no
// more bits than the largest id and count have.
#include <algorithm>
#include <utility>

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

PH_GLOBAL void split_rows(RowsView rows, std::size_t size, PairColumns columns) {
  for (std::size_t row = row_index(); row < size; row += row_stride()) {
    const Word key = rows.key_at(row);
    columns.left[row] = static_cast<std::uint32_t>(key >> 32);
    columns.right[row] = static_cast<std::uint32_t>(key);
    columns.count[row] = rows.count_at(row);
  }
}

Widths widths_of(const PairRows& rows, DeviceMemory& memory, const PairTuning& tuning, Stream stream) {
  const DeviceArray<Widths> widths(memory, 1, "the widths of ids and counts");
  fill(widths.data(), 0, sizeof(Widths), stream);
  PH_LAUNCH(find_widths, row_blocks(rows.size, tuning), kRowThreads, 0, stream, rows.key.data(),
            rows.count.data(), rows.size, widths.data());
  return read_back(widths.data(), stream);
}

}  // namespace

PairRows order_pairs(PairRows rows, DeviceMemory& memory, const PairTuning& tuning, Stream stream) {
  if (rows.size == 0) return rows;
  RowBits bits = rows.bits;
  if (!rows.packed()) {
    const Widths widths = widths_of(rows, memory, tuning, stream);
    bits = {std::max(1, bit_width(widths.ids)), bit_width(widths.counts)};
    if (fit_one_word(bits)) {
      PairRows words{DeviceArray<Word>(memory, rows.size, "rows to order"), {}, rows.size, bits};
      put_rows(rows, words, 0, tuning, stream);
      rows = std::move(words);
    }
  }
  if (rows.packed()) {
    TwoArrays words{rows.key, DeviceArray<Word>(memory, rows.size, "rows to order")};
    rows.key = {};
    sort_keys(words, rows.size, bits.counts + 2 * bits.ids, memory, stream);
    return {words.current, {}, rows.size, bits};
  }

  TwoArrays keys{rows.key, DeviceArray<Word>(memory, rows.size, "rows to order")};
  TwoArrays counts{rows.count, DeviceArray<Word>(memory, rows.size, "rows to order")};
  sort_by_key(keys, counts, rows.size, 0, bits.ids, Order::kRising, memory, stream);
  sort_by_key(keys, counts, rows.size, 32, 32 + bits.ids, Order::kRising, memory, stream);
  sort_by_key(counts, keys, rows.size, 0, bits.counts, Order::kFalling, memory, stream);
  return {keys.current, counts.current, rows.size, {}};
}

void write_pairs(const PairRows& rows, const PairColumns& columns, const PairTuning& tuning, Stream stream) {
  if (rows.size == 0) return;
  PH_LAUNCH(split_rows, row_blocks(rows.size, tuning), kRowThreads, 0, stream, view(rows), rows.size,
            columns);
  synchronize(stream);
}

void copy_and_wait(void* to, const void* from, std::size_t bytes, Stream stream) {
  copy(to, from, bytes, stream);
  synchronize(stream);
}

}  // namespace pyharness::kernels
