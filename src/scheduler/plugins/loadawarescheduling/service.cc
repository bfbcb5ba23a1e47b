// The plugin's HTTP endpoint about a node.

#include <algorithm>

#include "api/codec.h"
#include "base/time.h"
#include "scheduler/plugins/loadawarescheduling/plugin.h"

namespace koord::scheduler {

namespace {

json::array sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  json::array list;
  for (const auto& name : names) list.push_back(json::string(name));
  return list;
}

}  // namespace

std::vector<ServicePlugin::Route> LoadAwareScheduling::routes() {
  return {{.path = "node/",
           .shown = "node/:nodeName",
           .answer = [this](const std::string& name) { return describe(name); },
           .open = true}};
}

Result<json::value> LoadAwareScheduling::describe(const std::string& name) const {
  json::object out;
  const auto node = cluster_.findNode(name);
  if (!node) return json::value(out);
  const NodeLoad* const load = table_.at(*node);
  std::vector<std::pair<WallTime, json::value>> pods;
  std::vector<std::string> delta, prodDelta, estimated;
  table_.forEachPod(*node, [&](const PodInfo& pod, const AssignedLoad& assigned) {
    pods.emplace_back(assigned.since, api::encode(*pod.pod));
    if (!load) return;
    const LoadShare share = load->shareOf(pod, assigned);
    const auto adds = [&](std::int64_t LoadShare::Amounts::* to) {
      for (std::size_t i = 0; i < table_.resources().size(); ++i)
        if (share.of(i).*to != 0) return true;
      return false;
    };
    if (adds(&LoadShare::Amounts::estimated)) estimated.push_back(pod.key());
    if (adds(&LoadShare::Amounts::delta)) delta.push_back(pod.key());
    if (adds(&LoadShare::Amounts::prodDelta)) prodDelta.push_back(pod.key());
  });
  std::ranges::stable_sort(pods, {}, [](const auto& pod) { return pod.first; });
  json::array list;
  for (auto& [since, pod] : pods)
    list.push_back(json::object{{"timestamp", formatTime(since)}, {"pod", std::move(pod)}});
  if (!list.empty()) out["pods"] = std::move(list);
  if (!load) return json::value(std::move(out));
  const LoadResources& resources = table_.resources();
  out["prodUsage"] = resources.toJson(load->prodUsage());
  out["nodeDelta"] = resources.toJson(load->delta());
  out["prodDelta"] = resources.toJson(load->prodDelta());
  out["nodeEstimated"] = resources.toJson(load->estimated());
  if (!delta.empty()) out["nodeDeltaPods"] = sorted(std::move(delta));
  if (!prodDelta.empty()) out["prodDeltaPods"] = sorted(std::move(prodDelta));
  if (!estimated.empty()) out["nodeEstimatedPods"] = sorted(std::move(estimated));
  return json::value(std::move(out));
}

}  // namespace koord::scheduler
