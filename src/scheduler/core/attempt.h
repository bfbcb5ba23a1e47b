#pragma once

// Attempt: one try to place one unit, from the queue until it is bound or back in the queue.

#include "scheduler/core/attempt_monitor.h"
#include "scheduler/core/profile_runtime.h"
#include "scheduler/framework/queued_pod.h"

namespace koord::scheduler {

// The members of a group between the group's cycle and the end of their bindings.
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
  bool sample = false;                                    // each plugin is timed
  std::vector<const Extension<PreBindPlugin>*> preBinds;  // those with something to do
  NodeId node = kNoNode;
  std::string nodeName;
  std::string nominated;        // the node that its object shows or will show as nominated
  bool keptNomination = false;  // after a failure: PostFilter plugins did not change it
  SteadyTime started{};
  std::size_t evaluated = 0;
  std::size_t feasible = 0;
  // Set when a group's cycle failed: the group's name, whether the others were rejected because of
  // this member, and how many of them had a node.
  std::string group;
  bool rootCause = true;
  std::size_t waiting = 0;
  // Members of its group that had a node in the try in which this one found none.
  Cluster::PodsOnNodes membersWithNode;
  bool preempted = false;                          // while it waited at Permit
  bool permitted = true;                           // false: Permit rejected its last node
  std::shared_ptr<GroupBinding> together;          // set when its group's bindings begin
  std::string_view phase;                          // of its binding cycle
  bool gone = false;                               // deleted meanwhile: its resources are released
  std::shared_ptr<const api::Pod> boundElsewhere;  // the unit as another scheduler has bound it
};

}  // namespace koord::scheduler
