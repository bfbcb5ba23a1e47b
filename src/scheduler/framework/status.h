#pragma once

// Status: what a plugin answers for a pod as a whole (for single nodes see NodeFilter). Success unless it
// says otherwise; the reasons become the text that users read.
//
// Some fifty of them are made and thrown away with every pod, nearly all of which have nothing to say but
// their code: these cost no more than a number does, and words are kept apart.

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
  // Who said so; set by the runner. "": nobody has.
  const std::string& plugin() const;
  void setPlugin(std::string plugin);
  // All reasons.
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

// An error that says what is being thrown, with a line in the log. In an exception handler only.
Status statusOfThrown() noexcept;

}  // namespace koord::scheduler

namespace koord::detail {

// What a coroutine throws that answers with a Status is its answer: the coroutines of plugins do, and so
// a mistake in one of them costs a pod its attempt.
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
  void unhandled_exception() noexcept { value.emplace(scheduler::statusOfThrown()); }
};

}  // namespace koord::detail
