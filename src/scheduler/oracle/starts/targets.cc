#include "scheduler/oracle/starts/targets.h"

#include <algorithm>

#include "scheduler/forecast/workload.h"
#include "scheduler/services/explain.h"

namespace koord::scheduler::oracle {

namespace {

bool isOf(const Scheduler& scheduler, const PodInfo& pod, const StartTarget& target) {
  const api::ObjectMeta& meta = pod.pod->metadata;
  switch (target.kind) {
    case StartTarget::Kind::Pod:
      return meta.namespace_ == target.namespace_ && meta.name == target.name;
    case StartTarget::Kind::Gang:
      return meta.namespace_ == target.namespace_ && forecast::gangOf(*pod.pod) == target.name;
    case StartTarget::Kind::Quota:
      return isInQuota(scheduler, pod, target.name);
  }
  return false;
}

}  // namespace

bool isInQuota(const Scheduler& scheduler, const PodInfo& pod, const std::string& quota) {
  const json::object facts = pluginFacts(scheduler, pod);
  const json::value& known = memberOf(facts, "ElasticQuota");
  if (textAt(known, "quota") == quota) return true;
  const json::value& path = memberOf(known, "path");
  return path.is_array() && std::ranges::any_of(path.get_array(), [&](const json::value& level) {
           return level.is_string() && std::string_view(level.get_string()) == quota;
         });
}

std::vector<TargetPods> podsOf(const Scheduler& scheduler, const StartsQuestion& question) {
  std::vector<TargetPods> all(question.targets.size());
  const Cluster& cluster = scheduler.cluster();
  std::vector<PodPtr> pending;
  for (const auto& [uid, pod] : scheduler.pendingPods())
    if (!pod->kind) pending.push_back(pod);
  std::ranges::sort(pending, {}, [](const PodPtr& pod) { return api::keyOf(pod->pod->metadata); });
  std::size_t asked = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const StartTarget& target = question.targets[i];
    for (const PodPtr& pod : pending) {
      if (!isOf(scheduler, *pod, target)) continue;
      if (asked >= kMaxAskedPods) {
        ++all[i].leftOut;
      } else {
        all[i].waiting.push_back(pod);
        ++asked;
      }
    }
    if (target.kind == StartTarget::Kind::Quota) continue;
    for (const auto& record : cluster.pods()) {
      if (record.assumed || record.info->kind || !isOf(scheduler, *record.info, target)) continue;
      ++all[i].placed;
      const std::string& node = cluster.node(record.node).name;
      if (all[i].node.empty() || node < all[i].node) all[i].node = node;
    }
  }
  return all;
}

}  // namespace koord::scheduler::oracle
