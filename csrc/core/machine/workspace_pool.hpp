// Memory of working threads that outlives a call, so that its contents stay warm.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pyharness {

// A workspace is with one thread at a time. One that has a member trim() is trimmed when it comes back.
template <class Workspace>
class WorkspacePool {
 public:
  // A workspace for the time of a call.
  class Lease {
   public:
    explicit Lease(WorkspacePool& pool) : pool_(pool), workspace_(pool.take()) {}
    ~Lease() { pool_.give_back(std::move(workspace_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Workspace& operator*() const { return *workspace_; }
    Workspace* operator->() const { return workspace_.get(); }

   private:
    WorkspacePool& pool_;
    std::unique_ptr<Workspace> workspace_;
  };

 private:
  std::unique_ptr<Workspace> take() {
    {
      const std::lock_guard hold(lock_);
      if (!idle_.empty()) {
        std::unique_ptr<Workspace> workspace = std::move(idle_.back());
        idle_.pop_back();
        return workspace;
      }
    }
    return std::make_unique<Workspace>();
  }

  void give_back(std::unique_ptr<Workspace> workspace) noexcept {
    constexpr std::size_t kMostIdle = 64;
    if constexpr (requires { workspace->trim(); }) workspace->trim();
    const std::lock_guard hold(lock_);
    if (idle_.size() < kMostIdle) {
      if (idle_.capacity() == 0) idle_.reserve(kMostIdle);
      idle_.push_back(std::move(workspace));
    }
  }

  std::mutex lock_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace pyharness
