#pragma once

// QueuedPod: a pod that waits to be scheduled, and its history in the queue.

#include <set>
#include <string>

#include "base/executor.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

struct Profile;

struct QueuedPod {
  PodPtr info;
  const Profile* profile = nullptr;  // of its schedulerName; nullptr: none, or not in the queue yet
  std::string group;                 // that it is placed with (group.h); "" = none
  WallTime timestamp{};              // when it was last added to the queue
  int attempts = 0;
  int unschedulableCount = 0;  // attempts that ended in a rejection
  int consecutiveErrors = 0;   // consecutive attempts that ended in an error
  std::optional<WallTime> backoffExpiration;
  std::optional<WallTime> firstReady;  // when it first entered the active queue
  // Plugins that rejected it in the last attempt. An event that a hint of one of them accepts wakes
  // it.
  std::set<std::string> unschedulablePlugins;
  std::set<std::string> pendingPlugins;
  std::string gatingPlugin;  // PreEnqueue plugin that keeps it out of the active queue; "" = none
  bool flushed = false;      // moved because of the timeout, not by an event

  const std::string& uid() const { return info->uid(); }
  bool rejectedBy(const std::string& plugin) const {
    return unschedulablePlugins.contains(plugin) || pendingPlugins.contains(plugin);
  }
  bool hasRejectors() const { return !unschedulablePlugins.empty() || !pendingPlugins.empty(); }
};

}  // namespace koord::scheduler
