#pragma once

// Seam: stands between a scheduler and its surroundings, so that a forked copy of the process can
// cut the scheduler off from them.
//
// In the process that schedules, callbacks, timers and calls pass through. The seam keeps what is
// still open: posted callbacks, timers, and calls without an answer. After a fork, the child calls
// cut(). From then on the open callbacks and timers, and all new ones, run here on virtual time
// (run()), and a function of the child answers calls. Nothing reaches the surroundings.
//
// One inner callback or timer belongs to each outer one, so a recording of the surroundings has the
// same turns with and without a seam.
//
// On the scheduler's thread; post() may be called on any thread. Must outlive the scheduler.

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/executor.h"
#include "base/timer_queue.h"
#include "kube/api.h"
#include "scheduler/recording/pending.h"

namespace koord::scheduler::oracle {

class SeamExecutor final : public Executor {
 public:
  explicit SeamExecutor(Executor& inner) : inner_(inner) {}
  ~SeamExecutor() override;

  WallTime wallNow() const override {
    if (held_) return *held_;
    return cut_ ? WallTime(now_.time_since_epoch() + ahead_) : inner_.wallNow();
  }
  SteadyTime steadyNow() const override { return cut_ ? now_ : inner_.steadyNow(); }
  void post(Callback fn) override;
  TimerId runAt(SteadyTime when, Callback fn) override;
  void cancel(TimerId timer) override;

  // Hold it while the process forks: another thread may be in post().
  std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  void cut();
  bool isCut() const { return cut_; }

  // --- After cut().
  // The wall clock stands still from now on. What is compared with it keeps its age.
  void holdWall() { held_ = wallNow(); }
  // Runs what is ready, without moving time, until done() returns true. Returns true if it did.
  bool runReady(const std::function<bool()>& done);
  // Moves time, whatever timers are due before; each of them fires once in runReady().
  void moveTo(SteadyTime time) { now_ = std::max(now_, time); }
  // Moves time to the next timer, unless that is after `limit`; false: there is none until then.
  bool skipTo(SteadyTime limit);

 private:
  // Removes a posted callback; empty if it has run.
  Callback take(std::uint64_t number);
  void runTimer(TimerId own);

  struct Timer {
    SteadyTime when{};
    TimerId inner = 0;  // of inner_; after cut() of due_
    Callback fn;
  };
  void arm(TimerId own, Timer& timer);
  Executor& inner_;
  std::mutex mutex_;
  std::deque<Callback> posted_;  // guarded by mutex_; taken ones are empty
  std::uint64_t first_ = 0;      // number of the first in posted_; guarded by mutex_
  std::unordered_map<TimerId, Timer> timers_;
  TimerId lastTimer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  // After cut().
  bool cut_ = false;
  SteadyTime now_{};
  Duration ahead_{};  // of the wall clock
  std::optional<WallTime> held_;
  TimerQueue due_;
};

class SeamApi final : public kube::Api {
 public:
  SeamApi(SeamExecutor& executor, kube::Api& inner) : executor_(executor), inner_(inner) {}

  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override;
  bool takesProtobuf() const override { return !executor_.isCut() && inner_.takesProtobuf(); }

  // The number of events and answers that the scheduler has received: the version of its state.
  std::uint64_t received() const { return received_; }

  using Server = std::function<Result<std::string>(const kube::Request&)>;
  // After SeamExecutor::cut(): `server` answers all calls. Open ones get their answers when all
  // that is ready has run: the scheduler of the process receives none before it tries a new pod.
  void cut(Server server);

 private:
  using Answer = recording::Pending<Result<std::string>>;
  struct Open {
    kube::Request request;
    std::weak_ptr<Answer> answer;
    TaskGroup task;  // the inner call
    bool answered = false;
    bool delivering = false;  // the task is on the stack
  };
  using OpenCalls = std::list<Open>;
  class Caller;
  static Task<void> forward(SeamApi* self, OpenCalls::iterator open,
                            Task<Result<std::string>> call);

  SeamExecutor& executor_;
  kube::Api& inner_;
  std::uint64_t received_ = 0;
  OpenCalls open_;
  Server server_;
};

struct Seam {
  Seam(Executor& innerExecutor, kube::Api& innerApi)
      : executor(innerExecutor), api(executor, innerApi) {}
  SeamExecutor executor;
  SeamApi api;
};

}  // namespace koord::scheduler::oracle
