// Selects the plugins whose controllers run, and starts and stops them (framework/controller.h).

#include <fmt/format.h>

#include <set>

#include "base/log.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/framework/controller.h"

namespace koord::scheduler {

void Scheduler::startControllers() {
  if (controllers_) return;
  controllers_ = std::make_unique<TaskGroup>();
  std::set<std::string, std::less<>> running;
  for (const auto& [name, runtime] : profiles_) {
    for (const auto& plugin : runtime->profile().plugins) {
      auto* controller = dynamic_cast<ControllerPlugin*>(plugin.get());
      if (!controller || !runsController(options_.controllerPlugins, plugin->name())) continue;
      if (running.emplace(plugin->name()).second) controllers_->spawn(controller->run());
    }
  }
  if (!running.empty())
    log::info("started the controllers of plugins: {}", fmt::join(running, ", "));
}

}  // namespace koord::scheduler
