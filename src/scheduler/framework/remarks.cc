#include "scheduler/framework/remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kube/events.h"

namespace koord::scheduler {

void reportIgnored(Handle& handle, const PodInfo& pod, std::span<const std::string> ignored) {
  kube::EventRecorder* const events = handle.events();
  if (ignored.empty() || !events) return;
  events->record(handle.kindOf(pod).reference(pod), "Warning", "InvalidAnnotation",
                 fmt::format("{}; it is ignored", fmt::join(ignored, "; ")), "Scheduling");
}

}  // namespace koord::scheduler
