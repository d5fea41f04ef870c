// Huge pages where the system grants them: a fault on the first touch of two megabytes instead of 512, and
// fewer misses of the address translation after.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace pyharness {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kHugePageBytes = std::size_t{1} << 21;

// Before the first touch, and not below `least`: short data must not pay for zeroing pages of 2 MiB to use a
// few KiB of each. Advice only: where it is refused, small pages serve.
inline void advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes,
                              [[maybe_unused]] std::size_t least = kHugePageBytes) {
#if defined(MADV_HUGEPAGE)
  if (bytes < least) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const auto first = (begin + kPageBytes - 1) / kPageBytes * kPageBytes;
  ::madvise(reinterpret_cast<void*>(first), begin + bytes - first, MADV_HUGEPAGE);
#endif
}

}  // namespace pyharness
