#include "core/text/documents/content_digests.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/machine/checks.hpp"

// One text is a chain of additions that wait for each other, and vectors do not shorten it (measured: 570
// MB/s, and 590 without). So four texts are hashed side by side, at 1,070, or eight where registers have 512
// bits; a lane that has finished takes the next one. Without AVX2 there is one lane, a plain word.
namespace pyharness {
namespace {

static_assert(std::endian::native == std::endian::little);  // words of a block, and places of their bytes

constexpr std::size_t kBlockBytes = 128;
constexpr int kRounds = 12;

using Word = std::uint64_t;
using Lanes = Word __attribute__((vector_size(32)));
using LaneBytes = std::uint8_t __attribute__((vector_size(32)));
using WideLanes = Word __attribute__((vector_size(64)));
// Into a function for other vectors, nothing but what is inlined may come.
#define PYHARNESS_INLINE __attribute__((always_inline)) inline

constexpr std::array<std::uint64_t, 8> kStart = {
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
};
constexpr std::uint64_t kParameters = 0x01010000 ^ sizeof(ContentDigest);

// Order of the words of a block; the rounds 10 and 11 take the first two again.
constexpr std::uint8_t kOrder[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

template <class Words>
constexpr std::size_t kLanesOf = sizeof(Words) / sizeof(Word);

PYHARNESS_INLINE Word& lane_of(Word& word, std::size_t) { return word; }
template <class Words>
PYHARNESS_INLINE Word& lane_of(Words& words, std::size_t lane) {
  return reinterpret_cast<Word*>(&words)[lane];
}

template <int kBytes>
PYHARNESS_INLINE void rotate_bytes(Word& x) {
  x = std::rotr(x, 8 * kBytes);
}

// One instruction; bytes of a word come lowest first.
template <int kBytes, std::size_t... kPlaces>
PYHARNESS_INLINE void rotate_bytes(Lanes& x, std::index_sequence<kPlaces...>) {
  const auto bytes = reinterpret_cast<LaneBytes>(x);
  x = reinterpret_cast<Lanes>(
      __builtin_shufflevector(bytes, bytes, (kPlaces / 8 * 8 + (kPlaces + kBytes) % 8)...));
}
template <int kBytes>
PYHARNESS_INLINE void rotate_bytes(Lanes& x) {
  rotate_bytes<kBytes>(x, std::make_index_sequence<sizeof(Lanes)>{});
}

// One instruction, too: registers of 512 bits can rotate.
template <int kBytes>
PYHARNESS_INLINE void rotate_bytes(WideLanes& x) {
  x = x >> (8 * kBytes) | x << (64 - 8 * kBytes);
}

template <class Words>
PYHARNESS_INLINE void mix(Words& a, Words& b, Words& c, Words& d, const Words& x, const Words& y) {
  a += b + x;
  d ^= a;
  rotate_bytes<4>(d);
  c += d;
  b ^= c;
  rotate_bytes<3>(b);
  a += b + y;
  d ^= a;
  rotate_bytes<2>(d);
  c += d;
  b ^= c;
  b = b >> 63 | (b + b);
}

// A template, so that the order of the words is known where the code is made.
template <int kRound, class Words>
PYHARNESS_INLINE void round(Words (&v)[16], const Words (&m)[16]) {
  constexpr const std::uint8_t (&s)[16] = kOrder[kRound % 10];
  mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
  mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
  mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
  mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
  mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
  mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
  mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
  mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
}

template <class Words, int... kNumbers>
PYHARNESS_INLINE void rounds(Words (&v)[16], const Words (&m)[16], std::integer_sequence<int, kNumbers...>) {
  (round<kNumbers>(v, m), ...);
}

template <class Words>
struct Blocks {
  const char* at[kLanesOf<Words>];
  Words ends;     // bytes of each text up to the end of its block
  Words is_last;  // all bits, or none
  Words steps;    // to the next block of a text that has several; 0 where it has not
};

PYHARNESS_INLINE Word word_at(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

template <class Words, std::size_t... kLanes>
PYHARNESS_INLINE void load(Words& words, const Blocks<Words>& blocks, std::size_t at,
                           std::index_sequence<kLanes...>) {
  words = Words{word_at(blocks.at[kLanes] + at)...};
}

template <class Words>
PYHARNESS_INLINE void compress_block(Words (&state)[8], const Blocks<Words>& blocks) {
  Words m[16] = {}, v[16];  // GCC 12 does not see in a loop that all is set
  for (std::size_t i = 0; i < 16; ++i) load(m[i], blocks, 8 * i, std::make_index_sequence<kLanesOf<Words>>{});
  for (std::size_t i = 0; i < 8; ++i) {
    v[i] = state[i];
    v[i + 8] = Words{} + kStart[i];
  }
  v[12] ^= blocks.ends;
  v[14] ^= blocks.is_last;
  rounds(v, m, std::make_integer_sequence<int, kRounds>{});
  for (std::size_t i = 0; i < 8; ++i) state[i] ^= v[i] ^ v[i + 8];
}

// Several blocks in a row of every text.
template <class Words>
PYHARNESS_INLINE void compress(Words (&state)[8], Blocks<Words>& blocks, std::size_t count) {
  for (std::size_t block = 0; block < count; ++block) {
    compress_block(state, blocks);
    blocks.ends += blocks.steps;
    for (std::size_t lane = 0; lane < kLanesOf<Words>; ++lane) blocks.at[lane] += lane_of(blocks.steps, lane);
  }
}

template <class Words>
using Compress = void (*)(Words (&)[8], Blocks<Words>&, std::size_t);

void compress_one(Word (&state)[8], Blocks<Word>& blocks, std::size_t count) {
  compress(state, blocks, count);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void compress_four(Lanes (&state)[8], Blocks<Lanes>& blocks,
                                                   std::size_t count) {
  compress(state, blocks, count);
}

__attribute__((target("avx512f"))) void compress_eight(WideLanes (&state)[8], Blocks<WideLanes>& blocks,
                                                       std::size_t count) {
  compress(state, blocks, count);
}
#endif

template <class Words>
class Hash {
 public:
  Hash(std::span<const std::string_view> texts, std::span<ContentDigest> digests, Compress<Words> compress)
      : texts_(texts), digests_(digests), compress_(compress) {
    for (std::size_t lane = 0; lane < kLanesOf<Words>; ++lane) take(lane);
  }

  void run() {
    while (busy_ > 0) {
      if (const std::size_t count = whole_blocks(); count > 0) {
        for (std::size_t lane = 0; lane < kLanesOf<Words>; ++lane) place_whole(lane, count);
        compress_(state_, blocks_, count);
        continue;
      }
      for (std::size_t lane = 0; lane < kLanesOf<Words>; ++lane) place(lane);
      compress_(state_, blocks_, 1);
      for (std::size_t lane = 0; lane < kLanesOf<Words>; ++lane)
        if (lane_of(blocks_.is_last, lane)) finish(lane);
    }
  }

 private:
  static constexpr std::size_t kIdle = ~std::size_t{0};

  // The next text, if there is one.
  void take(std::size_t lane) {
    done_[lane] = 0;
    text_[lane] = next_ < texts_.size() ? next_++ : kIdle;
    busy_ += text_[lane] != kIdle;
    for (std::size_t i = 0; i < 8; ++i) lane_of(state_[i], lane) = kStart[i] ^ (i == 0 ? kParameters : 0);
  }

  // Blocks that every text has before its last.
  std::size_t whole_blocks() const {
    std::size_t least = kIdle;
    for (std::size_t lane = 0; lane < kLanesOf<Words>; ++lane) {
      if (text_[lane] == kIdle) continue;
      const std::size_t rest = texts_[text_[lane]].size() - done_[lane];
      least = std::min(least, rest == 0 ? 0 : (rest - 1) / kBlockBytes);
    }
    return least;
  }

  void place_whole(std::size_t lane, std::size_t count) {
    const bool busy = text_[lane] != kIdle;
    blocks_.at[lane] = busy ? texts_[text_[lane]].data() + done_[lane] : last_[lane];
    lane_of(blocks_.is_last, lane) = 0;
    lane_of(blocks_.ends, lane) = done_[lane] + kBlockBytes;
    lane_of(blocks_.steps, lane) = busy ? kBlockBytes : 0;
    if (busy) done_[lane] += count * kBlockBytes;
  }

  // An idle lane hashes zeros, which nobody reads.
  void place(std::size_t lane) {
    blocks_.at[lane] = last_[lane];
    lane_of(blocks_.is_last, lane) = 0;
    if (text_[lane] == kIdle) return;
    const std::string_view rest = texts_[text_[lane]].substr(done_[lane]);
    if (rest.size() > kBlockBytes) {
      blocks_.at[lane] = rest.data();
      done_[lane] += kBlockBytes;
    } else {
      std::memset(last_[lane], 0, kBlockBytes);
      if (!rest.empty()) std::memcpy(last_[lane], rest.data(), rest.size());
      done_[lane] += rest.size();
      lane_of(blocks_.is_last, lane) = ~std::uint64_t{0};
    }
    lane_of(blocks_.ends, lane) = done_[lane];
  }

  void finish(std::size_t lane) {
    ContentDigest& digest = digests_[text_[lane]];
    for (std::size_t byte = 0; byte < digest.size(); ++byte)
      digest[byte] = static_cast<std::uint8_t>(lane_of(state_[byte / 8], lane) >> (8 * (byte % 8)));
    --busy_;
    take(lane);
  }

  std::span<const std::string_view> texts_;
  std::span<ContentDigest> digests_;
  Compress<Words> compress_;
  std::size_t next_ = 0, busy_ = 0;
  std::size_t text_[kLanesOf<Words>], done_[kLanesOf<Words>];
  char last_[kLanesOf<Words>][kBlockBytes] = {};
  Words state_[8];
  Blocks<Words> blocks_{};
};

}  // namespace

void content_digests(std::span<const std::string_view> texts, std::span<ContentDigest> digests,
                     InstructionSet instructions) {
  check_length(digests.size(), texts.size(), "digests");
#if defined(__x86_64__)
  if (instructions == InstructionSet::kAvx512) return Hash<WideLanes>(texts, digests, compress_eight).run();
  if (instructions == InstructionSet::kAvx2) return Hash<Lanes>(texts, digests, compress_four).run();
#endif
  static_cast<void>(instructions);
  Hash<Word>(texts, digests, compress_one).run();
}

// Keys of up to 64 KiB are often one view.
static bool same_text(std::string_view one, std::string_view other) {
  return one.size() == other.size() && (one.data() == other.data() || one == other);
}

KeyedDigests keyed_digests(std::span<const std::string_view> texts, std::span<const std::string_view> keys,
                           InstructionSet instructions) {
  check_length(keys.size(), texts.size(), "keys");
  std::vector<std::string_view> hashed(texts.begin(), texts.end());
  std::vector<std::size_t> of_key(keys.size());  // which of the hashed
  for (std::size_t i = 0; i < keys.size(); ++i) {
    of_key[i] = i;
    if (same_text(keys[i], texts[i])) continue;
    const bool again = i > 0 && of_key[i - 1] != i - 1 && same_text(keys[i], keys[i - 1]);
    of_key[i] = again ? of_key[i - 1] : hashed.size();
    if (!again) hashed.push_back(keys[i]);
  }
  KeyedDigests digests{std::vector<ContentDigest>(hashed.size()), {}};
  content_digests(hashed, digests.texts, instructions);
  for (const std::size_t place : of_key) digests.keys.push_back(digests.texts[place]);
  digests.texts.resize(texts.size());
  return digests;
}

}  // namespace pyharness
