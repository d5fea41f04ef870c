#include "core/added_tokens.hpp"

#include <stdexcept>

#include "core/parallel.hpp"

namespace pyharness {
namespace {

std::vector<std::string_view> views_of(const std::vector<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

std::size_t byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<std::string> tokens)
    : tokens_(std::move(tokens)), trie_(views_of(tokens_)) {
  for (const std::string& token : tokens_) {
    if (token.empty()) throw std::invalid_argument("an added token must not be empty");
    starts_[byte_at(token, 0)] = true;
    for (std::size_t second = 0; second < 256; ++second) {
      if (token.size() == 1 || byte_at(token, 1) == second) pairs_[byte_at(token, 0) << 8 | second] = true;
    }
  }
}

bool AddedTokenFinder::may_start(std::string_view text, std::size_t at) const {
  return at + 1 == text.size() || pairs_[byte_at(text, at) << 8 | byte_at(text, at + 1)];
}

template <class Sink>
void AddedTokenFinder::find_in(std::string_view text, Sink&& sink) const {
  for (std::size_t at = 0; at < text.size();) {
    if (!starts_[byte_at(text, at)] || !may_start(text, at)) {
      ++at;
      continue;
    }
    const auto found = trie_.longest_at(text, at);
    if (found.length > 0) sink(at, found.number);
    at += std::max<std::size_t>(found.length, 1);
  }
}

AddedTokenMatches AddedTokenFinder::find(std::span<const std::string_view> texts, int threads) const {
  std::vector<AddedTokenMatches> shares(static_cast<std::size_t>(std::max(threads, 1)));
  run_on_threads(threads, [&](int worker) {
    AddedTokenMatches& share = shares[static_cast<std::size_t>(worker)];
    const std::size_t end = share_begin(texts.size(), worker + 1, threads);
    for (std::size_t text = share_begin(texts.size(), worker, threads); text < end; ++text) {
      find_in(texts[text], [&](std::size_t at, std::uint32_t token) {
        share.starts.push_back(static_cast<std::int64_t>(at));
        share.tokens.push_back(token);
      });
      share.offsets.push_back(static_cast<std::int64_t>(share.starts.size()));
    }
  });
  AddedTokenMatches all;
  all.offsets.push_back(0);
  for (const AddedTokenMatches& share : shares) {
    const auto before = static_cast<std::int64_t>(all.starts.size());
    all.starts.insert(all.starts.end(), share.starts.begin(), share.starts.end());
    all.tokens.insert(all.tokens.end(), share.tokens.begin(), share.tokens.end());
    for (const std::int64_t offset : share.offsets) all.offsets.push_back(before + offset);
  }
  return all;
}

}  // namespace pyharness
