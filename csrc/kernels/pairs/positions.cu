#include <algorithm>

#include "kernels/pairs/positions.hpp"
#include "kernels/pairs/rows.hpp"

namespace pyharness::kernels {
namespace {

PH_GLOBAL void locate_tiles(PairChunk chunk, std::int64_t positions_per_tile, std::int64_t tiles,
                            std::int64_t* segments) {
  for (auto tile = static_cast<std::int64_t>(row_index()); tile <= tiles;
       tile += static_cast<std::int64_t>(row_stride())) {
    std::int64_t position = tile_begin(chunk, tile, positions_per_tile);
    if (position < chunk.first) position = chunk.first;
    if (position >= chunk.last) position = chunk.last - 1;
    segments[tile] = segment_of(chunk.offsets, 0, chunk.segments - 1, position);
  }
}

}  // namespace

DeviceArray<std::int64_t> find_tile_segments(const PairChunk& chunk, DeviceMemory& memory,
                                             const PairTuning& tuning, Stream stream) {
  const std::int64_t tiles = tile_count(chunk, tuning);
  const auto size = static_cast<std::size_t>(tiles) + 1;
  DeviceArray<std::int64_t> segments(memory, size, "the first segment of every tile");
  PH_LAUNCH(locate_tiles, row_blocks(size, tuning), kRowThreads, 0, stream, chunk, tile_positions(tuning),
            tiles, segments.data());
  return segments;
}

}  // namespace pyharness::kernels
