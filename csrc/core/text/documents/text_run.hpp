// Documents as they are read: whole or cut, in runs that share their memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pyharness {

// A document, or one of the pieces that it was cut into.
struct ReadText {
  std::string_view text;
  std::string_view beginning;  // of the document: what its pieces share
  std::string_view work;       // that the document belongs to; empty if it is its own
  std::size_t characters;
  bool opens;   // the first piece of its document, or all of it
  bool parted;  // the first piece of a document that was cut
};

struct CutRules {
  std::size_t most_bytes;       // of a piece; at least 4
  std::size_t beginning_bytes;  // at most; whole characters
};

// The number of code points; npos for bytes that are not UTF-8.
std::size_t characters_of(std::string_view text);

class TextRun {
 public:
  explicit TextRun(std::shared_ptr<const char[]> room) : room_(std::move(room)) {}

  // Adds a document that lies in the room, as pyharness.corpora.files.splitting.pieces cuts it. Returns false
  // and adds nothing where it is not UTF-8.
  bool add(std::string_view document, std::string_view work, const CutRules& rules);

  std::span<const ReadText> texts() const { return texts_; }
  // Makes all documents parts of one work.
  void set_work(std::string work);
  // Moves the texts to another room, which holds what their own one holds at the same places.
  void move_to(const std::shared_ptr<const char[]>& room);
  // The first texts of the run, in the same memory.
  TextRun first(std::size_t count) const;

 private:
  std::shared_ptr<const char[]> room_;
  std::shared_ptr<const std::string> work_;
  std::vector<ReadText> texts_;
};

}  // namespace pyharness
