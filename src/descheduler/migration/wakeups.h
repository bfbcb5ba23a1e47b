#pragma once

// Wakeups: at most one timer per key, the earliest requested.

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>

#include "base/executor.h"

namespace koord::descheduler {

class Wakeups {
 public:
  Wakeups(Executor& executor, std::function<void(const std::string& key)> wake)
      : executor_(executor), wake_(std::move(wake)) {}
  ~Wakeups() {
    for (const auto& [key, entry] : timers_) executor_.cancel(entry.timer);
  }
  Wakeups(const Wakeups&) = delete;
  Wakeups& operator=(const Wakeups&) = delete;

  void in(const std::string& key, Duration delay) {
    const SteadyTime when = executor_.steadyNow() + std::max(delay, Duration::zero());
    Entry& entry = timers_[key];
    if (entry.timer != 0 && entry.when <= when) return;
    if (entry.timer != 0) executor_.cancel(entry.timer);
    entry.when = when;
    entry.timer = executor_.runAt(when, [this, key] {
      timers_.erase(key);
      wake_(key);
    });
  }
  void forget(const std::string& key) {
    const auto it = timers_.find(key);
    if (it == timers_.end()) return;
    executor_.cancel(it->second.timer);
    timers_.erase(it);
  }

 private:
  struct Entry {
    TimerId timer = 0;
    SteadyTime when{};
  };
  Executor& executor_;
  std::function<void(const std::string&)> wake_;
  std::unordered_map<std::string, Entry> timers_;
};

}  // namespace koord::descheduler
