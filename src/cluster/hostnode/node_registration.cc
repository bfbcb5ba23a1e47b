#include "cluster/hostnode/node_registration.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/log.h"
#include "kube/client.h"
#include "model/well_known.h"

namespace koord::cluster {

namespace {
constexpr Duration kRegistrationRetry = std::chrono::seconds(1);

// Returns true if all of them are present with their status; further conditions are ignored.
bool includes(const api::List<api::NodeCondition>& conditions,
              const api::List<api::NodeCondition>& wanted) {
  return std::ranges::all_of(wanted, [&](const api::NodeCondition& condition) {
    const auto found = std::ranges::find(conditions, condition.type, &api::NodeCondition::type);
    return found != conditions.end() && found->status == condition.status;
  });
}
}  // namespace

Task<void> NodeRegistration::run() {
  while (!done_) {
    auto reporting = report(true);
    auto reported = co_await reporting;
    if (reported) {
      done_ = true;
    } else {
      log::warn("register node {}: {}", node_.name, reported.error().message);
      auto pause = sleepFor(executor_, kRegistrationRetry);
      co_await pause;
    }
  }
  SteadyTime lastReport = executor_.steadyNow();
  while (true) {
    auto renewing = renewNodeLease(api_, node_.name, executor_.wallNow());
    auto renewed = co_await renewing;
    if (!renewed) log::warn("renew the lease of node {}: {}", node_.name, renewed.error().message);
    // A controller that considers the node lost writes that to its conditions. They are corrected
    // at once, before pods are evicted.
    const bool due = executor_.steadyNow() - lastReport >= kNodeStatusPeriod;
    auto reporting = report(due);
    auto reported = co_await reporting;
    if (!reported) log::warn("status of node {}: {}", node_.name, reported.error().message);
    if (reported && due) lastReport = executor_.steadyNow();
    auto pause = sleepFor(executor_, kNodeLeaseRenewal);
    co_await pause;
  }
}

Task<Result<>> NodeRegistration::report(bool due) {
  const api::ObjectKey key{"", node_.name};
  auto getting = kube::get<api::Node>(api_, key);
  auto node = co_await getting;
  if (!node) {
    if (node.error().code != ErrorCode::NotFound) co_return fail(std::move(node.error()));
    json::value object = json::object{{"apiVersion", "v1"},
                                      {"kind", "Node"},
                                      {"metadata",
                                       {{"name", node_.name},
                                        {"labels",
                                         {{"kubernetes.io/hostname", node_.name},
                                          {"kubernetes.io/os", node_.info.operatingSystem},
                                          {"kubernetes.io/arch", node_.info.architecture},
                                          {model::kLabelKoordctlNode, "host"}}}}}};
    auto creating = kube::createObject(api_, api::Node::kType, key, std::move(object));
    auto created = co_await creating;
    if (!created) co_return fail(std::move(created.error()));
    node = api::Node{};
  }
  auto conditions = nodeConditions(node->status.conditions, executor_.wallNow(), true,
                                   "KubeletReady", "koordctl runs pods on this host", pressures_);
  if (!due && includes(node->status.conditions, conditions)) co_return Result<>{};
  api::NodeStatus status;
  // Only our own resources: batch resources in the same maps survive the merge.
  status.capacity = node_.capacity;
  status.allocatable = node_.allocatable;
  status.conditions = std::move(conditions);
  status.addresses = {{"InternalIP", node_.ip}, {"Hostname", node_.name}};
  status.daemonEndpoints.kubeletEndpoint = api::DaemonEndpoint{node_.kubeletPort};
  status.nodeInfo = node_.info;
  json::value patch = json::object{{"status", api::encode(status)}};
  auto patching = kube::strategicPatch(api_, api::Node::kType, key, std::move(patch), "status");
  auto patched = co_await patching;
  if (!patched) co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

}  // namespace koord::cluster
