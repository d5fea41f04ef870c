// What the emulator knows of a launch, and how it says where threads are. Included by emulator.cpp alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/emulator/emulator.hpp"
#include "kernels/emulator/fiber.hpp"

namespace pyharness::emulator {

enum class State : std::uint8_t { kReady, kAtBarrier, kAtClusterBarrier, kInCollective, kExited };

struct Block;

struct Thread {
  dim3 index;
  Block* block = nullptr;
  unsigned rank = 0;  // in the block
  State state = State::kReady;
  const char* operation = "";  // the operation it waits for, its place, its lanes and its value
  Place place;
  unsigned mask = 0;
  std::uint64_t value = 0;
  LaneValues values{};  // what the lanes brought
  Fiber fiber;
};

struct SharedArray {
  const void* declaration;
  std::unique_ptr<std::byte[]> data;
  std::size_t bytes;
};

struct Grid;

// Blocks that are resident together; of a launch without clusters, each block is one.
struct Cluster {
  Block* blocks = nullptr;
  unsigned size = 1;
  unsigned at_barrier = 0;  // threads
};

struct Block {
  Grid* grid = nullptr;
  Cluster* cluster = nullptr;
  dim3 index;
  std::vector<Thread> threads;
  std::vector<SharedArray> arrays;
  unsigned at_barrier = 0;
  unsigned entered = 0, exited = 0;  // threads
};

struct Grid {
  const char* kernel;
  dim3 shape;
  dim3 block_shape;
  std::size_t shared_bytes;
  const std::function<void()>& body;
  std::uint64_t seed;
  std::mt19937_64 random{seed};
  std::vector<Thread*> ready{};
  std::exception_ptr failure{};
  char started = 0, left = 0, fenced = 0;  // their addresses name orders, see publish()
};

inline std::size_t volume(const dim3& shape) { return std::size_t{shape.x} * shape.y * shape.z; }

inline dim3 unravel(std::size_t rank, const dim3& shape) {
  return {static_cast<unsigned>(rank % shape.x), static_cast<unsigned>(rank / shape.x % shape.y),
          static_cast<unsigned>(rank / shape.x / shape.y)};
}

inline std::string text(const dim3& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) +
         ")";
}

inline std::string text(const Place& place) {
  const std::string file = place.file_name();
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(place.line());
}

inline std::string text(const Block& block) {
  return std::string("kernel ") + block.grid->kernel + ", block " + text(block.index);
}

inline std::string whereabouts(const Thread& thread) {
  switch (thread.state) {
    case State::kExited:
      return "exited";
    case State::kAtBarrier:
      return "at __syncthreads (" + text(thread.place) + ")";
    case State::kAtClusterBarrier:
      return "at the cluster's barrier (" + text(thread.place) + ")";
    case State::kInCollective: {
      char mask[9];
      std::snprintf(mask, sizeof mask, "%08x", thread.mask);
      return std::string("in ") + thread.operation + " (" + text(thread.place) + ") for lanes " + mask;
    }
    case State::kReady:
      break;
  }
  return "running";
}

// "32 threads at __syncthreads (entropy.cu:90), 96 threads exited".
inline std::string whereabouts(const Block& block) {
  std::map<std::string, int> counts;
  for (const Thread& thread : block.threads) ++counts[whereabouts(thread)];
  std::string list;
  for (const auto& [where, count] : counts) {
    list +=
        (list.empty() ? "" : ", ") + std::to_string(count) + (count == 1 ? " thread " : " threads ") + where;
  }
  return list;
}

[[noreturn]] inline void fail(const Block& block, const std::string& what) {
  throw Error(text(block) + ": " + what + ": " + whereabouts(block));
}

}  // namespace pyharness::emulator
