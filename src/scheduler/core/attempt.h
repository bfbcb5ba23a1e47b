#pragma once

// Attempt: one try to place one unit, from the queue until it is bound or back in the queue.

#include "scheduler/core/attempt_monitor.h"
#include "scheduler/core/profile_runtime.h"
#include "scheduler/framework/queued_pod.h"

namespace koord::scheduler {

// The members of a group on their way from one cycle to being bound.
struct GroupBinding {
  std::size_t left = 0;
  std::size_t bound = 0;
  std::size_t failed = 0;
};

struct Attempt {
  QueuedPod pod;
  ProfileRuntime* profile = nullptr;
  CycleState state;
  AttemptTimer timer;
  AttemptMonitor::Watch watch;
  bool sample = false;                                    // plugins are timed one by one
  std::vector<const Extension<PreBindPlugin>*> preBinds;  // those that have something to do
  NodeId node = kNoNode;
  std::string nodeName;
  SteadyTime started{};
  std::size_t evaluated = 0;
  std::size_t feasible = 0;
  // Of a group's cycle that failed: its name, whether the others were refused for this member, and how
  // many of them had a place.
  std::string group;
  bool rootCause = true;
  std::size_t waiting = 0;
  // Members of its group that had found a place in the try in which it found none.
  Cluster::PodsOnNodes beside;
  bool permitted = true;  // false: Permit would not have it where it was placed last
  std::shared_ptr<GroupBinding> together;     // once it is let go with its group
  std::string_view phase;                     // of its binding cycle
  bool gone = false;                          // deleted meanwhile: its room is given away
  std::shared_ptr<const api::Pod> elsewhere;  // the unit as somebody else has bound it
};

}  // namespace koord::scheduler
