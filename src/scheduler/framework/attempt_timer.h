#pragma once

// AttemptTimer: asks the plugins of an attempt, and tells the observer how long they took.

#include <string>
#include <string_view>

#include "base/executor.h"
#include "scheduler/framework/guarded.h"

namespace koord::scheduler {

// Takes the times of one attempt's extension points and, if it is a sample, of its plugins. Costs
// nothing without an observer. All that it is given must outlive it.
class AttemptTimer {
 public:
  AttemptTimer() = default;
  AttemptTimer(Observer* observer, const Clock& clock, const std::string& profile, bool sample)
      : observer_(observer), clock_(&clock), profile_(&profile), sample_(sample) {}

  // Calls all plugins of a point; what is returned has a code.
  template <class Call>
  auto point(std::string_view name, Call&& call) const {
    if (!observer_) return call();
    const SteadyTime since = clock_->steadyNow();
    auto answer = call();
    observer_->extensionPoint(name, codeOf(answer), *profile_, clock_->steadyNow() - since);
    return answer;
  }
  Observer* observer() const { return observer_; }
  // A plugin need not be called.
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
