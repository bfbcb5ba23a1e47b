#include "scheduler/plugins/coscheduling/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <set>

#include "base/time.h"

namespace koord::scheduler {

namespace {

// Go's sets.Set[string] as JSON.
json::object setOf(const std::set<std::string>& keys) {
  json::object set;
  for (const std::string& key : keys) set.emplace(key, json::object());
  return set;
}

json::array listOf(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) list.push_back(json::string(text));
  return list;
}

struct MemberSets {
  std::set<std::string> all, pending, waiting, bound;
};
MemberSets membersOf(const Gangs& gangs, const Gang& gang) {
  MemberSets sets;
  const Cluster& cluster = const_cast<Gangs&>(gangs).handle().cluster();
  for (const auto& [uid, pod] : gang.members) {
    sets.all.insert(pod->key());
    const auto* record = cluster.findPod(uid);
    auto& where = !record ? sets.pending : record->assumed ? sets.waiting : sets.bound;
    where.insert(pod->key());
  }
  return sets;
}

json::object groupInfo(const Gangs& gangs, const Gang& gang) {
  const std::string groupId = Gangs::groupIdOf(gang);
  std::set<std::string> waiting;
  std::set<std::string> releasing;  // uids
  for (const Gang* partner : gangs.partnersOf(gang)) {
    if (gangs.waitingIn(*partner) > 0) waiting.insert(partner->id);
    for (const auto& [uid, release] : partner->released) releasing.insert(uid);
  }
  return {
      {"Initialized", gang.spec.has_value()},     {"GangGroupId", groupId},
      {"GangGroup", listOf(gangs.groupOf(gang))}, {"OnceResourceSatisfied", gangs.satisfied(gang)},
      {"WaitingGangIDs", setOf(waiting)},         {"RepresentativePodKey", ""},
      {"BindingMemberPods", setOf(releasing)}};
}

}  // namespace

std::string gangShortageText(const GangCycles& cycles, const Gangs& gangs, const Gang& gang) {
  if (gang.deleted) return "its PodGroup, which was deleted";
  if (!gang.spec)
    return gang.unreadable.empty() ? fmt::format("PodGroup {}, which does not exist", gang.id)
                                   : gang.unreadable;
  for (const std::string& id : gang.spec->group) {
    const Gang* member = gangs.find(id);
    if (!member || !member->spec) return fmt::format("gang {}, which does not exist", id);
    if (gangs.free(*member) || member->complete()) continue;
    const auto more = member->spec->minimum - static_cast<std::int64_t>(member->ready());
    return fmt::format(
        "{} more {} of gang {}{}", more, more == 1 ? "pod" : "pods", id,
        member->notReady > 0
            ? fmt::format(" ({} are held back by gates or being deleted)", member->notReady)
            : "");
  }
  if (const GangRefusal* refusal = cycles.refusalOf(Gangs::groupIdOf(gang)))
    return "nodes for all members that it needs: " + refusal->message;
  return "";
}

namespace {

// NAMESPACE/NAME. For Kubernetes' own PodGroups, only if Koordinator has no gang of the same name.
const Gang* gangAt(const Gangs& gangs, const std::string& path) {
  const Gang* gang = gangs.find(path);
  return gang ? gang : gangs.find(fmt::format("{}/{}", api::WorkloadPodGroup::kType.group, path));
}

Result<json::value> noGang(const std::string& path) {
  return fail(ErrorCode::NotFound, "cannot find gang " + path);
}

}  // namespace

json::object gangSummary(const GangCycles& /*cycles*/, const Gangs& gangs, const Gang& gang) {
  const GangSpec spec = gang.spec.value_or(GangSpec());
  const MemberSets sets = membersOf(gangs, gang);
  return {{"name", gang.id},
          {"waitTime", spec.waitTime.count()},
          {"createTime", formatTime(spec.created)},
          {"mode", spec.mode == GangMode::Strict ? "Strict" : "NonStrict"},
          {"gangMatchPolicy", gang.spec ? spec.policyText : "once-satisfied"},
          {"minRequiredNumber", spec.minimum},
          {"totalChildrenNum", spec.total},
          {"gangGroup", listOf(gangs.groupOf(gang))},
          {"children", setOf(sets.all)},
          {"pendingChildren", setOf(sets.pending)},
          {"waitingForBindChildren", setOf(sets.waiting)},
          {"boundChildren", setOf(sets.bound)},
          {"onceResourceSatisfied", gangs.satisfied(gang)},
          {"gangGroupInfo", groupInfo(gangs, gang)},
          {"gangFrom", spec.fromPodGroup ? "GangFromPodGroupCrd" : "GangFromPodAnnotation"},
          {"hasGangInit", gang.spec.has_value()}};
}

