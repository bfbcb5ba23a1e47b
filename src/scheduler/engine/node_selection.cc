#include "scheduler/engine/node_selection.h"

namespace koord::scheduler {

namespace {

using Op = api::Selector::Op;

void narrow(Cluster& cluster, const api::Selector::Requirement& requirement, NodeSet& nodes) {
  const LabelIndex& index = cluster.labels();
  const auto key = cluster.symbols().find(requirement.key);
  NodeSet holders(cluster.capacity());
  switch (requirement.op) {
    case Op::In:
    case Op::Equals:
    case Op::DoubleEquals:
    case Op::NotIn:
    case Op::NotEquals:
      if (key) {
        for (const auto& text : requirement.values)
          if (const auto value = cluster.symbols().find(text))
            index.collect(Label{*key, *value}, holders);
      }
      break;
    case Op::Exists:
    case Op::DoesNotExist:
    case Op::GreaterThan:
    case Op::LessThan:
      if (key) index.collect(*key, holders);
      break;
  }
  switch (requirement.op) {
    case Op::NotIn:
    case Op::NotEquals:
    case Op::DoesNotExist:
      nodes.subtract(holders);
      break;
    case Op::GreaterThan:
    case Op::LessThan:
      nodes.intersect(holders);
      nodes.forEach([&](NodeId node) {
        if (!requirement.matches(cluster.node(node).object->metadata.labels)) nodes.erase(node);
      });
      break;
    default:
      nodes.intersect(holders);
  }
}

}  // namespace

void narrow(Cluster& cluster, const api::Selector& selector, NodeSet& nodes) {
  if (!selector.matches({}) && selector.requirements().empty()) {  // selects nothing
    nodes.clear();
    return;
  }
  for (const auto& requirement : selector.requirements()) narrow(cluster, requirement, nodes);
}

void narrow(Cluster& cluster, const api::NodeSelectorMatcher& matcher, NodeSet& nodes) {
  NodeSet any;
  for (const auto& term : matcher.terms()) any.unite(select(cluster, term, nodes));
  nodes.intersect(any);
}

void narrow(Cluster& cluster, const api::RequiredNodeAffinity& required, NodeSet& nodes) {
  narrow(cluster, required.nodeSelector(), nodes);
  if (required.affinity()) narrow(cluster, *required.affinity(), nodes);
}

NodeSet select(Cluster& cluster, const api::NodeTerm& term, const NodeSet& nodes) {
  NodeSet result = nodes;
  narrow(cluster, term.labels(), result);
  if (!term.fields().empty()) {
    result.forEach([&](NodeId node) {
      for (const auto& field : term.fields()) {
        const std::string_view value = field.field == "metadata.name"
                                           ? std::string_view(cluster.node(node).name)
                                           : std::string_view();
        if ((value == field.value) != field.equal) return result.erase(node);
      }
    });
  }
  return result;
}

}  // namespace koord::scheduler
