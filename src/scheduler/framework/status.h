#pragma once

// Status: a plugin's answer for a whole pod (for single nodes see NodeFilter). Success by default.
// The reasons become the text that users read.
//
// About fifty are created and destroyed per pod, and nearly all have a code only. Those cost as
// much as a number; texts are allocated separately.

#include <coroutine>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/boxed.h"
#include "base/result.h"
#include "base/task.h"
#include "scheduler/engine/verdicts.h"

namespace koord::scheduler {

class Status {
 public:
  Status() = default;
  explicit Status(Code what) : code(what) {}
  Status(Code what, std::vector<std::string> reasons, std::string plugin);

  static Status skip() { return Status(Code::Skip); }
  static Status unschedulable(std::string reason) { return with(Code::Unschedulable, reason); }
  static Status unresolvable(std::string reason) {
    return with(Code::UnschedulableAndUnresolvable, reason);
  }
  static Status pending(std::string reason) { return with(Code::Pending, reason); }
  static Status error(std::string message) { return with(Code::Error, message); }
  static Status of(const Error& error) { return Status::error(error.message); }

  Code code = Code::Success;

  bool ok() const { return code == Code::Success; }
  bool skipped() const { return code == Code::Skip; }
  bool rejected() const { return isRejection(code); }
  const std::vector<std::string>& reasons() const;
  std::vector<std::string> takeReasons();
  void setReasons(std::vector<std::string> reasons);
  // The plugin that returned this status; set by the caller. "" if none.
  const std::string& plugin() const;
  void setPlugin(std::string plugin);
  // All reasons, joined.
  std::string message() const;

 private:
  struct Words {
    std::vector<std::string> reasons;
    std::string plugin;
  };
  static Status with(Code code, std::string& reason);
  Words& words();

  api::Boxed<Words> words_;
};

// Returns an error that describes the exception being handled, and logs it. Call in an exception
// handler only.
Status statusFromException() noexcept;

}  // namespace koord::scheduler

namespace koord::detail {

// Promise of coroutines that return a Status or a result with one, as those of plugins do. An
// exception becomes the result, so a bug in a plugin costs one pod its attempt.
template <class Answer, class Promise>
struct SurvivingPromise : TaskPromiseBase {
  std::optional<Answer> value;
  Task<Answer> get_return_object() noexcept {
    return Task<Answer>(std::coroutine_handle<Promise>::from_promise(static_cast<Promise&>(*this)));
  }
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  Answer take() { return std::move(*value); }
};

template <>
struct TaskPromise<scheduler::Status>
    : SurvivingPromise<scheduler::Status, TaskPromise<scheduler::Status>> {
  void unhandled_exception() noexcept { value.emplace(scheduler::statusFromException()); }
};

}  // namespace koord::detail
