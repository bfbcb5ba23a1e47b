#include "scheduler/plugins/nodedeclaredfeatures/plugin.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace koord::scheduler {

namespace {

bool restartsAll(const api::List<api::Container>& containers) {
  return std::ranges::any_of(containers, [](const api::Container& container) {
    return std::ranges::any_of(container.restartPolicyRules, [](const auto& rule) {
      return rule.action == "RestartAllContainers";
    });
  });
}

std::vector<std::string_view> featuresNeeded(const api::PodSpec& spec) {
  std::vector<std::string_view> needed;
  if (restartsAll(spec.containers) || restartsAll(spec.initContainers))
    needed.push_back("RestartAllContainersOnContainerExits");
  if (spec.hostNetwork && spec.hostUsers == false)
    needed.push_back("UserNamespacesHostNetworkSupport");
  return needed;
}

}  // namespace

void NodeDeclaredFeatures::sign(const PodInfo& pod, Signature& signature) const {
  const auto needed = featuresNeeded(pod.pod->spec);
  signature.add(static_cast<std::int64_t>(needed.size()));
  for (const std::string_view feature : needed) signature.add(feature);
}

Status NodeDeclaredFeatures::filter(const CycleState&, const PodInfo& pod, NodeFilter& nodes) {
  const auto needed = featuresNeeded(pod.pod->spec);
  if (needed.empty()) return {};
  const VerdictId missing = nodes.rejection(Code::UnschedulableAndUnresolvable,
                                            {"node(s) didn't match Pod's required features"});
  nodes.forEach([&](NodeId node) {
    const auto& declared = cluster_.node(node).object->status.declaredFeatures;
    const bool all = std::ranges::all_of(needed, [&](std::string_view feature) {
      return std::ranges::find(declared, feature) != declared.end();
    });
    if (!all) nodes.reject(node, missing);
  });
  return {};
}

// The needs of a pod never change.
std::vector<EventRegistration> NodeDeclaredFeatures::eventsToRegister() const {
  return {{EventResource::Node, action::kAdd | action::kUpdateNodeDeclaredFeature, "",
           [](const PodInfo&, const ClusterEvent& event) {
             const bool same =
                 event.oldNode && event.newNode &&
                 event.oldNode->status.declaredFeatures == event.newNode->status.declaredFeatures;
             return same ? Hint::Skip : Hint::Queue;
           }}};
}

}  // namespace koord::scheduler
