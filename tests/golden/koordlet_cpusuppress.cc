#include <fmt/format.h>

#include "api/codec.h"
#include "api/core.h"
#include "golden/checkers.h"
#include "koordlet/qos/cpusuppress/budget.h"
#include "koordlet/qos/cpusuppress/cpuset_policy.h"
#include "koordlet/qos/cpusuppress/quota_policy.h"
#include "koordlet/qos/cpusuppress/topology_annotations.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::golden {
namespace {

namespace suppress = koordlet::cpusuppress;

std::int64_t integer(const json::object& testCase, std::string_view name) {
  return testCase.at(name).to_number<std::int64_t>();
}

std::vector<koordlet::CpuPlace> processors(const json::object& testCase) {
  std::vector<koordlet::CpuPlace> cpus;
  for (const auto& item : testCase.at("processors_cpu_core_numa_socket").as_array()) {
    const auto number = [&](std::size_t i) { return item.as_array().at(i).to_number<int>(); };
    cpus.push_back({.cpu = number(0), .core = number(1), .node = number(2), .socket = number(3)});
  }
  return cpus;
}

Result<CpuSet> cpuset(const json::value& object, std::string_view name) {
  return CpuSet::parse(textAt(object, name));
}

Result<json::object> budget(const json::object& testCase) {
  const auto node = api::decode<api::Node>(
      json::object{{"metadata", {{"annotations", testCase.at("node").at("annotations")}}},
                   {"status", testCase.at("node")}});
  if (!node) return fail(node.error());
  suppress::BudgetInput input;
  input.capacityMilli = model::amountOf(node->status.capacity, model::kCpu).milliValue();
  input.reservedMilli = suppress::reservedMilli(*node);
  input.nodeCores = testCase.at("nodeUsage").to_number<double>();
  input.thresholdPercent = integer(testCase, "thresholdPercent");
  if (testCase.contains("minPercent")) input.minPercent = integer(testCase, "minPercent");
  for (const auto& pod : testCase.at("pods").as_array()) {
    const auto* usage = find(pod, "usage");
    if (!usage) continue;
    const auto kubeQos = textAt(pod, "kubeQoS") == "BestEffort" ? model::KubernetesQos::BestEffort
                                                                : model::KubernetesQos::Burstable;
    const bool bestEffort = pod.at("known").as_bool() &&
                            suppress::isBestEffort(model::parseQos(textAt(pod, "qos")), kubeQos);
    input.pods.push_back({usage->to_number<double>(), bestEffort});
  }
  for (const auto& application : testCase.at("hostApps").as_array()) {
    const auto* usage = find(application, "usage");
    if (!usage) continue;
    const auto spec = api::decode<api::HostApplicationSpec>(application.at("spec"));
    if (!spec) return fail(spec.error());
    input.hostApplications.push_back({usage->to_number<double>(), suppress::isBestEffort(*spec)});
  }
  return json::object{{"suppressMilliCPU", suppress::computeBudget(input).suppress}};
}

json::object quota(const json::object& testCase) {
  const auto chosen =
      suppress::chooseQuota(integer(testCase, "budgetMilliCPU"), integer(testCase, "currentQuota"),
                            integer(testCase, "nodeCPUs"));
  return {{"written", chosen ? json::value(std::to_string(*chosen)) : json::value()}};
}

Result<json::object> chosenCpuset(const json::object& testCase) {
  suppress::CpusetInput input;
  input.cpus = processors(testCase);
  input.budgetMilli = integer(testCase, "budgetMilliCPU");
  for (const auto& item : testCase.at("pods").as_array()) {
    const auto cpus = cpuset(item, "cpuset");
    if (!cpus) return fail(cpus.error());
    input.pods.push_back({model::parseQos(textAt(item, "qos")), *cpus});
  }
  const auto annotations = api::decode<api::Node>(
      json::object{{"metadata", {{"annotations", testCase.at("topologyAnnotations")}}}});
  if (!annotations) return fail(annotations.error());
  input.excluded = suppress::excludedCpus(annotations->metadata.annotations, nullptr);
  const auto current = cpuset(testCase, "oldCPUSet");
  if (!current) return fail(current.error());
  input.current = *current;
  const CpuSet chosen = suppress::chooseCpuset(input);
  json::array written;
  if (!chosen.empty()) written = {current->unionWith(chosen).toString(), chosen.toString()};
  return json::object{{"valuesWrittenInOrder", std::move(written)}};
}

Result<json::object> evaluateKoordletCpusuppress(const json::object& testCase) {
  const std::string_view op = testCase.at("op").as_string();
  if (op == "budget") return budget(testCase);
  if (op == "cfsQuota") return quota(testCase);
  if (op == "cpuset") return chosenCpuset(testCase);
  if (op == "cpusetPolicy") {
    json::array order;
    for (const int cpu : suppress::selectCpus(integer(testCase, "wanted"), processors(testCase)))
      order.push_back(cpu);
    return json::object{{"cpusInOrder", std::move(order)}};
  }
  return fail(ErrorCode::Invalid, fmt::format("unknown op \"{}\"", op));
}

}  // namespace

Checker koordletCpuSuppressChecker() {
  return {
      "koordlet_cpusuppress",
      {"op", "node", "nodeUsage", "pods", "hostApps", "thresholdPercent", "minPercent",
       "budgetMilliCPU", "currentQuota", "nodeCPUs", "processors_cpu_core_numa_socket", "oldCPUSet",
       "topologyAnnotations", "wanted"},
      [](const json::array&) -> Result<Evaluate> { return Evaluate(evaluateKoordletCpusuppress); }};
}

}  // namespace koord::golden
