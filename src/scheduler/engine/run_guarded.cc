#include "scheduler/engine/run_guarded.h"

#include <fmt/format.h>

#include "base/log.h"

namespace koord::scheduler {

std::string describeException(std::string_view who, std::string_view where,
                              const std::exception* thrown) {
  std::string text = fmt::format("{} threw at {}: {}", who, where,
                                 thrown ? std::string_view(thrown->what())
                                        : "an exception of a type other than std::exception");
  log::error("{}", text);
  return text;
}

}  // namespace koord::scheduler
