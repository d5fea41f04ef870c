// Threads for the core: a fixed number of workers, the first exception handed back to the caller.
#pragma once

#include <algorithm>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace pyharness {

// More workers than this is a mistake in a caller, not a machine.
inline constexpr int kMostThreads = 1024;

inline void check_threads(int threads) {
  if (threads < 1 || threads > kMostThreads) throw std::invalid_argument("threads must be in 1..1024");
}

// Joins on every way out: a thread that cannot be started must not leave running ones behind.
class JoiningThreads {
 public:
  explicit JoiningThreads(std::size_t expected) { threads_.reserve(expected); }
  ~JoiningThreads() {
    for (auto& thread : threads_) thread.join();
  }
  JoiningThreads(const JoiningThreads&) = delete;
  JoiningThreads& operator=(const JoiningThreads&) = delete;

  template <class Work>
  void start(Work work) {
    threads_.emplace_back(std::move(work));
  }

 private:
  std::vector<std::thread> threads_;
};

// Calls work(worker) for worker = 0..threads-1, worker 0 on the calling thread. The calls must not wait for
// each other: where the system refuses a thread, its share runs on the calling thread instead.
template <class Work>
void run_on_threads(int threads, Work&& work) {
  check_threads(threads);
  std::exception_ptr failure;
  std::mutex failure_lock;
  auto guarded = [&](int worker) {
    try {
      work(worker);
    } catch (...) {
      const std::lock_guard hold(failure_lock);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    JoiningThreads others(static_cast<std::size_t>(threads) - 1);
    int started = 1;
    try {
      for (; started < threads; ++started) others.start([&guarded, worker = started] { guarded(worker); });
    } catch (const std::system_error&) {
      for (int worker = started; worker < threads; ++worker) guarded(worker);
    }
    guarded(0);
  }
  if (failure) std::rethrow_exception(failure);
}

// First index of the share of `worker` when `total` items are cut into `workers` equal shares.
inline std::size_t share_begin(std::size_t total, int worker, int workers) {
  const auto index = static_cast<std::size_t>(worker);
  const auto count = static_cast<std::size_t>(workers);
  return total / count * index + std::min(index, total % count);
}

}  // namespace pyharness
