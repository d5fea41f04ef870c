#include "core/model/symbol_table.hpp"

#include <algorithm>

namespace pyharness {

SymbolTable::SymbolTable(const MergeModel& model) : model_(model), pairs_(std::size_t{1} << 16) {
  // 38 to 77 % full. Fuller tables are smaller, and the filter keeps misses from walking along them.
  slots_.resize(std::bit_ceil(model.size() * 13 / 10 + 1));
  mask_ = slots_.size() - 1;
  filter_.resize(std::bit_ceil(model.size() * 8 + 64) / 64);
  filter_mask_ = filter_.size() * 64 - 1;
  constexpr std::uint32_t kAhead = 16;  // ids whose slots are on their way from memory
  for (std::uint32_t id = 0; id < model.size(); ++id) {
    if (id + kAhead < model.size()) prefetch(model.bytes(id + kAhead));
    const std::string_view bytes = model.bytes(id);
    if (model.takes_part(id) && !bytes.empty()) insert(bytes, {id, (*model.ranks)[id]});
  }
}

void SymbolTable::insert(std::string_view bytes, Found found) {
  longest_ = std::max(longest_, bytes.size());
  const Key key = key_of(bytes);
  const std::uint64_t bit = key.hash >> 32 & filter_mask_;
  filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
  Slot& slot = slots_[locate(key, bytes)];
  if (slot.exact != 0 && slot.found.rank <= found.rank) return;
  slot = {key.exact, found};
  if (bytes.size() == 2) pairs_[pair_index(bytes)] = found;
}

}  // namespace pyharness
