// The byte strings of a growing vocabulary, by id and back.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/symbol_table.hpp"

namespace pyharness {

class TokenStrings {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  std::size_t size() const { return begins_.size() - 1; }

  std::string_view operator[](std::size_t id) const {
    return {reinterpret_cast<const char*>(data_.data()) + begins_[id], length(id)};
  }
  std::size_t length(std::size_t id) const { return begins_[id + 1] - begins_[id]; }

  // Makes room for so many strings and bytes in all, more of which may come.
  void reserve(std::size_t count, std::size_t bytes) {
    data_.reserve(bytes);
    begins_.reserve(count + 1);
    if (2 * count > table_.size()) table_.assign(std::bit_ceil(4 * count), 0);
  }

  // Gives the next id. Of equal strings the first is the one that find() knows.
  std::uint32_t add(std::string_view bytes) {
    const auto id = static_cast<std::uint32_t>(size());
    data_.insert(data_.end(), bytes.begin(), bytes.end());
    begins_.push_back(data_.size());
    if (2 * size() > table_.size()) {
      grow();
    } else if (std::uint32_t& slot = table_[locate((*this)[id])]; slot == 0) {
      slot = id + 1;
    }
    return id;
  }

  // The id of exactly these bytes; kNone when there is none.
  std::uint32_t find(std::string_view bytes) const { return table_[locate(bytes)] - 1; }

  std::vector<std::uint8_t> take_data() { return std::move(data_); }
  std::vector<std::int64_t> offsets() const { return {begins_.begin(), begins_.end()}; }

 private:
  std::size_t locate(std::string_view bytes) const {
    std::size_t at = hash_bytes(bytes) & (table_.size() - 1);
    while (table_[at] != 0 && (*this)[table_[at] - 1] != bytes) at = (at + 1) & (table_.size() - 1);
    return at;
  }

  void grow() {
    table_.assign(std::bit_ceil(4 * size()), 0);
    for (std::size_t id = 0; id < size(); ++id) {
      if (std::uint32_t& slot = table_[locate((*this)[id])]; slot == 0)
        slot = static_cast<std::uint32_t>(id + 1);
    }
  }

  std::vector<std::uint8_t> data_;
  std::vector<std::size_t> begins_{0};
  std::vector<std::uint32_t> table_ = std::vector<std::uint32_t>(1024);  // id + 1; 0: free
};

}  // namespace pyharness
