#pragma once

// AttemptTimer: calls the plugins of an attempt and reports their durations to the observer.

#include <string>
#include <string_view>

#include "base/executor.h"
#include "scheduler/framework/guarded.h"

namespace koord::scheduler {

// Measures the extension points of one attempt and, if it is a sample, its plugins. Costs nothing
// without an observer. All arguments must outlive it.
class AttemptTimer {
 public:
  AttemptTimer() = default;
  AttemptTimer(Observer* observer, const Clock& clock, const std::string& profile, bool sample)
      : observer_(observer), clock_(&clock), profile_(&profile), sample_(sample) {}

  // Calls all plugins of a point. The result must have a code.
  template <class Call>
  auto point(std::string_view name, Call&& call) const {
    if (!observer_) return call();
    const SteadyTime since = clock_->steadyNow();
    auto answer = call();
    observer_->extensionPoint(name, codeOf(answer), *profile_, clock_->steadyNow() - since);
    return answer;
  }
  Observer* observer() const { return observer_; }
  // Counts a plugin that need not be called.
  void idle(const std::string& name, std::string_view point) const {
    if (observer_ && isCounted(point)) observer_->evaluated(name, point, *profile_);
  }
  // Calls one plugin (guarded.h).
  template <class Call>
  auto plugin(const std::string& name, std::string_view point, Call&& call) const {
    const auto ask = [&] { return guarded(observer_, name, point, call); };
    if (!observer_) return ask();
    if (isCounted(point)) observer_->evaluated(name, point, *profile_);
    if (!sample_) return ask();
    const SteadyTime since = clock_->steadyNow();
    auto answer = ask();
    observer_->plugin(name, point, codeOf(answer), clock_->steadyNow() - since);
    return answer;
  }

 private:
  static bool isCounted(std::string_view point) {
    return point == "PreFilter" || point == "Filter" || point == "PreScore" || point == "Score";
  }
  static Code codeOf(const Status& status) { return status.code; }
  template <class Answer>
  static Code codeOf(const Answer& answer) {
    return answer.status.code;
  }

  Observer* observer_ = nullptr;
  const Clock* clock_ = nullptr;
  const std::string* profile_ = nullptr;
  bool sample_ = false;
};

}  // namespace koord::scheduler
