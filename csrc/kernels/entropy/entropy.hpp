// Entropy of next-token distributions and what else one pass over logits gives (shared/entropy.hpp), on a
// device. Every pointer is to device memory; only check_targets waits. All throw std::invalid_argument for
// what shared/entropy_checks.hpp refuses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/machine/device.hpp"
#include "shared/entropy.hpp"

namespace pyharness::kernels {

// Sizes of launches. Results agree within rounding whatever they are; tests make them small, so that few
// numbers take every path. From counting multiprocessors; not yet measured on a GPU.
struct EntropyTuning {
  int threads = 256;                       // of a block at most: 32, 64, .., 256
  std::int64_t blocks = 1024;              // that fill a device: of fewer rows, each is split
  std::int64_t loads_per_part = 1024;      // of 16 bytes: the least that is worth a block
  std::int64_t loads_of_short_rows = 256;  // rows of so many at most share a block
  int most_in_cluster = 16;                // blocks of a row that may join through their shared memory
};

// What calls from now on use; to be changed by tests alone.
inline EntropyTuning& entropy_tuning() {
  static EntropyTuning tuning;
  return tuning;
}

// Bytes for `workspace` below, of any content: rows are split over blocks where there are too few of them to
// fill a device.
std::size_t entropy_workspace(std::int64_t rows, std::int64_t columns);

// One read of every logit. Targets are ids in 0..columns-1 (check_targets); with another one, nll is +inf.
void entropy(const Logits& logits, const Targets& targets, const EntropyScale& scale,
             const EntropyOutputs<float>& outputs, void* workspace, Stream stream);

// The states of columns first_column..first_column+columns-1, [rows]. Targets elsewhere are not seen here.
void entropy_states(const Logits& logits, const Targets& targets, std::int64_t first_column,
                    double temperature, EntropyState* states, void* workspace, Stream stream);

// states[row] becomes the state of its columns and those of other[row].
void entropy_merge(EntropyState* states, const EntropyState* other, std::int64_t rows, double temperature,
                   Stream stream);

void entropy_finish(const EntropyState* states, std::int64_t rows, const EntropyScale& scale,
                    const EntropyOutputs<float>& outputs, Stream stream);

inline constexpr std::size_t kTargetsWorkspace = 8;  // bytes for `workspace` of check_targets

// Throws std::invalid_argument naming the first row whose target is not in 0..vocab_size-1. Waits for the
// stream.
void check_targets(const Targets& targets, std::int64_t rows, std::int64_t vocab_size, void* workspace,
                   Stream stream);

}  // namespace pyharness::kernels
