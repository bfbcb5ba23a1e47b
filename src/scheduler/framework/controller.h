#pragma once

// ControllerPlugin: what a plugin does beside placing pods: keeping the status of its objects, letting
// them expire, evicting what uses too much.
//
// It runs on the leader only, from the moment before the first pod is scheduled (all stores have been
// read by then) until the process stops leading. Profiles share one: of plugins of the same name only
// the first profile's runs, so what it looks after has to be in stores or SharedStates. The flag
// --controller-plugins can leave it out.
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
  // Begun once, and destroyed where it is suspended when leadership ends. On the scheduler's thread.
  virtual Task<void> run() = 0;
};

// Whether --controller-plugins lets this one run. What is named first counts: NAME = it runs, -NAME =
// it does not; else it runs if * is among them.
bool runsController(const std::vector<std::string>& choices, std::string_view plugin);

}  // namespace koord::scheduler
