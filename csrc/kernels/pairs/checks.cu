// Checks of callers' arrays, on the device.
#include <stdexcept>

#include "kernels/pairs/rows.hpp"
#include "shared/offset_errors.hpp"

namespace pyharness::kernels {
namespace {

// The first of anything is kept as the maximum of its complement; 0 is none.
PH_DEVICE void note_first(Word* first, std::size_t position) {
  atomicMax(first, ~static_cast<Word>(position));
}

template <class Id>
PH_GLOBAL void check_ids(const Id* ids, std::size_t size, std::uint32_t* narrow, Word* first_bad) {
  for (std::size_t i = row_index(); i < size; i += row_stride()) {
    const Id id = ids[i];
    // Negative ids of either width become more than 2^32 - 1 here.
    if (static_cast<Word>(static_cast<long long>(id)) > 0xFFFFFFFFu) note_first(first_bad, i);
    if (narrow != nullptr) narrow[i] = static_cast<std::uint32_t>(id);
  }
}

template <class Id>
std::int64_t first_bad_id(const Id* ids, std::int64_t size, std::uint32_t* narrow, DeviceMemory& memory,
                          const PairTuning& tuning, Stream stream) {
  if (size == 0) return -1;
  const auto items = static_cast<std::size_t>(size);
  const DeviceArray<Word> first(memory, 1, "the first id that does not fit");
  fill(first.data(), 0, sizeof(Word), stream);
  PH_LAUNCH((check_ids<Id>), row_blocks(items, tuning), kRowThreads, 0, stream, ids, items, narrow,
            first.data());
  const Word noted = read_back(first.data(), stream);
  return noted == 0 ? -1 : static_cast<std::int64_t>(~noted);
}

struct SegmentFindings {
  Word falls;     // the first segment that ends before it starts
  Word negative;  // the first weight that is negative
  Word total;     // weighted pairs, modulo 2^64
  Word wraps;     // whether they leave 64 bits
};

// Whether pairs * weight or the sum leaves 64 bits.
PH_DEVICE bool add_pairs(Word pairs, Word weight, Word* total) {
  if (pairs == 0) return false;
  const Word product = pairs * weight;
  *total += product;
  return product / pairs != weight || *total < product;
}

PH_GLOBAL void inspect_segments(PairSegments segments, SegmentFindings* findings) {
  const auto size = static_cast<std::size_t>(segments.size);
  Word total = 0;  // of this thread: one address would take the segments one after the other
  bool wraps = false;
  for (std::size_t segment = row_index(); segment < size; segment += row_stride()) {
    const std::int64_t begin = segments.offsets[segment];
    const std::int64_t end = segments.offsets[segment + 1];
    if (end < begin) note_first(&findings->falls, segment);
    if (segments.weights == nullptr) continue;
    const Word weight = segments.weights[segment];
    if (segments.signed_weights && weight >> 63 != 0) note_first(&findings->negative, segment);
    if (end > begin)
      wraps |= add_pairs(static_cast<Word>(end) - static_cast<Word>(begin) - 1, weight, &total);
  }
  if (total != 0) wraps |= atomicAdd(&findings->total, total) > ~Word{0} - total;
  if (wraps) atomicMax(&findings->wraps, Word{1});
}

}  // namespace

std::int64_t find_bad_id(const std::int32_t* ids, std::int64_t size, DeviceMemory& memory,
                         const PairTuning& tuning, Stream stream) {
  return first_bad_id(ids, size, nullptr, memory, tuning, stream);
}

std::int64_t narrow_ids(const std::int64_t* ids, std::int64_t size, std::uint32_t* narrow,
                        DeviceMemory& memory, const PairTuning& tuning, Stream stream) {
  return first_bad_id(ids, size, narrow, memory, tuning, stream);
}

void check_segments(const PairSegments& segments, std::int64_t total, DeviceMemory& memory,
                    const PairTuning& tuning, Stream stream) {
  const std::int64_t* const offsets = segments.offsets;
  if (read_back(offsets, stream) != 0) throw offsets_start_late("offsets");
  const DeviceArray<SegmentFindings> device_findings(memory, 1, "what is wrong with the segments");
  fill(device_findings.data(), 0, sizeof(SegmentFindings), stream);
  PH_LAUNCH(inspect_segments, row_blocks(static_cast<std::size_t>(segments.size), tuning), kRowThreads, 0,
            stream, segments, device_findings.data());
  const SegmentFindings findings = read_back(device_findings.data(), stream);
  if (findings.falls != 0) {
    const auto segment = static_cast<std::int64_t>(~findings.falls);
    throw offsets_fall("offsets", segment + 1, read_back(offsets + segment + 1, stream),
                       read_back(offsets + segment, stream));
  }
  const std::int64_t end = read_back(offsets + segments.size, stream);
  if (end != total) throw offsets_end_elsewhere("offsets", total, end);
  if (findings.negative != 0) {
    const auto segment = static_cast<std::int64_t>(~findings.negative);
    throw negative_weight(segment, static_cast<std::int64_t>(read_back(segments.weights + segment, stream)));
  }
  if (findings.wraps != 0) throw std::invalid_argument("the weighted number of pairs does not fit 64 bits");
}

}  // namespace pyharness::kernels
