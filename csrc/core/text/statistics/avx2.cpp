#include "core/text/statistics/ascii_words.hpp"

namespace pyharness {

#if defined(__AVX2__)
std::size_t ascii_run_avx2(const char* at, std::size_t room, AsciiBefore before, TextStatistics& counts) {
  return ascii_run(at, room, before, counts);
}
#endif

}  // namespace pyharness
