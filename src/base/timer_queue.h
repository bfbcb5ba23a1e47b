#pragma once

// Timers in due order, then in the order in which they were set; used by both loops. Reuses the
// memory of finished timers: a program that sets the same timers each second does not allocate.

#include <map>
#include <memory_resource>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/executor.h"

namespace koord {

class TimerQueue {
 public:
  TimerId add(SteadyTime when, Callback fn) {
    const TimerId id = ++last_;
    due_.emplace(std::pair{when, id}, std::move(fn));
    when_.emplace(id, when);
    return id;
  }

  void cancel(TimerId id) {
    const auto it = when_.find(id);
    if (it == when_.end()) return;
    due_.erase({it->second, id});
    when_.erase(it);
  }

  std::optional<SteadyTime> next() const {
    if (due_.empty()) return std::nullopt;
    return due_.begin()->first.first;
  }

  // Removes and returns the first timer that is due at `now`; empty if there is none.
  Callback takeDue(SteadyTime now) {
    if (due_.empty() || due_.begin()->first.first > now) return nullptr;
    auto node = due_.extract(due_.begin());
    when_.erase(node.key().second);
    return std::move(node.mapped());
  }

 private:
  TimerId last_ = 0;
  std::pmr::unsynchronized_pool_resource memory_;
  std::pmr::map<std::pair<SteadyTime, TimerId>, Callback> due_{&memory_};
  std::pmr::unordered_map<TimerId, SteadyTime> when_{&memory_};
};

}  // namespace koord
