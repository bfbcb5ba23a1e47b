#include "api/codec.h"
#include "api/core.h"
#include "golden/checkers.h"
#include "koordlet/qos/memoryevict/victims.h"
#include "model/qos.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::golden {
namespace {

namespace memory = koordlet::memoryevict;

json::array namesOf(const std::vector<koordlet::EvictionCandidate>& victims) {
  json::array names;
  for (const auto& victim : victims) names.push_back(json::value(victim.pod->metadata.name));
  return names;
}

json::object amounts(const koordlet::Amounts& amounts) {
  json::object result;
  for (const auto& [name, amount] : amounts) result[name] = amount;
  return result;
}

Result<json::object> evaluateKoordletMemoryevict(const json::object& testCase) {
  const auto strategy = api::decode<api::ResourceThresholdStrategy>(testCase.at("strategy"));
  const auto node = api::decode<api::Node>(json::object{{"status", testCase.at("node")}});
  if (!strategy) return fail(strategy.error());
  if (!node) return fail(node.error());
  std::vector<memory::MemoryUser> pods, bestEffort;
  for (const auto& item : testCase.at("pods").as_array()) {
    auto pod = api::decode<api::Pod>(item.at("pod"));
    if (!pod) return fail(pod.error());
    memory::MemoryUser user{std::make_shared<const api::Pod>(*std::move(pod)), std::nullopt};
    if (const auto* used = find(item, "usageBytes")) user.used = used->to_number<std::int64_t>();
    if (model::rawQos(*user.pod) == model::Qos::BE) bestEffort.push_back(user);
    pods.push_back(std::move(user));
  }
  const auto release =
      memory::releaseByUsed(*strategy, testCase.at("nodeMemoryUsedBytes").to_number<std::int64_t>(),
                            model::amountOf(node->status.capacity, model::kMemory).value());
  json::object byUsed;
  if (release.bytes != 0) byUsed["memory"] = release.bytes;
  return json::object{
      {"releaseByUsed", std::move(byUsed)},
      {"releaseByAllocatable",
       amounts(memory::releaseByAllocatable(*strategy, node->status.allocatable, pods))},
      {"bePodOrder", namesOf(memory::bestEffortVictims(std::move(bestEffort)))},
      {"orderByUsed",
       namesOf(koordlet::victimsByUse(model::kMemory, pods,
                                      strategy->evictEnabledPriorityThreshold.value_or(0)))},
      {"orderByAllocatable",
       namesOf(koordlet::victimsByRequest(
           model::kMemory, pods, strategy->allocatableEvictPriorityThreshold.value_or(0)))},
  };
}

}  // namespace

Checker koordletMemoryEvictChecker() {
  return {
      .file = "koordlet_memoryevict",
      .inputs = {"node", "nodeMemoryUsedBytes", "pods", "strategy"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateKoordletMemoryevict; },
  };
}

}  // namespace koord::golden
