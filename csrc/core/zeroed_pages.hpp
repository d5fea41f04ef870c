// Memory that reads as zero and is taken from the system only where it is touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace pyharness {

class ZeroedPages {
 public:
  // Throws std::bad_alloc. From two huge pages on, huge pages are asked for before the first touch: a table
  // that is read all over misses the address translation less, and costs one fault instead of 512.
  explicit ZeroedPages(std::size_t bytes) {
    const bool huge = bytes >= 2 * kHugePage;
    size_ = huge ? bytes + kHugePage : bytes;
    mapping_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
    data_ = reinterpret_cast<void*>(huge ? (address + kHugePage - 1) / kHugePage * kHugePage : address);
#if defined(MADV_HUGEPAGE)
    if (huge) ::madvise(data_, bytes, MADV_HUGEPAGE);
#endif
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
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;

  void* mapping_;
  void* data_;
  std::size_t size_;
};

}  // namespace pyharness
