// A flow of control with its own stack, switched by hand inside one host thread.
#pragma once

#include <cstddef>
#include <memory>

#if !defined(__x86_64__) || defined(PH_PORTABLE_FIBERS)
#define PH_UCONTEXT 1
#include <ucontext.h>
#else
#define PH_UCONTEXT 0
#endif

namespace pyharness::emulator {

// Frames under AddressSanitizer are several times larger than without.
inline constexpr std::size_t kStackBytes = 64 * 1024;

class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Readies `entry` to run on `stack` (kStackBytes, kept by the caller). `entry` must end in
  // leave_for_good().
  void prepare(std::byte* stack, void (*entry)());
  // From the scheduler into the fiber, until it leaves.
  void enter();
  // From the fiber back to the scheduler.
  void leave() { leave(false); }
  void leave_for_good() { leave(true); }
  // The first thing that `entry` calls.
  static void entered();
  // Whether the deepest frame stayed on the stack.
  bool stack_intact() const;

 private:
  void leave(bool for_good);

  std::byte* stack_ = nullptr;
  void* race_detector_fiber_ = nullptr;
#if PH_UCONTEXT
  ucontext_t context_{};
#else
  void* stack_pointer_ = nullptr;
#endif
};

}  // namespace pyharness::emulator
