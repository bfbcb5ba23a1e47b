#pragma once

// Keeps States' pods current: asks the source every sync interval, and at once when a pod directory
// has appeared in the kubepods cgroups that no known pod owns. A source that fails, or lists
// nothing while there are cgroups of pods (a kubelet that restarts), changes nothing.

#include "koordlet/states/kubelet.h"
#include "koordlet/states/states.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

class PodPoller {
 public:
  PodPoller(Executor& executor, Host& host, States& states, PodSource& source, Duration interval);

  void start();
  // What went wrong last; empty after a success.
  const std::string& lastError() const { return lastError_; }

 private:
  Task<void> loop();
  Task<void> sync();
  bool podDirBesides(const std::vector<PodView>& pods) const;

  Executor& executor_;
  Host& host_;
  States& states_;
  PodSource& source_;
  Duration interval_;
  std::string lastError_ = "no list yet";
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
