#include "base/task.h"

#include "base/caught.h"
#include "base/log.h"

namespace koord {

// The outermost frame of a spawned task. It owns the task and destroys itself at the end.
struct TaskGroup::Root {
  struct promise_type {
    TaskGroup* group = nullptr;

    Root get_return_object() noexcept {
      return Root{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept {
      group->running_.erase(std::coroutine_handle<promise_type>::from_promise(*this).address());
      return {};
    }
    void return_void() noexcept {}
    // The task's work stays half done. A restarted process recovers; a process that continues
    // without this task may fail silently.
    [[noreturn]] void unhandled_exception() noexcept {
      log::error("an uncaught exception ends the process: {}", thrownText());
      std::terminate();
    }
  };
  std::coroutine_handle<promise_type> handle;
};

TaskGroup::Root TaskGroup::run(Task<void> task) {
  Task<void> owned = std::move(task);
  co_await owned;
}

void TaskGroup::spawn(Task<void> task) {
  Root root = run(std::move(task));
  root.handle.promise().group = this;
  running_.insert(root.handle.address());
  root.handle.resume();
}

TaskGroup::~TaskGroup() {
  // Destroying a frame may run destructors that look at the group, so it is emptied first.
  const auto frames = std::exchange(running_, {});
  for (void* frame : frames) std::coroutine_handle<>::from_address(frame).destroy();
}

}  // namespace koord
