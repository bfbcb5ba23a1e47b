#include "scheduler/core/attempt_monitor.h"

#include <utility>

#include "base/log.h"
#include "base/time.h"

namespace koord::scheduler {

void AttemptMonitor::start() {
  if (timer_ == 0) timer_ = executor_.runAfter(options_.period, [this] { check(); });
}

void AttemptMonitor::begin(Watch& watch, PodPtr pod, const std::string& profile) {
  watch.monitor_ = this;
  watch.pod_ = std::move(pod);
  watch.profile_ = &profile;
  watch.since_ = executor_.steadyNow();
  watches_.push_back(watch);
}

void AttemptMonitor::Watch::end() {
  AttemptMonitor* const monitor = std::exchange(monitor_, nullptr);
  if (!monitor) return;
  monitor->reportIfLate(*this);
  unlink();
}

void AttemptMonitor::reportIfLate(Watch& watch) {
  const Duration took = executor_.steadyNow() - watch.since_;
  if (watch.reported_ || took <= options_.timeout) return;
  watch.reported_ = true;
  log::warn("!!!CRITICAL TIMEOUT!!! scheduling pod {}({}) took longer ({}) than the timeout {}",
            watch.pod_->key(), watch.pod_->uid(), formatDuration(took),
            formatDuration(options_.timeout));
  if (observer_) observer_->timedOut(*watch.profile_);
}

void AttemptMonitor::check() {
  const SteadyTime late = executor_.steadyNow() - options_.timeout;
  for (Watch& watch : watches_) {
    if (watch.since_ >= late) break;
    reportIfLate(watch);
  }
  timer_ = executor_.runAfter(options_.period, [this] { check(); });
}

std::map<std::string, Duration> AttemptMonitor::oldest() const {
  std::map<std::string, Duration> ages;
  const SteadyTime now = executor_.steadyNow();
  for (const Watch& watch : watches_) ages.emplace(*watch.profile_, now - watch.since_);
  return ages;
}

}  // namespace koord::scheduler
