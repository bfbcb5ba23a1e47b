#include "cluster/up/moves.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/up/status.h"
#include "descheduler/migration/keys.h"

namespace koord::cluster {

namespace {

using JobPtr = std::shared_ptr<const api::PodMigrationJob>;

std::string said(const api::PodMigrationJob& job, std::string_view key) {
  const auto* text = api::findIn(job.metadata.annotations, key);
  return text ? *text : std::string();
}

bool isOver(const api::PodMigrationJob& job) {
  const auto phase = job.status.phase.view();
  return !phase.empty() && phase != "Pending" && phase != "Running";
}

// The time of its last change of state.
WallTime lastStep(const api::PodMigrationJob& job) {
  WallTime last = job.metadata.creationTimestamp.value_or(WallTime{});
  for (const auto& condition : job.status.conditions)
    if (condition.lastTransitionTime)
      last = std::max<WallTime>(last, *condition.lastTransitionTime);
  return last;
}

std::string stateOf(const api::PodMigrationJob& job, WallTime now) {
  const std::string ago = ageText(now - lastStep(job));
  const auto phase = job.status.phase.view();
  const std::string what =
      job.status.message.empty() ? std::string(job.status.reason) : job.status.message;
  if (phase == "Succeeded") return fmt::format("moved {} ago", ago);
  if (isOver(job)) return fmt::format("failed {} ago: {}", ago, what);
  if (!what.empty())
    return fmt::format("{} for {}: {}", phase == "Running" ? "in progress" : "waits", ago, what);
  return fmt::format("{} for {}", phase == "Running" ? "in progress" : "waits", ago);
}

std::string lineOf(const api::PodMigrationJob& job, WallTime now) {
  using namespace descheduler;
  const std::string from = said(job, kAnnotationFromNode);
  std::string to =
      job.status.nodeName.empty() ? said(job, kAnnotationPlannedNode) : job.status.nodeName;
  std::string why = said(job, kAnnotationEvictTrigger);
  if (const std::string reason = said(job, kAnnotationEvictReason); !reason.empty())
    why += (why.empty() ? "" : ": ") + reason;
  return fmt::format("{}/{}: {} to {}, {}{}", job.spec.podRef.namespace_, job.spec.podRef.name,
                     from.empty() ? "?" : from, to.empty() ? "?" : to, stateOf(job, now),
                     why.empty() ? "" : " (" + why + ")");
}

}  // namespace

Moves describeMoves(std::vector<JobPtr> jobs, WallTime now) {
  Moves moves;
  std::ranges::sort(jobs, [](const JobPtr& a, const JobPtr& b) {
    if (isOver(*a) != isOver(*b)) return isOver(*b);
    return std::pair(lastStep(*b), b->metadata.name) < std::pair(lastStep(*a), a->metadata.name);
  });
  for (const JobPtr& job : jobs) {
    moves.lines.push_back(lineOf(*job, now));
    ++(!isOver(*job)                             ? moves.open
       : job->status.phase.view() == "Succeeded" ? moves.done
                                                 : moves.failed);
  }
  return moves;
}

}  // namespace koord::cluster
