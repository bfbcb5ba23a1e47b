#pragma once

// What a kubelet (user system:node:NAME of the group system:nodes) may request: its own Node, Lease
// and CSINode, the pods bound to it, and the objects that these refer to. The fixed rules of the
// ClusterRole system:node decide about everything else. NodeRestriction decides which of the
// objects it may write (admission/node_restriction.h). Rules and reasons are those of upstream's
// node authorizer.

#include "apiserver/authz/node_graph.h"
#include "apiserver/authz/rules.h"

namespace koord::apiserver {

class NodeAuthorizer {
 public:
  NodeAuthorizer(Store& store, const Registry& registry, std::vector<PolicyRule> rules)
      : graph_(store, registry), rules_(std::move(rules)) {}

  // Has no opinion (not allowed, no reason) on users that are not kubelets.
  Decision authorize(const Attributes& attributes);

 private:
  Decision core(std::string_view node, const Attributes& a);
  Decision node(std::string_view node, const Attributes& a) const;
  Decision pods(std::string_view node, const Attributes& a) const;
  Decision readNamespaced(std::string_view node, const Attributes& a);
  Decision get(std::string_view node, const Attributes& a);
  Decision related(std::string_view node, const Attributes& a);
  Decision slices(std::string_view node, const Attributes& a);
  Decision token(std::string_view node, const Attributes& a);
  Decision byRules(const Attributes& a) const;

  NodeGraph graph_;
  std::vector<PolicyRule> rules_;
};

}  // namespace koord::apiserver
