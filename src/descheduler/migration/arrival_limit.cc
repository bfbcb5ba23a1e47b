#include "descheduler/migration/arrival_limit.h"

#include <fmt/format.h>

#include "descheduler/migration/keys.h"

namespace koord::descheduler {

std::string_view ArrivalLimit::nodeOf(const api::PodMigrationJob& job) {
  return job.status.nodeName.empty() ? annotationOf(job, kAnnotationPlannedNode)
                                     : std::string_view(job.status.nodeName);
}

std::map<std::string, std::int64_t> ArrivalLimit::arrivingByNode() const {
  std::map<std::string, std::int64_t> counts;
  if (!limited()) return counts;
  for (const std::string& name : jobs_.open())
    if (const auto node = nodeOf(*jobs_.get(name)); !node.empty()) ++counts[std::string(node)];
  return counts;
}

std::string ArrivalLimit::limitMessage(std::string_view node, std::int64_t count) const {
  return fmt::format("{} pods are on their way to node {} (maxArrivingPerNode: {})", count, node,
                     args_.maxArrivingPerNode);
}

std::string ArrivalLimit::refusal(const api::PodMigrationJob& job,
                                  const std::set<std::string>& starting) const {
  const std::string_view node = nodeOf(job);
  if (!limited() || node.empty()) return {};
  std::int64_t count = 0;
  for (const std::string& name : jobs_.open()) {
    const JobPtr other = jobs_.get(name);
    if (name == job.metadata.name || nodeOf(*other) != node) continue;
    count += conditionOf(other->status, condition::kEviction) || starting.contains(name);
  }
  return count < args_.maxArrivingPerNode ? std::string() : limitMessage(node, count);
}

}  // namespace koord::descheduler
