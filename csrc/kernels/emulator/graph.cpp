// A stream that is captured: what it is given is noted, and done as often as the graph is launched.
#include <utility>
#include <vector>

#include "kernels/emulator/emulator.hpp"

namespace pyharness::emulator {
namespace {

std::vector<std::function<void()>> graph;
bool captures = false;

}  // namespace

void begin_capture() {
  graph.clear();
  captures = true;
}
void end_capture() { captures = false; }
bool capturing() { return captures; }

void enqueue(std::function<void()> work) {
  if (captures)
    graph.push_back(std::move(work));
  else
    work();
}

void wait_for_stream() {
  if (captures) throw Error("a stream that is being captured cannot be waited for");
}

void replay() {
  for (const auto& work : graph) work();
}

}  // namespace pyharness::emulator
