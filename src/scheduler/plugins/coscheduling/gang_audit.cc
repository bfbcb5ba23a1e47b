#include "scheduler/plugins/coscheduling/gang_audit.h"

#include <algorithm>

namespace koord::scheduler {

namespace {

const PodInfo* waitingMember(const Gang& gang) {
  const auto waiting = std::ranges::find_if(
      gang.members, [](const auto& member) { return member.second->pod->spec.nodeName.empty(); });
  return waiting == gang.members.end() ? nullptr : waiting->second.get();
}

// Returns true if the gang is incomplete and scheduling gates block some of its members.
bool heldByGates(const Gang& gang) {
  return gang.notReady > 0 && !gang.complete() &&
         std::ranges::any_of(gang.members, [](const auto& member) {
           return !member.second->pod->spec.schedulingGates.empty();
         });
}

}  // namespace

void auditGangs(Handle& handle, Gangs& gangs) {
  if (WorkloadAudit* audit = auditOf(handle.shared()))
    (void)handle.shared().of<GangAudit>([&] { return std::make_unique<GangAudit>(gangs, *audit); });
}

GangAudit::GangAudit(Gangs& gangs, WorkloadAudit& audit) : gangs_(gangs), audit_(audit) {
  gangs.listen([this](const std::string& id) { report(id); });
}

bool GangAudit::waits(const Gang& gang) const {
  const auto partners = gangs_.partnersOf(gang);
  return std::ranges::any_of(
      partners, [](const Gang* partner) { return partner->members.size() > partner->bound; });
}

void GangAudit::forget(Seen& seen) {
  if (!seen.group.empty()) audit_.onGroupDeleted(seen.group);
  seen = {};
}

void GangAudit::report(const std::string& id) {
  const Gang* gang = gangs_.find(id);
  if (!gang) return;
  Seen& seen = seen_[id];
  const std::string group = gang->spec ? Gangs::groupIdOf(*gang) : std::string();
  if (!waits(*gang) || seen.group != group) forget(seen);
  const PodInfo* member = waitingMember(*gang);
  if (!member || group.empty() || gangs_.satisfied(*gang)) {
    if (seen.group.empty()) seen_.erase(id);
    return;
  }
  seen.group = group;
  const auto partners = gangs_.partnersOf(*gang);
  const bool held =
      std::ranges::any_of(partners, [](const Gang* partner) { return heldByGates(*partner); });
  audit_.onGroup(group, {gang->spec->minimum, held, *member});
  if (!std::exchange(seen.complete, gang->complete()) && seen.complete)
    audit_.groupCompleted(group, id);
}

}  // namespace koord::scheduler
