#include "scheduler/framework/controller.h"

namespace koord::scheduler {

bool runsController(const std::vector<std::string>& choices, std::string_view plugin) {
  bool all = false;
  for (const std::string_view choice : choices) {
    if (choice == plugin) return true;
    if (choice.starts_with('-') && choice.substr(1) == plugin) return false;
    all |= choice == "*";
  }
  return all;
}

}  // namespace koord::scheduler
