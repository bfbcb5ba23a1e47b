#include "manager/webhook/quota/tree_affinity.h"

#include "manager/webhook/pod_edit.h"

namespace koord::manager {

namespace {

json::array requirementsOf(const api::LabelSelector& selector) {
  json::array requirements;
  for (const auto& [key, value] : selector.matchLabels)
    requirements.push_back(json::object{
        {"key", key}, {"operator", "In"}, {"values", json::array{json::string(value)}}});
  for (const auto& expression : selector.matchExpressions) {
    json::object requirement{{"key", expression.key}, {"operator", expression.operator_}};
    if (!expression.values.empty())
      requirement["values"] = json::array(expression.values.begin(), expression.values.end());
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

json::value with(json::value term, const json::array& requirements) {
  if (!term.is_object()) term.emplace_object();
  json::value& expressions = term.get_object()["matchExpressions"];
  if (!expressions.is_array()) expressions.emplace_array();
  for (const auto& requirement : requirements) expressions.get_array().push_back(requirement);
  return term;
}

}  // namespace

void requireNodes(const std::vector<api::LabelSelector>& selectors, json::value& pod) {
  if (selectors.empty()) return;
  json::object& nodeAffinity = objectIn(objectIn(specOf(pod), "affinity"), "nodeAffinity");
  json::object& required = objectIn(nodeAffinity, "requiredDuringSchedulingIgnoredDuringExecution");
  json::value& terms = required["nodeSelectorTerms"];
  if (!terms.is_array() || terms.get_array().empty()) terms = json::array{json::object{}};
  json::array combined;
  for (const auto& term : terms.get_array())
    for (const auto& selector : selectors) combined.push_back(with(term, requirementsOf(selector)));
  terms = std::move(combined);
}

}  // namespace koord::manager
