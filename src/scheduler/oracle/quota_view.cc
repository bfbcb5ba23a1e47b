#include "scheduler/oracle/quota_view.h"

#include <set>
#include <tuple>

#include "model/well_known.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/transforms.h"
#include "scheduler/services/explain.h"

namespace koord::scheduler::oracle {

namespace {

constexpr std::string_view kPlugin = "ElasticQuota";
constexpr std::size_t kMaxQuotas = 100;

using Ask = std::function<Result<json::value>(const std::string&)>;

// Asks the plugin for one quota; empty if no profile has the plugin.
Ask quotaService(Scheduler& scheduler) {
  for (const auto& [name, profile] : scheduler.profiles()) {
    for (const auto& plugin : profile->profile().plugins) {
      auto* service = dynamic_cast<ServicePlugin*>(plugin.get());
      if (!service || plugin->name() != kPlugin) continue;
      for (auto& route : service->routes())
        if (route.path == "quotas/")
          return [ask = route.ask](const std::string& quota) { return ask(quota, {}); };
    }
  }
  return {};
}

json::value viewOf(const json::value& quota) {
  json::object view;
  for (const char* field : {"min", "max", "runtime", "request", "used"})
    if (const json::value* value = find(quota, field)) view.emplace(field, *value);
  return view;
}

void addQuota(const Ask& ask, const std::string& name, QuotaViews& views) {
  if (views.size() >= kMaxQuotas || views.contains(name)) return;
  if (const auto quota = ask(name)) views.emplace(name, viewOf(*quota));
}

}  // namespace

QuotaViews quotasOf(Scheduler& scheduler, const std::vector<AskedPod>& pods) {
  QuotaViews views;
  const Ask ask = quotaService(scheduler);
  if (!ask) return views;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const AskedPod& asked : pods) {
    const api::ObjectMeta& meta = asked.pod->metadata;
    if (!seen.emplace(meta.namespace_, api::textIn(meta.labels, model::kLabelQuotaName),
                      api::textIn(meta.labels, model::kLabelQuotaTree))
             .second)
      continue;
    if (views.size() >= kMaxQuotas) break;
    const PodPtr pod = scheduler.describe(asked.pod);
    const json::object facts = pluginFacts(scheduler, *pod);
    const json::value& known = memberOf(facts, kPlugin);
    addQuota(ask, std::string(textAt(known, "quota")), views);
    if (const json::value* path = find(known, "path"); path && path->is_array())
      for (const json::value& level : path->get_array())
        if (level.is_string()) addQuota(ask, std::string(level.get_string()), views);
  }
  return views;
}

QuotaViews quotasNamed(Scheduler& scheduler, const QuotaViews& names) {
  QuotaViews views;
  const Ask ask = quotaService(scheduler);
  for (const auto& [name, before] : names)
    if (ask) addQuota(ask, name, views);
  return views;
}

json::array quotaChanges(const QuotaViews& before, const QuotaViews& after) {
  json::array changes;
  for (const auto& [name, view] : before) {
    const auto now = after.find(name);
    changes.push_back(json::object{
        {"name", name}, {"before", view}, {"after", now == after.end() ? nullptr : now->second}});
  }
  return changes;
}

}  // namespace koord::scheduler::oracle
