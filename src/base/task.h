#pragma once

// Task<T>: a lazy coroutine for the linear asynchronous code of one actor.
//
//   Task<Result<Pod>> Binder::fetch(ObjectKey key) {
//     auto reply = co_await api_.get(kPods, key);
//     if (!reply) co_return fail(std::move(reply.error()));
//     ...
//   }
//
// A Task does nothing until it is awaited or passed to TaskGroup::spawn. All of it runs on the
// actor's executor. Destroying a Task, or the group that runs it, destroys the frames that are
// suspended inside; awaitables therefore forget their waiter when they are destroyed.
//
// An exception that leaves a Task reaches its awaiter, as in a function call. Exceptions do not
// report errors here: a thrown exception is a bug. Code that works for a request, a queue key or a
// pod catches it, so that the bug costs one piece of work (base/caught.h). Without a catch the
// state behind the task is unknown: TaskGroup logs the exception and ends the process.
//
// g++ 12: keep values that cross a co_await in named locals, do not await an expression that makes
// temporaries with destructors, and spawn member functions or free functions with value parameters,
// never capturing lambdas that are coroutines.

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/executor.h"

namespace koord {

template <class T = void>
class Task;

namespace detail {

struct TaskPromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::exception_ptr thrown;

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) noexcept {
      return self.promise().continuation;
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }
  void rethrow() {
    if (thrown) [[unlikely]]
      std::rethrow_exception(std::exchange(thrown, nullptr));
  }
};

template <class T>
struct TaskPromise : TaskPromiseBase {
  std::optional<T> value;
  Task<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    rethrow();
    return std::move(*value);
  }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void take() { rethrow(); }
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
    handle_.promise().continuation = waiter;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  Handle handle_;
};

namespace detail {
template <class T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
  return Task<T>(Task<T>::Handle::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(Task<void>::Handle::from_promise(*this));
}
}  // namespace detail

// Runs tasks that have no awaiter, all on one executor's thread. Do not destroy it inside a task
// that it runs. Its destructor destroys the tasks that have not ended.
class TaskGroup {
 public:
  TaskGroup() = default;
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup();

  // Starts the task at once, on the caller's stack, up to its first suspension. An exception that
  // leaves it ends the process.
  void spawn(Task<void> task);
  std::size_t size() const { return running_.size(); }

 private:
  struct Root;
  static Root run(Task<void> task);
  std::unordered_set<void*> running_;  // frames of Root coroutines
};

namespace detail {
template <class T>
struct FutureState {
  Executor* executor;
  std::optional<T> value;
  std::coroutine_handle<> waiter;
};
}  // namespace detail

template <class T>
class Completer;

// A value that arrives later, for one waiter on the executor's thread.
template <class T>
class [[nodiscard]] Future {
 public:
  // The Completer may be completed on any thread; the waiter always resumes on `executor`, which
  // must outlive both.
  static std::pair<Future, Completer<T>> make(Executor& executor) {
    auto state = std::make_shared<detail::FutureState<T>>(&executor, std::nullopt, nullptr);
    return {Future(state), Completer<T>(state)};
  }

  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) noexcept = default;
  ~Future() {
    if (state_) state_->waiter = nullptr;
  }

  bool await_ready() const noexcept { return state_->value.has_value(); }
  void await_suspend(std::coroutine_handle<> waiter) noexcept { state_->waiter = waiter; }
  T await_resume() { return std::move(*state_->value); }

 private:
  explicit Future(std::shared_ptr<detail::FutureState<T>> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::FutureState<T>> state_;
};

// The producer's end of a Future; copies share it, and the first completion wins.
template <class T>
class Completer {
 public:
  void complete(T value) const {
    auto state = state_;
    state->executor->post([state, value = std::move(value)]() mutable {
      if (state->value) return;
      state->value.emplace(std::move(value));
      if (state->waiter) std::exchange(state->waiter, nullptr).resume();
    });
  }

 private:
  friend class Future<T>;
  explicit Completer(std::shared_ptr<detail::FutureState<T>> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::FutureState<T>> state_;
};

// co_await sleepFor(executor, 5s)
class [[nodiscard]] Sleep {
 public:
  Sleep(Executor& executor, SteadyTime until) : executor_(executor), until_(until) {}
  Sleep(const Sleep&) = delete;
  Sleep& operator=(const Sleep&) = delete;
  ~Sleep() {
    if (timer_ != 0) executor_.cancel(timer_);
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    timer_ = executor_.runAt(until_, [this, waiter] {
      timer_ = 0;
      waiter.resume();
    });
  }
  void await_resume() noexcept {}

 private:
  Executor& executor_;
  SteadyTime until_;
  TimerId timer_ = 0;
};

inline Sleep sleepFor(Executor& executor, Duration delay) {
  return Sleep(executor, executor.steadyNow() + delay);
}
inline Sleep sleepUntil(Executor& executor, SteadyTime when) {
  return Sleep(executor, when);
}

}  // namespace koord
