#pragma once

// The attributes of an authorization decision: user, verb and resource or path. The views point
// into the request, which must outlive them.

#include <string>
#include <string_view>

#include "apiserver/server/call.h"

namespace koord::apiserver {

struct Attributes {
  const User& user;
  std::string_view verb;  // get, list, ..., impersonate, escalate, bind; GET's is "get" on paths
  std::string_view path;  // of a non-resource request; then all below is empty
  std::string_view group;
  std::string_view resource;
  std::string_view subresource;
  // The object's namespace; for a Namespace, itself. "" = cluster-scoped, or all namespaces.
  std::string_view namespace_;
  std::string_view name;  // "" = any
  // The node that a list or watch of pods is limited to by its field selector.
  std::string_view selectedNode;

  bool isResource() const { return path.empty(); }
};

struct Decision {
  bool allowed = false;
  std::string reason;  // why, if there is a reason
};

// The attributes of a resource request. `asBindings`: POST .../bindings, which is carried out as
// pods/binding.
Attributes attributesOf(const Call& call, bool asBindings = false);

// `User "x" cannot list resource "pods" in API group "" in the namespace "y"`
std::string deniedText(const Attributes& attributes);
// kube-apiserver's 403 answer, a Status whose details name the requested object.
Reply forbiddenReply(const Attributes& attributes, const std::string& reason);

}  // namespace koord::apiserver
