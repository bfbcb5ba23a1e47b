#include "cluster/node/node_agent.h"

#include "base/time.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr const char* kLeaseNamespace = "kube-node-lease";

struct PressureCondition {
  const char* type;
  bool NodePressures::* holds;
  const char* healthyReason;
  const char* healthyMessage;
  const char* reason;
  const char* message;
};
constexpr PressureCondition kPressureConditions[] = {
    {"MemoryPressure", &NodePressures::memory, "KubeletHasSufficientMemory",
     "kubelet has sufficient memory available", "KubeletHasInsufficientMemory",
     "kubelet has insufficient memory available"},
    {"DiskPressure", &NodePressures::disk, "KubeletHasNoDiskPressure",
     "kubelet has no disk pressure", "KubeletHasDiskPressure", "kubelet has disk pressure"},
    {"PIDPressure", &NodePressures::pid, "KubeletHasSufficientPID",
     "kubelet has sufficient PID available", "KubeletHasInsufficientPID",
     "kubelet has insufficient PID available"},
};

}  // namespace

api::List<api::NodeCondition> nodeConditions(const api::List<api::NodeCondition>& before,
                                             WallTime now, bool ready, std::string reason,
                                             std::string message, NodePressures pressures) {
  api::List<api::NodeCondition> conditions;
  const auto add = [&](std::string type, bool holds, std::string why, std::string text) {
    api::NodeCondition condition{std::move(type), holds ? "True" : "False", now, now,
                                 std::move(why),  std::move(text)};
    for (const auto& old : before)
      if (old.type == condition.type && old.status == condition.status && old.lastTransitionTime)
        condition.lastTransitionTime = old.lastTransitionTime;
    conditions.push_back(std::move(condition));
  };
  for (const auto& row : kPressureConditions) {
    const bool holds = pressures.*row.holds;
    add(row.type, holds, holds ? row.reason : row.healthyReason,
        holds ? row.message : row.healthyMessage);
  }
  add("Ready", ready, std::move(reason), std::move(message));
  return conditions;
}

Task<Result<>> renewNodeLease(kube::Api& api, std::string nodeName, WallTime now) {
  const api::ObjectKey key{kLeaseNamespace, nodeName};
  const json::object spec{
      {"holderIdentity", nodeName},
      {"leaseDurationSeconds",
       std::chrono::duration_cast<std::chrono::seconds>(kNodeLeaseDuration).count()},
      {"renewTime", formatMicroTime(now)}};
  json::value patch = json::object{{"spec", spec}};
  auto renewing =
      kube::patchOnly(api, api::Lease::kType, key, kube::PatchType::Merge, std::move(patch));
  auto renewed = co_await renewing;
  if (renewed) co_return renewed;
  if (renewed.error().code != ErrorCode::NotFound) co_return fail(std::move(renewed.error()));
  json::value lease =
      json::object{{"apiVersion", "coordination.k8s.io/v1"},
                   {"kind", "Lease"},
                   {"metadata", {{"name", nodeName}, {"namespace", kLeaseNamespace}}},
                   {"spec", spec}};
  auto creating = kube::createObject(api, api::Lease::kType, key, std::move(lease));
  auto created = co_await creating;
  if (!created) co_return fail(std::move(created.error()));
  co_return Result<>{};
}

}  // namespace koord::cluster
