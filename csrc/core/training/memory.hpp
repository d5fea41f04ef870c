// Arrays of the trainer that are read all over: on huge pages where the system grants them.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "core/machine/huge_pages.hpp"

namespace pyharness {

// From one huge page on. With 4 KiB pages merging takes 1.04 to 1.14 times as long.
template <class Value>
struct HugePageAllocator {
  using value_type = Value;
  static constexpr std::size_t kLine = 64;

  HugePageAllocator() = default;
  template <class Other>
  HugePageAllocator(const HugePageAllocator<Other>&) {}

  Value* allocate(std::size_t size) {
    if (size > static_cast<std::size_t>(-1) / 2 / sizeof(Value)) throw std::bad_array_new_length();
    const std::size_t bytes = size * sizeof(Value);
    if (bytes < kHugePageBytes) return static_cast<Value*>(::operator new(bytes, std::align_val_t{kLine}));
    const std::size_t whole = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    void* const memory = ::operator new(whole, std::align_val_t{kHugePageBytes});
    advise_huge_pages(memory, whole);
    return static_cast<Value*>(memory);
  }

  void deallocate(Value* memory, std::size_t size) {
    const bool huge = size * sizeof(Value) >= kHugePageBytes;
    ::operator delete(memory, std::align_val_t{huge ? kHugePageBytes : kLine});
  }

  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }
};

template <class Value>
using TrainingArray = std::vector<Value, HugePageAllocator<Value>>;

}  // namespace pyharness
