#include "apiserver/authz/node_authorizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/admission/node_restriction.h"

namespace koord::apiserver {
namespace {

constexpr std::string_view kReads[] = {"get", "list", "watch"};
constexpr std::string_view kOwnObjectVerbs[] = {"get", "create", "update", "patch", "delete"};

template <class List>
bool isOneOf(std::string_view verb, const List& verbs) {
  return std::ranges::find(verbs, verb) != std::end(verbs);
}

Decision yes() {
  return {true, ""};
}
Decision no(std::string reason = "") {
  return {false, std::move(reason)};
}

Decision ownLease(std::string_view node, const Attributes& a) {
  if (!isOneOf(a.verb, kOwnObjectVerbs))
    return no("can only get, create, update, patch, or delete a node lease");
  if (a.namespace_ != "kube-node-lease")
    return no("can only access leases in the \"kube-node-lease\" system namespace");
  // The name of a new object is not known yet; NodeRestriction checks it.
  if (a.verb != "create" && a.name != node)
    return no("can only access node lease with the same name as the requesting node");
  return yes();
}

Decision ownCsiNode(std::string_view node, const Attributes& a) {
  if (!isOneOf(a.verb, kOwnObjectVerbs))
    return no("can only get, create, update, patch, or delete a CSINode");
  if (!a.subresource.empty()) return no("cannot authorize CSINode subresources");
  if (a.verb != "create" && a.name != node)
    return no("can only access CSINode with the same name as the requesting node");
  return yes();
}

}  // namespace

Decision NodeAuthorizer::authorize(const Attributes& a) {
  if (!isNodeUser(a.user)) return no();
  const auto known = nodeOfUser(a.user.name);
  if (!known) return no(fmt::format("unknown node for user \"{}\"", a.user.name));
  const std::string_view node = *known;
  if (!a.isResource()) return byRules(a);
  if (a.group.empty()) return core(node, a);
  if (a.group == "coordination.k8s.io" && a.resource == "leases") return ownLease(node, a);
  if (a.group == "storage.k8s.io" && a.resource == "csinodes") return ownCsiNode(node, a);
  if (a.group == "storage.k8s.io" && a.resource == "volumeattachments") return get(node, a);
  if (a.group == "resource.k8s.io" && a.resource == "resourceclaims") return get(node, a);
  if (a.group == "resource.k8s.io" && a.resource == "resourceslices") return slices(node, a);
  return byRules(a);
}

Decision NodeAuthorizer::core(std::string_view name, const Attributes& a) {
  if (a.resource == "secrets" || a.resource == "configmaps") return readNamespaced(name, a);
  if (a.resource == "persistentvolumes") return get(name, a);
  if (a.resource == "persistentvolumeclaims") {
    if (a.subresource != "status") return get(name, a);
    if (a.verb != "update" && a.verb != "patch") return no("can only get/update/patch this type");
    return related(name, a);
  }
  if (a.resource == "serviceaccounts") return token(name, a);
  if (a.resource == "nodes") return node(name, a);
  if (a.resource == "pods") return pods(name, a);
  return byRules(a);
}

Decision NodeAuthorizer::node(std::string_view node, const Attributes& a) const {
  if (a.subresource == "status") return {a.verb == "update" || a.verb == "patch", ""};
  if (!a.subresource.empty()) return no();
  if (a.verb == "create" || a.verb == "update" || a.verb == "patch") return yes();
  if (!isOneOf(a.verb, kReads)) return no();
  if (a.name == node) return yes();
  if (a.name.empty())
    return no(fmt::format("node '{}' cannot read all nodes, only its own Node object", node));
  return no(fmt::format("node '{}' cannot read '{}', only its own Node object", node, a.name));
}

Decision NodeAuthorizer::pods(std::string_view node, const Attributes& a) const {
  if (a.subresource == "status") return {a.verb == "update" || a.verb == "patch", ""};
  if (a.subresource == "eviction") return {a.verb == "create", ""};
  if (!a.subresource.empty()) return no();
  if (a.verb == "create" || a.verb == "delete") return yes();
  if (!isOneOf(a.verb, kReads)) return no();
  if (a.verb != "get" && a.selectedNode == node) return yes();
  if (a.verb != "get" && a.name.empty())
    return no("can only list/watch pods with spec.nodeName field selector");
  if (a.name.empty()) return no("No Object name found");
  if (graph_.hasPod(node, a.namespace_, a.name)) return yes();
  return no(fmt::format("no relationship found between node '{}' and this object", node));
}

Decision NodeAuthorizer::readNamespaced(std::string_view node, const Attributes& a) {
  if (!isOneOf(a.verb, kReads)) return no("can only read resources of this type");
  if (!a.subresource.empty()) return no("cannot read subresource");
  if (a.namespace_.empty()) return no("can only read namespaced object of this type");
  return related(node, a);
}

Decision NodeAuthorizer::get(std::string_view node, const Attributes& a) {
  if (a.verb != "get") return no("can only get individual resources of this type");
  if (!a.subresource.empty()) return no("cannot get subresource");
  return related(node, a);
}

Decision NodeAuthorizer::related(std::string_view node, const Attributes& a) {
  if (a.name.empty()) return no("No Object name found");
  const bool found =
      a.resource == "secrets"             ? graph_.needsSecret(node, a.namespace_, a.name)
      : a.resource == "configmaps"        ? graph_.needsConfigMap(node, a.namespace_, a.name)
      : a.resource == "persistentvolumes" ? graph_.needsVolume(node, a.name)
      : a.resource == "volumeattachments" ? graph_.hasAttachment(node, a.name)
      : a.resource == "resourceslices"    ? graph_.hasSlice(node, a.name)
      : a.resource == "resourceclaims"    ? graph_.needsResourceClaim(node, a.namespace_, a.name)
                                          : graph_.needsClaim(node, a.namespace_, a.name);
  if (found) return yes();
  return no(fmt::format("no relationship found between node '{}' and this object", node));
}

Decision NodeAuthorizer::slices(std::string_view node, const Attributes& a) {
  if (!a.subresource.empty()) return no("cannot authorize ResourceSlice subresources");
  if (a.verb == "create") return yes();  // NodeRestriction checks the node of the new object
  if (isOneOf(a.verb, kOwnObjectVerbs)) return related(node, a);
  if (a.verb != "list" && a.verb != "watch" && a.verb != "deletecollection")
    return no(
        "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, "
        "update, patch, delete, deletecollection");
  if (a.selectedNode == node) return yes();
  return no("can only list/watch/deletecollection resourceslices with nodeName field selector");
}

Decision NodeAuthorizer::token(std::string_view node, const Attributes& a) {
  if (a.verb != "create" || a.name.empty())
    return no("can only create tokens for individual service accounts");
  if (a.subresource != "token") return no("can only create token subresource of serviceaccount");
  if (graph_.usesAccount(node, a.namespace_, a.name)) return yes();
  return no(fmt::format("no relationship found between node '{}' and this object", node));
}

Decision NodeAuthorizer::byRules(const Attributes& a) const {
  return {std::ranges::any_of(rules_, [&](const auto& rule) { return allows(rule, a); }), ""};
}

}  // namespace koord::apiserver
