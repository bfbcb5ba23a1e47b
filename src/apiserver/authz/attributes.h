#pragma once

// What an authorisation decision is about: who wants to do what. The views point into the request,
// which must outlive them.

#include <string>
#include <string_view>

#include "apiserver/server/call.h"

namespace koord::apiserver {

struct Attributes {
  const User& user;
  std::string_view verb;  // get, list, ..., impersonate, escalate, bind; GET's is "get" on paths
  std::string_view path;  // of what is no resource; then all below is empty
  std::string_view group;
  std::string_view resource;
  std::string_view subresource;
  // The object's; a Namespace is in itself. "" = cluster-scoped, or all namespaces.
  std::string_view namespace_;
  std::string_view name;  // "" = any
  // The node that a field selector ties a list or watch of pods to.
  std::string_view selectedNode;

  bool isResource() const { return path.empty(); }
};

struct Decision {
  bool allowed = false;
  std::string reason;  // why, where there is something to say
};

std::string_view verbName(kube::Verb verb);

// Of a request for resources. `asBindings`: POST .../bindings, which is carried out as
// pods/binding.
Attributes attributesOf(const Call& call, bool asBindings = false);

// `User "x" cannot list resource "pods" in API group "" in the namespace "y"`
std::string deniedText(const Attributes& attributes);
// The 403 of kube-apiserver, a Status whose details name what was asked for.
Reply forbiddenReply(const Attributes& attributes, const std::string& reason);

}  // namespace koord::apiserver
