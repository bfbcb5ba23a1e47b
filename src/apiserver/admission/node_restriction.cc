#include "apiserver/admission/node_restriction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "apiserver/objects/edit.h"
#include "model/well_known.h"

namespace koord::apiserver {
namespace {

constexpr std::string_view kKubeletLabels[] = {
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
};

// Labels that keep pods away from nodes; a compromised node must not attract pods.
bool isReserved(std::string_view label) {
  const auto domain = label.substr(0, label.find('/'));
  if (domain.size() == label.size()) return false;
  const auto within = [&](std::string_view suffix) {
    return domain == suffix || domain.ends_with("." + std::string(suffix));
  };
  if (!within("kubernetes.io") && !within("k8s.io")) return false;
  if (within("kubelet.kubernetes.io") || within("node.kubernetes.io")) return false;
  return std::ranges::find(kKubeletLabels, label) == std::end(kKubeletLabels);
}

std::set<std::string> changedLabels(const json::value& object, const json::value* old) {
  const json::object none;
  const auto labelsOf = [&](const json::value* from) -> const json::object& {
    const auto* labels = from ? at(*from, "metadata", "labels") : nullptr;
    return labels && labels->is_object() ? labels->get_object() : none;
  };
  const auto& now = labelsOf(&object);
  const auto& before = labelsOf(old);
  std::set<std::string> changed;
  for (const auto& label : now) {
    const auto* had = before.if_contains(label.key());
    if (!had || *had != label.value()) changed.emplace(label.key());
  }
  for (const auto& label : before)
    if (!now.contains(label.key())) changed.emplace(label.key());
  return changed;
}

Outcome<> forbidden(const NodeWrite& write, const std::string& why) {
  return refuse(ErrorCode::Forbidden, fmt::format("{} \"{}\" is forbidden: {}",
                                                  write.resource.qualified(), write.name, why));
}

const json::value* member(const json::value* object, const char* group, const char* name) {
  return object ? at(*object, group, name) : nullptr;
}

bool differs(const NodeWrite& write, const char* group, const char* name) {
  const auto* now = member(write.object, group, name);
  const auto* before = member(write.old, group, name);
  return now && before ? *now != *before : now != before;
}

Outcome<> admitNode(const NodeWrite& write, std::string_view node) {
  if (write.name != node)
    return forbidden(
        write, fmt::format("node \"{}\" is not allowed to modify node \"{}\"", node, write.name));
  if (!write.object) return {};
  std::set<std::string> labels = changedLabels(*write.object, write.old);
  std::erase_if(labels, [](const auto& label) { return !isReserved(label); });
  if (!write.old) {
    if (!labels.empty())
      return forbidden(
          write, fmt::format("node \"{}\" is not allowed to set the following labels: {}", node,
                             fmt::join(labels, ", ")));
    return {};
  }
  if (differs(write, "metadata", "ownerReferences"))
    return forbidden(write,
                     fmt::format("node \"{}\" is not allowed to modify ownerReferences", node));
  if (differs(write, "spec", "taints"))
    return forbidden(write, fmt::format("node \"{}\" is not allowed to modify taints", node));
  if (!labels.empty())
    return forbidden(write,
                     fmt::format("is not allowed to modify labels: {}", fmt::join(labels, ", ")));
  return {};
}

Outcome<> admitPod(const NodeWrite& write, std::string_view node) {
  const auto nodeOf = [](const json::value* pod) {
    return pod ? textAt(*pod, "spec", "nodeName") : std::string_view{};
  };
  if (write.subresource == "eviction") {
    if (nodeOf(write.old) != node)
      return forbidden(
          write, fmt::format("node {} can only evict pods with spec.nodeName set to itself", node));
    return {};
  }
  if (write.subresource == "status") {
    if (nodeOf(write.old) != node)
      return forbidden(
          write,
          fmt::format("node \"{}\" can only update pod status for pods with spec.nodeName set to "
                      "itself",
                      node));
    if (differs(write, "metadata", "labels"))
      return forbidden(write,
                       fmt::format("node \"{}\" cannot update labels through pod status", node));
    return {};
  }
  if (!write.subresource.empty())
    return forbidden(write, fmt::format("unexpected pod subresource \"{}\", only 'status' and "
                                        "'eviction' are allowed",
                                        write.subresource));
  if (write.operation == "DELETE") {
    if (nodeOf(write.old) != node)
      return forbidden(
          write,
          fmt::format("node \"{}\" can only delete pods with spec.nodeName set to itself", node));
    return {};
  }
  if (write.operation != "CREATE")
    return forbidden(
        write, fmt::format("unexpected operation \"{}\", node \"{}\" can only create and delete "
                           "mirror pods",
                           write.operation, node));
  if (!at(*write.object, "metadata", "annotations", model::kAnnotationMirrorPod))
    return forbidden(write, fmt::format("pod does not have \"{}\" annotation, node \"{}\" can only "
                                        "create mirror pods",
                                        model::kAnnotationMirrorPod, node));
  if (nodeOf(write.object) != node)
    return forbidden(
        write,
        fmt::format("node \"{}\" can only create pods with spec.nodeName set to itself", node));
  return {};
}

}  // namespace

bool isNodeUser(const User& user) {
  return std::ranges::find(user.groups, "system:nodes") != user.groups.end();
}

std::optional<std::string_view> nodeOfUser(std::string_view userName) {
  constexpr std::string_view kPrefix = "system:node:";
  if (!userName.starts_with(kPrefix) || userName.size() == kPrefix.size()) return std::nullopt;
  return userName.substr(kPrefix.size());
}

Outcome<> admitNodeWrite(const NodeWrite& write) {
  if (!isNodeUser(write.user)) return {};
  const auto known = nodeOfUser(write.user.name);
  if (!known)
    return forbidden(write,
                     fmt::format("could not determine node from user \"{}\"", write.user.name));
  const std::string_view node = *known;
  if (write.resource.isCore("nodes")) return admitNode(write, node);
  if (write.resource.isCore("pods")) return admitPod(write, node);
  if (write.resource.is("storage.k8s.io", "csinodes") && write.name != node)
    return forbidden(write, "can only access CSINode with the same name as the requesting node");
  if (write.resource.is("resource.k8s.io", "resourceslices")) {
    const bool creating = write.operation == "CREATE";
    const auto* slice = creating ? write.object : write.old;
    if ((creating || write.operation == "DELETE") &&
        (!slice || textAt(*slice, "spec", "nodeName") != node))
      return forbidden(write, fmt::format("can only {} ResourceSlice with the same NodeName as the "
                                          "requesting node",
                                          creating ? "create" : "delete"));
  }
  if (write.resource.is("coordination.k8s.io", "leases")) {
    if (write.namespace_ != "kube-node-lease")
      return forbidden(write, "can only access leases in the \"kube-node-lease\" system namespace");
    if (write.name != node)
      return forbidden(write,
                       "can only access node lease with the same name as the requesting "
                       "node");
  }
  return {};
}

}  // namespace koord::apiserver
