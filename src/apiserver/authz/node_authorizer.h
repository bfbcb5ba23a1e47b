#pragma once

// What a kubelet (user system:node:NAME of the group system:nodes) may ask for: its own Node, Lease
// and CSINode, the pods bound to it, and what these refer to; everything else by the fixed rules of
// the ClusterRole system:node. Which of the objects it may write is NodeRestriction's to say
// (admission/node_restriction.h). Rules and reasons are those of upstream's node authorizer.

#include "apiserver/authz/node_graph.h"
#include "apiserver/authz/rules.h"

namespace koord::apiserver {

class NodeAuthorizer {
 public:
  NodeAuthorizer(Store& store, const Registry& registry, std::vector<PolicyRule> rules)
      : graph_(store, registry), rules_(std::move(rules)) {}

  // Has no opinion (not allowed, no reason) of users that are no kubelets.
  Decision authorize(const Attributes& attributes);

 private:
  Decision core(std::string_view node, const Attributes& a);
  Decision node(std::string_view node, const Attributes& a) const;
  Decision pods(std::string_view node, const Attributes& a) const;
  Decision readNamespaced(std::string_view node, const Attributes& a);
  Decision get(std::string_view node, const Attributes& a);
  Decision related(std::string_view node, const Attributes& a);
  Decision token(std::string_view node, const Attributes& a);
  Decision byRules(const Attributes& a) const;

  NodeGraph graph_;
  std::vector<PolicyRule> rules_;
};

}  // namespace koord::apiserver
