#include "apiserver/authz/aggregation.h"

#include <algorithm>

#include "api/codec.h"
#include "apiserver/authz/rbac.h"
#include "apiserver/objects/edit.h"
#include "apiserver/server/target.h"

namespace koord::apiserver {
namespace {

bool selects(const std::vector<api::Selector>& selectors, const EntryPtr& entry) {
  return entry && std::ranges::any_of(selectors, [&](const auto& selector) {
           return selector.matches(entry->labels);
         });
}

}  // namespace

RoleAggregation::RoleAggregation(Store& store, const Registry& registry)
    : store_(store), registry_(registry), roles_(store.table(kClusterRoles)) {
  for (const auto& [key, entry] : roles_.entries())
    readRule({entry->version, EventType::Added, nullptr, entry});
  store_.observe(roles_, [this](const Event& event) { changed(event); });
}

void RoleAggregation::readRule(const Event& event) {
  const std::string& name = (event.now ? event.now : event.before)->key;
  aggregated_.erase(name);
  if (!event.now || event.now->text.find("\"aggregationRule\"") == std::string::npos) return;
  const auto role = parseJson(event.now->text);
  const auto* rule = role ? find(*role, "aggregationRule") : nullptr;
  const auto* list = rule ? arrayAt(*rule, "clusterRoleSelectors") : nullptr;
  if (!list) return;
  auto& selectors = aggregated_[name];
  for (const auto& one : *list) {
    auto selector = api::decode<api::LabelSelector>(one);
    auto compiled = selector ? api::Selector::compile(*selector) : fail(selector.error());
    if (compiled) selectors.push_back(*std::move(compiled));
  }
}

void RoleAggregation::changed(const Event& event) {
  readRule(event);
  // Writing a role may change further roles. This ends, because rules are written only if they
  // differ.
  std::vector<std::string> concerned;
  for (const auto& [name, selectors] : aggregated_)
    if (selects(selectors, event.now) || selects(selectors, event.before) ||
        (event.now && event.now->key == name))
      concerned.push_back(name);
  for (const auto& name : concerned) combine(name);
}

void RoleAggregation::combine(const std::string& name) {
  const auto it = aggregated_.find(name);
  const auto entry = roles_.find(name);
  if (it == aggregated_.end() || !entry) return;
  auto role = parseJson(entry->text);
  if (!role || !role->is_object()) return;
  std::vector<PolicyRule> rules;
  for (const auto& selector : it->second)
    for (const auto& [key, other] : roles_.entries()) {
      if (key == name || !selector.matches(other->labels)) continue;
      const auto document = parseJson(other->text);
      if (!document) continue;
      for (auto& rule : rulesOf(*document))
        if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(std::move(rule));
    }
  if (rules == rulesOf(*role)) return;
  role->get_object()["rules"] = jsonOf(rules);
  store_.put(roles_, draftOf(*role, *registry_.findByTable(kClusterRoles)), *role);
}

}  // namespace koord::apiserver
