#include "scheduler/core/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace koord::scheduler {

Status Placement::assumeAndReserve(Attempt& attempt, NodeId node) {
  const PodPtr& pod = attempt.pod.info;
  attempt.node = node;
  attempt.permitted = true;
  attempt.nodeName = shared_.cluster.node(node).name;
  if (const auto assumed = shared_.cluster.assume(pod, node); !assumed)
    return Status::of(assumed.error());
  attempt.nominated = shared_.nominator.nodeOf(pod->uid());
  if (!attempt.nominated.empty()) shared_.nominator.remove(pod->uid());
  Status status = attempt.timer.point("Reserve", [&] { return reserve(attempt); });
  if (status.ok()) {
    status = attempt.timer.point("Permit", [&] { return permit(shared_, attempt); });
    attempt.permitted = status.ok();
  }
  if (status.ok()) {
    reserved_.push_back(&attempt);
  } else {
    (void)unreserveAndForget(shared_, attempt);
    restoreNomination(attempt);
  }
  return status;
}

void Placement::releaseAll() {
  while (!reserved_.empty()) release(*reserved_.back());
}

void Placement::release(Attempt& attempt) {
  if (std::erase(reserved_, &attempt) == 0) return;
  shared_.waiting.remove(attempt.pod.uid());
  (void)unreserveAndForget(shared_, attempt);
  restoreNomination(attempt);
}

// If the pod still waits, its nomination is as it was before, unless it has been changed meanwhile.
void Placement::restoreNomination(const Attempt& attempt) {
  if (attempt.nominated.empty()) return;
  const auto& waiting = shared_.known.ours();
  const auto now = waiting.find(attempt.pod.uid());
  if (now != waiting.end() &&
      now->second->pod->status.nominatedNodeName == attempt.pod.info->pod->status.nominatedNodeName)
    shared_.nominator.add(now->second, {true, attempt.nominated});
}

bool Placement::unreserveAndForget(Shared& shared, Attempt& attempt) {
  unreserve(attempt);
  const auto forgotten = shared.cluster.forget(attempt.pod.uid());
  if (forgotten && shared.audit) shared.audit->podForgotten(attempt.pod.uid());
  if (!forgotten) log::warn("{}", forgotten.error().message);
  return forgotten.has_value();
}

Status Placement::reserve(Attempt& attempt) {
  const Profile& profile = attempt.profile->profile();
  PluginMask rest = allOf(profile.reserve) & ~profile.idleFor(*attempt.pod.info).reserve;
  for (; rest != 0; rest &= rest - 1) {
    const auto& plugin = profile.reserve[firstIn(rest)];
    Status status = attempt.timer.plugin(plugin.name, "Reserve", [&] {
      return plugin.point->reserve(attempt.state, attempt.pod.info, attempt.node);
    });
    if (status.ok()) continue;
    status.setPlugin(plugin.name);
    if (!status.rejected()) {
      status = Status::error(
          fmt::format("running Reserve plugin \"{}\": {}", plugin.name, status.message()));
    }
    return status;
  }
  return {};
}

Status Placement::permit(Shared& shared, Attempt& attempt) {
  std::map<std::string, Duration> waits;
  const Profile& profile = attempt.profile->profile();
  PluginMask rest = allOf(profile.permit) & ~profile.idleFor(*attempt.pod.info).permit;
  for (; rest != 0; rest &= rest - 1) {
    const auto& plugin = profile.permit[firstIn(rest)];
    PermitResult answer = attempt.timer.plugin(plugin.name, "Permit", [&] {
      return plugin.point->permit(attempt.state, attempt.pod.info, attempt.node);
    });
    if (answer.status.ok()) continue;
    if (answer.status.code == Code::Wait) {
      waits[plugin.name] = std::min(answer.timeout, kMaxPermitWait);
      continue;
    }
    answer.status.setPlugin(plugin.name);
    if (answer.status.rejected()) return answer.status;
    return Status::error(
        fmt::format("running Permit plugin \"{}\": {}", plugin.name, answer.status.message()));
  }
  if (!waits.empty())
    shared.waiting.add(shared.executor, attempt.pod.info, attempt.node, std::move(waits));
  return {};
}

// All Reserve plugins, also those that were not called.
void Placement::unreserve(Attempt& attempt) {
  const auto& plugins = attempt.profile->profile().reserve;
  attempt.timer.point("Unreserve", [&] {
    for (auto it = plugins.rbegin(); it != plugins.rend(); ++it)
      guarded(attempt.timer.observer(), it->name, "Unreserve",
              [&] { it->point->unreserve(attempt.state, attempt.pod.info, attempt.node); });
    return Status{};
  });
}

}  // namespace koord::scheduler