json::object explainGang(const GangCycles& cycles, const Gangs& gangs, const Gang& gang) {
  const GangRefusal* refusal = cycles.refusalOf(Gangs::groupIdOf(gang));
  json::array groups;
  for (const std::string& id : gangs.groupOf(gang)) {
    const Gang* member = gangs.find(id);
    json::object group{{"name", id}};
    const std::int64_t minimum = member && member->spec ? member->spec->minimum : 0;
    const auto present = member ? static_cast<std::int64_t>(member->members.size()) : 0;
    const auto ready = member ? static_cast<std::int64_t>(member->ready()) : 0;
    group["minMember"] = minimum;
    group["present"] = present;
    group["bound"] = member ? static_cast<std::int64_t>(member->bound) : 0;
    group["missing"] = std::max<std::int64_t>(minimum - ready, 0);
    json::array failed;
    if (refusal && member) {
      std::set<std::string> keys;
      for (const auto& [uid, pod] : member->members) keys.insert(pod->key());
      for (const auto& each : refusal->failed)
        if (keys.contains(each.pod))
          failed.push_back(json::object{{"pod", each.pod}, {"reason", each.reason}});
    }
    group["failed"] = std::move(failed);
    if (member && member->spec && !member->spec->problems.empty())
      group["problems"] = listOf(member->spec->problems);
    groups.push_back(std::move(group));
  }
  std::string missingMembers = gangShortageText(cycles, gangs, gang);
  if (missingMembers.empty() && gang.bound < gang.members.size()) missingMembers = "its turn";
  return {
      {"gang", gang.id}, {"groups", std::move(groups)}, {"waitingFor", std::move(missingMembers)}};
}

json::object diagnoseGang(const GangCycles& cycles, const Gangs& gangs, const Gang& gang) {
  json::object answer = gangSummary(cycles, gangs, gang);
  for (auto& member : explainGang(cycles, gangs, gang))
    answer[member.key()] = std::move(member.value());
  return answer;
}

std::vector<ServicePlugin::Route> gangRoutes(GangCycles& cycles) {
  const Gangs& gangs = cycles.gangs();
  const auto one = [&cycles, &gangs](const std::string& path) -> Result<json::value> {
    const Gang* gang = gangAt(gangs, path);
    if (!gang) return noGang(path);
    return json::value(gangSummary(cycles, gangs, *gang));
  };
  const auto all = [&cycles, &gangs](const std::string&) -> Result<json::value> {
    json::object list;
    std::set<std::string> ids;
    for (const auto& [id, gang] : gangs.all()) ids.insert(id);
    for (const std::string& id : ids) list.emplace(id, gangSummary(cycles, gangs, *gangs.find(id)));
    return json::value(std::move(list));
  };
  const auto explain = [&cycles, &gangs](const std::string& path) -> Result<json::value> {
    for (const auto& [id, gang] : gangs.all())
      for (const auto& [uid, pod] : gang.members)
        if (pod->key() == path) return json::value(explainGang(cycles, gangs, gang));
    return fail(ErrorCode::NotFound, "no gang has a pod " + path);
  };
  const auto diagnosis = [&cycles, &gangs](const std::string& path) -> Result<json::value> {
    const Gang* gang = gangAt(gangs, path);
    if (!gang) return noGang(path);
    return json::value(diagnoseGang(cycles, gangs, *gang));
  };
  return {{.path = "gang/", .shown = "gang/:namespace/:name", .answer = one, .open = true},
          {.path = "gangs", .shown = "gangs", .answer = all, .open = true},
          {"diagnosis/", "diagnosis/:namespace/:name", diagnosis},
          {"explain/", "explain/:namespace/:name", explain}};
}

}  // namespace koord::scheduler
