#include "scheduler/plugins/coscheduling/judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduler {

std::int64_t missingMembers(const GangProgress& gang) {
  if (gang.policy == MatchPolicy::OnceSatisfied && gang.satisfied) return 0;
  std::int64_t counting = gang.waiting;
  if (gang.policy == MatchPolicy::WaitingAndRunning) counting += gang.bound;
  return std::max<std::int64_t>(gang.minimum - counting, 0);
}

std::string shortageText(const std::string& id, const GangProgress& gang) {
  const bool running = gang.policy == MatchPolicy::WaitingAndRunning;
  std::string text = fmt::format("gang {} has nodes for {} of {} members", id,
                                 gang.waiting + (running ? gang.bound : 0), gang.minimum);
  if (gang.policy == MatchPolicy::OnlyWaiting && gang.bound > 0)
    text += fmt::format(" (match policy only-waiting; {} are bound and do not count)", gang.bound);
  return text;
}

}  // namespace koord::scheduler
