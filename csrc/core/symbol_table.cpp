#include "core/symbol_table.hpp"

#include <algorithm>
#include <stdexcept>

namespace pyharness {

SymbolTable::SymbolTable(const MergeModel& model)
    : data_(reinterpret_cast<const char*>(model.data.data())), entries_(model.size()), pairs_(std::size_t{1} << 16) {
  // At most 3/8 full: a miss, the usual answer, then looks at 1.5 slots on average.
  mask_ = std::bit_ceil(model.size() * 8 / 3 + 1) - 1;
  slots_.assign(mask_ + 1, Slot{0, kNever});
  for (std::uint32_t id = 0; id < model.size(); ++id) {
    const std::string_view bytes = model.bytes(id);
    if (!model.takes_part(id) || bytes.empty()) continue;
    if (bytes.size() >= kNever) throw std::invalid_argument("a token of 4 GB or more");
    const std::uint64_t packed = bytes.size() <= 8 ? pack_bytes(bytes.data(), bytes.size())
                                                   : static_cast<std::uint64_t>(model.offsets[id]);
    entries_[id] = {packed, static_cast<std::uint32_t>(bytes.size()), (*model.ranks)[id]};
    insert(id, bytes);
  }
}

void SymbolTable::insert(std::uint32_t id, std::string_view bytes) {
  longest_ = std::max(longest_, bytes.size());
  const Entry& entry = entries_[id];
  const std::uint64_t hash = hash_bytes(bytes);
  std::size_t at = hash & mask_;
  for (; slots_[at].entry != kNever; at = (at + 1) & mask_) {
    const Slot slot = slots_[at];
    if (slot.tag == tag_of(hash) && matches(entries_[slot.entry], bytes)) break;
  }
  const bool first = slots_[at].entry == kNever || entry.rank < entries_[slots_[at].entry].rank;
  if (!first) return;
  slots_[at] = {tag_of(hash), id};
  if (bytes.size() == 2) pairs_[pair_index(bytes)] = {id, entry.rank};
}

}  // namespace pyharness
