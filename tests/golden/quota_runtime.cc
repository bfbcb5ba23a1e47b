#include "api/codec.h"
#include "api/elasticquota.h"
#include "api/quantity_json.h"
#include "golden/checkers.h"
#include "golden/quota_oracle.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/elasticquota/quota_object.h"
#include "scheduler/plugins/elasticquota/tree/quota_tree.h"

namespace koord::golden {
namespace {

using namespace scheduler;  // NOLINT: what is checked

std::int64_t amountIn(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(json::string_view(key.data(), key.size()));
  return value ? value->to_number<std::int64_t>() : 0;
}

json::object redistribution(const json::object& testCase) {
  std::vector<quota::Claim> claims;
  std::vector<std::string> names;
  std::map<std::string, quota::Claim> byName;
  for (const auto& item : testCase.at("quotas").as_array()) {
    const json::object& quota = item.as_object();
    byName[std::string(quota.at("name").as_string())] = {
        std::max(amountIn(quota, "min"), amountIn(quota, "guarantee")), amountIn(quota, "request"),
        amountIn(quota, "sharedWeight"),
        quota.contains("allowLentResource") && quota.at("allowLentResource").as_bool()};
  }
  for (const auto& [name, claim] : byName) {
    names.push_back(name);
    claims.push_back(claim);
  }
  std::vector<std::int64_t> runtimes(claims.size());
  quota::redistribute(claims, amountIn(testCase, "total"), runtimes);
  json::object out;
  for (std::size_t n = 0; n < names.size(); ++n) out.emplace(names[n], runtimes[n]);
  return {{"runtime", std::move(out)}};
}

// Whether a resource of quantity 0 is in a list or not means nothing, to upstream's own comparisons
// as well: ours is there where the recorded one is.
json::object listOutput(const quota::QuotaTree& tree, const ResourceNames& names,
                        const json::value* recorded, const quota::Columns& columns,
                        const std::function<quota::Sum(quota::Column)>& amount) {
  json::object list;
  const auto* shown = recorded ? recorded->if_object() : nullptr;
  quota::forEachColumn(columns, [&](quota::Column column) {
    const std::string& name = names.name(tree.resource(column));
    const Quantity ours = quantityOf(name, quota::clamped(amount(column)));
    if (!ours.isZero() || (shown && shown->contains(name))) list.emplace(name, ours.toString());
  });
  return list;
}

struct Case {
  ResourceNames names;
  quota::QuotaTree tree;
  explicit Case(quota::QuotaTree::Settings settings) : tree("koordinator-root-quota", settings) {}

  Result<> addQuotas(const json::array& quotas) {
    for (const auto& item : quotas) {
      const auto object = api::decode<api::ElasticQuota>(item);
      if (!object) return fail(object.error());
      quota::Columns fresh;
      tree.set(object->metadata.name, readQuota(*object, names).spec, fresh);
    }
    return {};
  }
  Result<> addPod(const json::object& item) {
    const auto pod = api::decode<api::Pod>(item.at("pod"));
    if (!pod) return fail(pod.error());
    const quota::QuotaId quota = tree.find(std::string(item.at("quota").as_string()));
    const bool placed = !pod->spec.nodeName.empty();
    const bool fixed = isFixed(pod->metadata.labels);
    for (const auto& [name, quantity] : model::podRequests(*pod)) {
      const auto column = tree.columnOf(names.intern(name));
      if (!column) continue;
      const quota::Sum amount = amountOf(name, quantity);
      tree.addSelf(quota, *column,
                   {amount, placed ? amount : 0, fixed ? amount : 0, fixed && placed ? amount : 0});
    }
    return {};
  }
  Result<> setTotal(const json::object& total) {
    for (const auto& member : total) {
      const auto quantity = api::readQuantity(member.value());
      if (!quantity) return fail(quantity.error());
      const std::string name(member.key());
      tree.setTotal(names.intern(name), amountOf(name, *quantity));
    }
    return {};
  }
  // Runtime as upstream's callers see it: of what max names. What else it has stored depends on
  // the order in which quotas came.
  json::object output(quota::QuotaId quota, const json::value* recorded) const {
    using quota::Cell;
    const auto part = [&](const char* name) {
      return recorded ? recorded->as_object().if_contains(name) : nullptr;
    };
    const auto field = [&](const char* name, const std::function<quota::Sum(const Cell&)>& amount) {
      const bool masked = std::string_view(name) == "runtime";
      json::object list =
          listOutput(tree, names, part(name), masked ? tree.maxColumns(quota) : tree.columns(),
                     [&](quota::Column column) { return amount(tree.cell(quota, column)); });
      if (masked && part(name)) copyUnmasked(quota, part(name)->as_object(), list);
      return list;
    };
    return {{"runtime", field("runtime", [](const Cell& c) { return c.runtime; })},
            {"request", field("request", [](const Cell& c) { return c.request; })},
            {"childRequest", field("childRequest", [](const Cell& c) { return c.childRequest; })},
            {"used", field("used", [](const Cell& c) { return c.used; })},
            {"nonPreemptibleRequest",
             field("nonPreemptibleRequest", [](const Cell& c) { return c.fixedRequest; })},
            {"nonPreemptibleUsed",
             field("nonPreemptibleUsed", [](const Cell& c) { return c.fixedUsed; })},
            {"allocated", field("allocated", [](const Cell& c) { return c.allocated; })},
            {"guaranteed", field("guaranteed", [](const Cell& c) { return c.guaranteed; })},
            {"autoScaleMin", field("autoScaleMin", [](const Cell& c) { return c.scaledMin; })},
            {"sharedWeight", field("sharedWeight", [](const Cell& c) { return c.weight; })}};
  }
  // Recorded runtimes of resources that the quota's max does not name: no caller reads them.
  void copyUnmasked(quota::QuotaId quota, const json::object& recorded, json::object& list) const {
    for (const auto& member : recorded) {
      const auto resource = names.find(std::string_view(member.key()));
      const auto column = resource ? tree.columnOf(*resource) : std::nullopt;
      if (column && !tree.maxColumns(quota).contains(*column))
        list.insert_or_assign(member.key(), member.value());
    }
  }
};

Result<json::object> wholeTree(const json::object& testCase) {
  Case tested({testCase.at("scaleMinQuota").as_bool(), testCase.at("guaranteeUsage").as_bool()});
  if (auto set = tested.setTotal(testCase.at("total").as_object()); !set) return fail(set.error());
  if (auto added = tested.addQuotas(testCase.at("quotas").as_array()); !added)
    return fail(added.error());
  for (const auto& item : testCase.at("pods").as_array())
    if (auto added = tested.addPod(item.as_object()); !added) return fail(added.error());
  tested.tree.refreshAll();
  json::object out;
  tested.tree.forEach([&](quota::QuotaId quota) {
    const std::string& name = tested.tree.name(quota);
    out.emplace(name, tested.output(quota, testCase.at("out").as_object().if_contains(name)));
  });
  return json::object{{"out", std::move(out)}};
}

Result<json::object> evaluateQuotaRuntime(const json::object& testCase) {
  return testCase.at("op") == "tree" ? wholeTree(testCase) : redistribution(testCase);
}

}  // namespace

Checker quotaRuntimeChecker() {
  return {"quota_runtime",
          {"op", "quotas", "total", "pods", "scaleMinQuota", "guaranteeUsage"},
          [](const json::array&) -> Result<Evaluate> { return Evaluate(evaluateQuotaRuntime); },
          quotaOracles()};
}

}  // namespace koord::golden
