#include "golden/quota_oracle.h"

#include <algorithm>

#include "api/codec.h"
#include "api/elasticquota.h"
#include "api/quantity_json.h"
#include "model/pod_requests.h"
#include "scheduler/plugins/elasticquota/tree/reference_tree.h"

namespace koord::golden {

namespace {

using scheduler::quota::ReferenceQuota;
using scheduler::quota::ReferenceTree;
constexpr const char* kPrefix = "quota.scheduling.koordinator.sh/";

struct World {
  ReferenceTree tree;
  std::vector<std::string> resources;

  int idOf(const std::string& name) {
    const auto it = std::ranges::find(resources, name);
    if (it == resources.end()) resources.push_back(name);
    return static_cast<int>(std::ranges::find(resources, name) - resources.begin());
  }
  std::int64_t amountOf(const std::string& name, const Quantity& quantity) {
    return name == "cpu" ? quantity.milliValue() : quantity.value();
  }
  std::string textOf(int resource, std::int64_t amount) const {
    const std::string& name = resources[static_cast<std::size_t>(resource)];
    if (name == "cpu") return Quantity::ofMilli(amount).toString();
    return Quantity::of(amount,
                        name == "memory" ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI)
        .toString();
  }
  std::map<int, std::int64_t> read(const api::ResourceList& list) {
    std::map<int, std::int64_t> amounts;
    for (const auto& [name, quantity] : list) amounts[idOf(name)] = amountOf(name, quantity);
    return amounts;
  }
  void add(const api::ElasticQuota& object) {
    ReferenceQuota& quota = tree.quotas[object.metadata.name];
    const auto label = [&](const char* key) {
      const auto* text = api::findIn(object.metadata.labels, std::string(kPrefix) + key);
      return text ? *text : std::string();
    };
    quota.parent = label("parent") == "koordinator-root-quota" ? "" : label("parent");
    quota.lends = label("allow-lent-resource") != "false";
    quota.max = quota.weight = read(object.spec.max);
    quota.min = read(object.spec.min);
    const auto* text =
        api::findIn(object.metadata.annotations, std::string(kPrefix) + "shared-weight");
    const auto document = text ? parseJson(*text) : Result<json::value>(json::value(nullptr));
    if (!document || !document->is_object()) return;
    std::map<int, std::int64_t> weights;
    for (const auto& member : document->get_object()) {
      const auto weight = api::readQuantity(member.value());
      if (!weight) return;
      const std::string name(member.key());
      weights[idOf(name)] = amountOf(name, *weight);
    }
    if (std::ranges::any_of(weights, [](const auto& weight) { return weight.second != 0; }))
      quota.weight = weights;
  }
  void add(ReferenceQuota& quota, const api::Pod& pod) {
    for (const auto& [name, quantity] : model::podRequests(pod)) {
      const int resource = idOf(name);
      quota.request[resource] += amountOf(name, quantity);
      if (!pod.spec.nodeName.empty()) quota.used[resource] += amountOf(name, quantity);
    }
  }
};

std::optional<World> worldOf(const json::object& testCase) {
  World world;
  world.tree.scaleMin = testCase.at("scaleMinQuota").as_bool();
  world.tree.guarantee = testCase.at("guaranteeUsage").as_bool();
  for (const auto& item : testCase.at("quotas").as_array()) {
    const auto object = api::decode<api::ElasticQuota>(item);
    if (!object) return std::nullopt;
    world.add(*object);
  }
  for (const auto& item : testCase.at("pods").as_array()) {
    const auto pod = api::decode<api::Pod>(item.as_object().at("pod"));
    if (!pod) return std::nullopt;
    world.add(world.tree.quotas[std::string(item.as_object().at("quota").as_string())], *pod);
  }
  for (const auto& member : testCase.at("total").as_object()) {
    const std::string name(member.key());
    const auto amount = api::readQuantity(member.value());
    if (!amount) return std::nullopt;
    world.tree.total[world.idOf(name)] = world.amountOf(name, *amount);
  }
  return world;
}

// Runtimes of what max names and scaled mins as the rules have them; the rest is as recorded.
std::optional<json::value> byTheRules(const json::object& testCase, std::string_view field) {
  if (field != "out") return std::nullopt;
  auto world = worldOf(testCase);
  if (!world) return std::nullopt;
  json::object out = testCase.at("out").as_object();
  bool changed = false;
  for (int resource = 0; resource < static_cast<int>(world->resources.size()); ++resource) {
    const std::string name = world->resources[static_cast<std::size_t>(resource)];
    for (const auto& [quota, values] : world->tree.evaluate(resource)) {
      const auto put = [&](const char* part, std::int64_t amount) {
        json::object& list = out.at(quota).as_object()[part].is_object()
                                 ? out.at(quota).as_object()[part].as_object()
                                 : out.at(quota).as_object()[part].emplace_object();
        const json::value* recorded = list.if_contains(name);
        const std::string text = world->textOf(resource, amount);
        if (recorded ? *recorded == json::value(text) : amount == 0) return;
        list.insert_or_assign(name, text);
        changed = true;
      };
      if (world->tree.has(quota, resource)) put("runtime", values.runtime);
      if (world->tree.quotas[quota].min.contains(resource)) put("autoScaleMin", values.scaledMin);
    }
  }
  return changed ? std::optional<json::value>(std::move(out)) : std::nullopt;
}

}  // namespace

std::vector<Oracle> quotaOracles() {
  return {{"rules", byTheRules}};
}

}  // namespace koord::golden
