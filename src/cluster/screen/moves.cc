#include "cluster/screen/moves.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/screen/status.h"
#include "descheduler/migration/keys.h"

namespace koord::cluster {

namespace {

std::string said(const api::PodMigrationJob& job, std::string_view key) {
  const auto* text = api::findIn(job.metadata.annotations, key);
  return text ? *text : std::string();
}

Move moveOf(const api::PodMigrationJob& job) {
  using namespace descheduler;
  Move move;
  move.job = job.metadata.name;
  move.pod = job.spec.podRef.namespace_ + "/" + job.spec.podRef.name;
  move.from = said(job, kAnnotationFromNode);
  move.to = job.status.nodeName.empty() ? said(job, kAnnotationPlannedNode) : job.status.nodeName;
  const auto phase = job.status.phase.view();
  move.begun = phase == "Running";
  const bool open = phase.empty() || phase == "Pending" || move.begun;
  move.phase = open                   ? Move::Phase::Open
               : phase == "Succeeded" ? Move::Phase::Done
                                      : Move::Phase::Failed;
  move.lastStep = job.metadata.creationTimestamp.value_or(WallTime{});
  for (const auto& condition : job.status.conditions)
    if (condition.lastTransitionTime)
      move.lastStep = std::max<WallTime>(move.lastStep, *condition.lastTransitionTime);
  move.message = job.status.message.empty() ? job.status.reason : job.status.message;
  move.why = said(job, kAnnotationEvictTrigger);
  if (const std::string reason = said(job, kAnnotationEvictReason); !reason.empty())
    move.why += (move.why.empty() ? "" : ": ") + reason;
  return move;
}

std::string stateOf(const Move& move, WallTime now) {
  const std::string ago = ageText(now - move.lastStep);
  if (move.phase == Move::Phase::Done) return fmt::format("moved {} ago", ago);
  if (move.phase == Move::Phase::Failed) return fmt::format("failed {} ago: {}", ago, move.message);
  return fmt::format("{} for {}{}{}", move.begun ? "in progress" : "waits", ago,
                     move.message.empty() ? "" : ": ", move.message);
}

}  // namespace

std::vector<Move> movesOf(const MigrationJobs& jobs) {
  std::vector<Move> moves;
  moves.reserve(jobs.size());
  for (const auto& job : jobs) moves.push_back(moveOf(*job));
  std::ranges::sort(moves, [](const Move& a, const Move& b) {
    const auto isOver = [](const Move& move) { return move.phase != Move::Phase::Open; };
    if (isOver(a) != isOver(b)) return isOver(b);
    return std::pair(b.lastStep, b.job) < std::pair(a.lastStep, a.job);
  });
  return moves;
}

Moves describeMoves(const MigrationJobs& jobs, WallTime now) {
  Moves moves;
  for (const Move& move : movesOf(jobs)) {
    moves.lines.push_back(fmt::format("{}: {} to {}, {}{}", move.pod,
                                      move.from.empty() ? "?" : move.from,
                                      move.to.empty() ? "?" : move.to, stateOf(move, now),
                                      move.why.empty() ? "" : " (" + move.why + ")"));
    ++(move.phase == Move::Phase::Open   ? moves.open
       : move.phase == Move::Phase::Done ? moves.done
                                         : moves.failed);
  }
  return moves;
}

}  // namespace koord::cluster
