#pragma once

// What a kubelet (user system:node:NAME of the group system:nodes) may write: its own Node, its own
// Lease, and the pods that run on it. Rules and messages are those of upstream's NodeRestriction.

#include <optional>
#include <string_view>

#include "apiserver/objects/failure.h"
#include "apiserver/registry/resource.h"
#include "apiserver/server/call.h"

namespace koord::apiserver {

struct NodeWrite {
  const User& user;
  const Resource& resource;
  std::string_view operation;  // CREATE, UPDATE, DELETE
  std::string_view subresource;
  std::string_view namespace_;
  std::string_view name;
  const json::value* object = nullptr;  // null for DELETE
  const json::value* old = nullptr;     // null for CREATE
};

bool isNodeUser(const User& user);
// NAME of a user system:node:NAME; nullopt for all other names and for an empty NAME.
std::optional<std::string_view> nodeOfUser(std::string_view userName);
// Users that are not kubelets may write everything.
Outcome<> admitNodeWrite(const NodeWrite& write);

}  // namespace koord::apiserver
