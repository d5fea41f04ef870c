// Long pieces, window by window.
//
// A sequence of symbols is the encoding of its bytes exactly when every two neighbours are the encoding of
// their own bytes: the first merge across any boundary would also be the first one across it where the two
// neighbours are merged alone. So symbols that stood next to each other in the encoding of any window may
// stand next to each other in the result, and windows that share a symbol can be joined at it.
#include <algorithm>
#include <cstring>

#include "core/merging/merge_loops.hpp"
#include "core/merging/piece_merger/model.hpp"

namespace pyharness {
namespace {

struct MergeByPair {
  const PairTable& pairs;
  const EncodingWorkspace& piece;

  static constexpr bool kUsesBytes = false;
  RuleTable::Found merge(std::size_t left, std::size_t right, std::size_t) const {
    const std::uint32_t result = pairs.find(piece.ids[left], piece.ids[right]);
    return result == PairTable::kNoMerge ? RuleTable::Found{} : RuleTable::Found{result, result};
  }
};

void merge_by_queue(const PairTable& pairs, std::string_view bytes, MergingWorkspace& workspace) {
  EncodingWorkspace& piece = workspace.queue;
  if (piece.ids.size() < bytes.size()) {
    piece.ids.resize(bytes.size());
    piece.ranks.resize(bytes.size());
    piece.results.resize(bytes.size());
  }
  std::transform(bytes.begin(), bytes.end(), piece.ids.begin(),
                 [](char byte) { return static_cast<unsigned char>(byte); });
  const std::size_t count = QueueMerger(MergeByPair{pairs, piece}, piece, bytes.size()).run();
  workspace.window_symbols.assign(piece.ids.begin(), piece.ids.begin() + static_cast<std::ptrdiff_t>(count));
}

class WindowChain {
 public:
  WindowChain(const SymbolModel& model, std::string_view bytes, MergingWorkspace& workspace,
              std::vector<std::uint32_t>& symbols)
      : model_(model), bytes_(bytes), workspace_(workspace), symbols_(symbols) {}

  // False when it has taken too much work.
  bool run() {
    std::size_t work = 0;
    for (bool complete = false; !complete;) {
      const std::size_t size = std::min(size_, bytes_.size() - at_);
      work += size;
      if (work > kMostWork * bytes_.size() + kMostWork * kWindow) return false;
      merge_window(size);
      complete = at_ + size == bytes_.size();
      if (!joins()) {
        step_back();
        complete = false;
      } else if (!take(complete)) {
        size_ *= 2;
      }
    }
    return true;
  }

 private:
  static constexpr std::size_t kWindow = MergingWindow::kSize;
  static constexpr std::size_t kDoubtful =
      2;                                     // last symbols of a window, which the bytes after it may change
  static constexpr std::size_t kPlenty = 8;  // symbols of a window that is longer than it need be
  static constexpr std::size_t kMostWork = 8;  // bytes merged per byte of the piece

  // Equal windows have equal symbols: runs of one character, or of a few, are merged once.
  void merge_window(std::size_t size) {
    const std::string_view window = bytes_.substr(at_, size);
    if (window == merged_) return;
    merge_at_once(model_, window, workspace_);
    merged_ = window;
  }

  bool joins() const { return symbols_.empty() || symbols_.back() == workspace_.window_symbols.front(); }

  // The last symbols were wrong: bytes after their window change them.
  void step_back() {
    for (std::size_t i = 0; i < back_ && !symbols_.empty(); ++i) {
      symbols_.pop_back();
      at_ -= symbols_.empty() ? at_ : model_.lengths[symbols_.back()];
    }
    back_ *= 2;
    size_ *= 2;
  }

  // Appends the symbols of the window that are certain enough; false if there are none.
  bool take(bool all) {
    const auto& symbols = workspace_.window_symbols;
    const std::size_t first = symbols_.empty() ? 0 : 1;
    const std::size_t last = all ? symbols.size() : symbols.size() - std::min(symbols.size(), kDoubtful);
    if (last <= first && !all) return false;
    for (std::size_t i = 0; i + 1 < last; ++i) at_ += model_.lengths[symbols[i]];
    symbols_.insert(symbols_.end(), symbols.begin() + static_cast<std::ptrdiff_t>(first),
                    symbols.begin() + static_cast<std::ptrdiff_t>(last));
    back_ = 1;
    if (last > kPlenty) size_ = std::max(size_ / 2, kWindow);
    return true;
  }

  const SymbolModel& model_;
  std::string_view bytes_;
  MergingWorkspace& workspace_;
  std::vector<std::uint32_t>& symbols_;  // of the piece so far
  std::size_t at_ = 0;                   // where the last of them begins
  std::size_t size_ = kWindow;           // of the next window
  std::size_t back_ = 1;                 // symbols to drop when the next window does not join
  std::string_view merged_;              // the window that workspace.window_symbols belong to
};

}  // namespace

void merge_at_once(const SymbolModel& model, std::string_view bytes, MergingWorkspace& workspace) {
  if (bytes.size() > MergingWindow::kSize) return merge_by_queue(model.pairs, bytes, workspace);
  workspace.window.merge(model.pairs, model.characters, bytes);
  workspace.window_symbols.clear();
  workspace.window.for_each([&](std::uint32_t symbol) { workspace.window_symbols.push_back(symbol); });
}

void merge_long_piece(const SymbolModel& model, std::string_view bytes, MergingWorkspace& workspace,
                      std::vector<std::uint32_t>& symbols) {
  symbols.clear();
  if (WindowChain(model, bytes, workspace, symbols).run()) return;
  merge_by_queue(model.pairs, bytes, workspace);
  symbols = workspace.window_symbols;
}

}  // namespace pyharness
