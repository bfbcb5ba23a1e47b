#pragma once

// ControllerPlugin: a plugin's work apart from placing pods: updating the status of its objects,
// expiring them, evicting pods that exceed a limit.
//
// It runs on the leader only, from before the first pod is scheduled, when all stores have been
// read, until the process stops leading. Profiles share one controller: of plugins of the same name
// only the first profile's runs, so its state must be in stores or SharedStates. The flag
// --controller-plugins can disable it.
//
//   Task<void> Reservations::run() {
//     for (;;) {
//       ...
//       auto pause = sleepFor(executor_, kPeriod);
//       co_await pause;
//     }
//   }

#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"

namespace koord::scheduler {

class ControllerPlugin {
 public:
  virtual ~ControllerPlugin() = default;
  // Called once, on the scheduler's thread. The task is destroyed at its current suspension point
  // when leadership ends.
  virtual Task<void> run() = 0;
};

// Returns true if --controller-plugins enables the plugin. The first match wins: NAME enables it,
// -NAME disables it; without a match it is enabled if * is in the list.
bool runsController(const std::vector<std::string>& choices, std::string_view plugin);

}  // namespace koord::scheduler
