#pragma once

// What the arguments of plugins have in common.

#include <initializer_list>
#include <optional>
#include <string_view>

#include "api/selector.h"
#include "base/fields.h"
#include "descheduler/framework/nodes.h"
#include "descheduler/rules/namespaces.h"
#include "descheduler/rules/pod_selectors.h"

namespace koord::descheduler {

// The pods that a plugin may evict, and the nodes that it considers: evictableNamespaces,
// podSelectors, nodeSelector.
struct EvictionScope {
  Namespaces namespaces;
  std::optional<api::Selector> nodes;
  PodSelectors pods;

  bool hasPod(const NodePods::Entry& entry) const {
    return pods.matches(entry) && namespaces.allows(entry.pod->metadata.namespace_);
  }
  bool hasNode(const NodeView& node) const {
    return !nodes || nodes->matches(node.node->metadata.labels);
  }
  static EvictionScope read(Fields& args);
};

// The given ones of these fields, for the arguments in force.
json::object givenOf(Fields& args, std::initializer_list<std::string_view> names);

}  // namespace koord::descheduler
