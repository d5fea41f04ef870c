#include "kernels/emulator/fiber.hpp"

#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(PH_RACE_DETECTOR)
#include <sanitizer/tsan_interface.h>
#endif

namespace pyharness::emulator {
namespace {

constexpr std::uint64_t kCanary = 0x5ca1ab1e0ddba11;

// The host thread's own flow of control, to which fibers leave.
struct Scheduler {
#if PH_UCONTEXT
  ucontext_t context{};
#else
  void* stack_pointer = nullptr;
#endif
  const void* stack_bottom = nullptr;  // for AddressSanitizer
  std::size_t stack_bytes = 0;
  void* race_detector_fiber = nullptr;  // for ThreadSanitizer
};
thread_local Scheduler scheduler;

}  // namespace

#if !PH_UCONTEXT
// swapcontext() makes a system call for the signal mask at every switch: 1244 us against 142 for a launch of
// 4 blocks of 64 threads that meet 7 times. Saved here: what the System V ABI lets a callee not touch, and
// the two floating-point control words.
extern "C" void pyharness_switch_stack(void** save, void* load);
__asm__(
    ".text\n.p2align 4\n.local pyharness_switch_stack\n.type pyharness_switch_stack,@function\n"
    "pyharness_switch_stack:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  subq $8, %rsp\n  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"
    "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
    "  ldmxcsr (%rsp)\n  fldcw 4(%rsp)\n  addq $8, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n"
    ".size pyharness_switch_stack, .-pyharness_switch_stack\n");
#endif

Fiber::~Fiber() {
#if defined(PH_RACE_DETECTOR)
  if (race_detector_fiber_) __tsan_destroy_fiber(race_detector_fiber_);
#endif
}

void Fiber::prepare(std::byte* stack, void (*entry)()) {
  stack_ = stack;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, kStackBytes);  // a kernel that failed left its frames poisoned
#endif
#if defined(PH_RACE_DETECTOR)
  if (!race_detector_fiber_) race_detector_fiber_ = __tsan_create_fiber(0);
#endif
  std::memcpy(stack, &kCanary, sizeof kCanary);
#if PH_UCONTEXT
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
#else
  // What pyharness_switch_stack pops: control words, six registers, the return address; then a null return
  // address for `entry`, which also gives it the alignment of a called function.
  auto* top = reinterpret_cast<std::uint64_t*>((reinterpret_cast<std::uintptr_t>(stack) + kStackBytes) &
                                               ~std::uintptr_t{15});
  top -= 9;
  std::memset(top, 0, 9 * sizeof *top);
  __asm__ volatile("stmxcsr (%0)\n fnstcw 4(%0)" : : "r"(top) : "memory");
  top[7] = reinterpret_cast<std::uint64_t>(entry);
  stack_pointer_ = top;
#endif
}

void Fiber::enter() {
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack_, kStackBytes);
#endif
#if defined(PH_RACE_DETECTOR)
  // Without the implied order: only barriers order the memory of two CUDA threads.
  scheduler.race_detector_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(race_detector_fiber_, __tsan_switch_to_fiber_no_sync);
#endif
#if PH_UCONTEXT
  swapcontext(&scheduler.context, &context_);
#else
  pyharness_switch_stack(&scheduler.stack_pointer, stack_pointer_);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::entered() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &scheduler.stack_bottom, &scheduler.stack_bytes);
#endif
}

void Fiber::leave([[maybe_unused]] bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack, scheduler.stack_bottom,
                                 scheduler.stack_bytes);
#endif
#if defined(PH_RACE_DETECTOR)
  __tsan_switch_to_fiber(scheduler.race_detector_fiber, __tsan_switch_to_fiber_no_sync);
#endif
#if PH_UCONTEXT
  swapcontext(&context_, &scheduler.context);
#else
  pyharness_switch_stack(&stack_pointer_, scheduler.stack_pointer);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, &scheduler.stack_bottom, &scheduler.stack_bytes);
#endif
}

bool Fiber::stack_intact() const { return std::memcmp(stack_, &kCanary, sizeof kCanary) == 0; }

}  // namespace pyharness::emulator
