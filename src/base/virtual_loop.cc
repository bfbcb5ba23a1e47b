#include "base/virtual_loop.h"

namespace koord {

VirtualLoop::VirtualLoop(WallTime start) : wallStart_(start) {}

bool VirtualLoop::runOne() {
  if (!posted_.empty()) {
    auto fn = std::move(posted_.front());
    posted_.pop_front();
    fn();
    return true;
  }
  if (auto fn = timers_.takeDue(now_)) {
    fn();
    return true;
  }
  return false;
}

void VirtualLoop::runReady() {
  while (runOne()) {
  }
}

void VirtualLoop::advance(Duration span) {
  const auto end = now_ + span;
  for (;;) {
    runReady();
    const auto next = timers_.next();
    if (!next || *next > end) break;
    now_ = *next;
  }
  now_ = end;
}

bool VirtualLoop::advanceUntil(const std::function<bool()>& done, Duration limit) {
  const auto end = now_ + limit;
  for (;;) {
    while (!done() && runOne()) {
    }
    if (done()) return true;
    const auto next = timers_.next();
    if (!next || *next > end) {
      now_ = end;
      return false;
    }
    now_ = *next;
  }
}

}  // namespace koord
