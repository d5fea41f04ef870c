// Rows in any order -> falling count, ties by (left, right). Where the bits of both ids and of the largest
// count fit 64, a row becomes one word, and one radix sort of words orders them: ids below 2^17 leave 30 bits
// for counts. Otherwise three stable sorts of keys and counts, least significant first, over no more bits
// than the largest id and count have.
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

// A row as a word that rises as rows do: the complement of the count, the left id, the right id.
struct PackedRow {
  int id_bits;
  int count_bits;

  PH_DEVICE Word pack(Word key, Word count) const {
    const Word falling = ((Word{1} << count_bits) - 1) & ~count;
    return (falling << id_bits | key >> 32) << id_bits | static_cast<std::uint32_t>(key);
  }
  PH_DEVICE Word key(Word row) const {
    const Word mask = (Word{1} << id_bits) - 1;
    return (row >> id_bits & mask) << 32 | (row & mask);
  }
  PH_DEVICE Word count(Word row) const {
    return ((Word{1} << count_bits) - 1) & ~(row >> id_bits >> id_bits);
  }
};

PH_GLOBAL void pack_rows(const Word* key, const Word* count, std::size_t size, PackedRow format, Word* rows) {
  for (std::size_t row = row_index(); row < size; row += row_stride())
    rows[row] = format.pack(key[row], count[row]);
}

PH_GLOBAL void unpack_rows(const Word* rows, std::size_t size, PackedRow format, Word* key, Word* count) {
  for (std::size_t row = row_index(); row < size; row += row_stride()) {
    const Word packed = rows[row];
    key[row] = format.key(packed);
    count[row] = format.count(packed);
  }
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

PairRows order_packed(PairRows rows, PackedRow format, DeviceMemory& memory, const PairTuning& tuning,
                      Stream stream) {
  TwoArrays packed{DeviceArray<Word>(memory, rows.size, "rows to order"),
                   DeviceArray<Word>(memory, rows.size, "rows to order")};
  const unsigned blocks = row_blocks(rows.size, tuning);
  PH_LAUNCH(pack_rows, blocks, kRowThreads, 0, stream, rows.key.data(), rows.count.data(), rows.size, format,
            packed.current.data());
  sort_keys(packed, rows.size, format.count_bits + 2 * format.id_bits, memory, stream);
  PH_LAUNCH(unpack_rows, blocks, kRowThreads, 0, stream, packed.current.data(), rows.size, format,
            rows.key.data(), rows.count.data());
  return rows;
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
  const int count_bits = bit_width(widths.counts);
  if (count_bits + 2 * id_bits <= 64)
    return order_packed(std::move(rows), {id_bits, count_bits}, memory, tuning, stream);

  TwoArrays keys{rows.key, DeviceArray<Word>(memory, rows.size, "rows to order")};
  TwoArrays counts{rows.count, DeviceArray<Word>(memory, rows.size, "rows to order")};
  sort_by_key(keys, counts, rows.size, 0, id_bits, Order::kRising, memory, stream);
  sort_by_key(keys, counts, rows.size, 32, 32 + id_bits, Order::kRising, memory, stream);
  sort_by_key(counts, keys, rows.size, 0, count_bits, Order::kFalling, memory, stream);
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
