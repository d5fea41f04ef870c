// Memory that reads as zero and is taken from the system only where it is touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "core/machine/huge_pages.hpp"

namespace pyharness {

class ZeroedPages {
 public:
  // Throws std::bad_alloc. From two huge pages on, huge pages are asked for.
  explicit ZeroedPages(std::size_t bytes) {
    const bool huge = bytes >= 2 * kHugePageBytes;
    size_ = huge ? bytes + kHugePageBytes : bytes;
    mapping_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
    data_ = reinterpret_cast<void*>(huge ? (address + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes
                                         : address);
    if (huge) advise_huge_pages(data_, bytes);
  }
  ~ZeroedPages() {
    if (mapping_ != nullptr) ::munmap(mapping_, size_);
  }
  ZeroedPages(ZeroedPages&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)), data_(other.data_), size_(other.size_) {}
  ZeroedPages& operator=(ZeroedPages&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  void* data() const { return data_; }

 private:
  void* mapping_;
  void* data_;
  std::size_t size_;
};

}  // namespace pyharness
