#include "scheduler/plugins/reservation/args.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/names.h"
#include "scheduler/engine/resources.h"

namespace koord::scheduler {

namespace {

// In seconds; 0 or a missing value mean the default.
Duration secondsOf(Fields& fields, std::string_view name, Duration absent) {
  constexpr std::int64_t kMost = 100LL * 365 * 24 * 3600;
  const std::int64_t seconds = fields.integer(name, 0, 0, kMost);
  return seconds == 0 ? absent : std::chrono::seconds(seconds);
}

std::vector<std::string> extendedNames(Fields& fields, std::string_view field, bool groups) {
  std::vector<std::string> names = fields.texts(field);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    if (groups && names[i].find('/') != std::string::npos) {
      fields.error(at, fmt::format("Invalid value: \"{}\": resource group name can't contain '/'",
                                   names[i]));
      continue;
    }
    const std::string resource = groups ? names[i] + "/x" : names[i];
    if (const std::string wrong = api::checkQualifiedName(resource); !wrong.empty()) {
      fields.error(at, fmt::format("Invalid value: \"{}\": {}", names[i], wrong));
    } else if (!isExtendedResource(resource) || resource.starts_with("kubernetes.io/")) {
      fields.error(at, fmt::format("Invalid value: \"{}\": only extended resources can be ignored",
                                   names[i]));
    }
  }
  return names;
}

}  // namespace

ReservationArgs ReservationArgs::read(Fields& fields) {
  ReservationArgs args;
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  args.enablePreemption = fields.boolean("enablePreemption", false);
  args.minCandidateNodesPercentage = fields.integer("minCandidateNodesPercentage", 10, 0, 100);
  args.minCandidateNodesAbsolute = fields.integer("minCandidateNodesAbsolute", 100, 0, kMost);
  args.controllerWorkers = std::max<std::int64_t>(fields.integer("controllerWorkers", 1, 0, 64), 1);
  args.gcDuration = secondsOf(fields, "gcDurationSeconds", args.gcDuration);
  args.gcInterval = secondsOf(fields, "gcIntervalSeconds", args.gcInterval);
  args.resyncInterval = secondsOf(fields, "resyncIntervalSeconds", args.resyncInterval);
  args.disableGarbageCollection = fields.boolean("disableGarbageCollection", false);
  Fields preAllocation = fields.object("preAllocationConfig");
  args.enableClusterMode = preAllocation.boolean("enableClusterMode", false);
  args.clusterLabelKey = preAllocation.text("clusterLabelKey", args.clusterLabelKey);
  args.clusterPriorityAnnotationKey =
      preAllocation.text("clusterPriorityAnnotationKey", args.clusterPriorityAnnotationKey);
  args.preferNoPreAllocatedPods = preAllocation.boolean("preferNoPreAllocatedPods", false);
  preAllocation.refuseUnknown();
  args.ignoredResources = extendedNames(fields, "ignoredResources", false);
  args.ignoredResourceGroups = extendedNames(fields, "ignoredResourceGroups", true);
  Fields index = fields.object("reservationSelectorIndex");
  args.indexEnabled = index.boolean("enabled", false);
  args.indexKeyPrefixes = index.texts("keyPrefixes");
  args.indexKeys = index.texts("keys");
  index.refuseUnknown();
  fields.refuseUnknown();
  return args;
}

bool ReservationArgs::ignores(const std::string& resource) const {
  if (ignoredResources.empty() && ignoredResourceGroups.empty()) return false;
  if (!isExtendedResource(resource)) return false;
  const std::string group = resource.substr(0, resource.find('/'));
  return std::ranges::find(ignoredResources, resource) != ignoredResources.end() ||
         std::ranges::find(ignoredResourceGroups, group) != ignoredResourceGroups.end();
}

}  // namespace koord::scheduler
