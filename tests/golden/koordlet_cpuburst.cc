#include "api/codec.h"
#include "golden/checkers.h"
#include "koordlet/qos/cpuburst/rules.h"
#include "model/well_known.h"

namespace koord::golden {
namespace {

namespace burst = koordlet::cpuburst;
using burst::NodeState;
using burst::QuotaStep;

std::int64_t integerOf(const json::object& object, std::string_view name) {
  return object.at(name).to_number<std::int64_t>();
}

constexpr std::pair<std::string_view, NodeState> kStates[] = {
    {"nodeBurstUnknown", NodeState::Unknown},
    {"nodeBurstIdle", NodeState::Idle},
    {"nodeBurstCooling", NodeState::Cooling},
    {"nodeBurstOverload", NodeState::Overload}};
constexpr std::pair<std::string_view, QuotaStep> kSteps[] = {{"cfsScaleUp", QuotaStep::Up},
                                                             {"cfsScaleDown", QuotaStep::Down},
                                                             {"cfsRemain", QuotaStep::Remain},
                                                             {"cfsReset", QuotaStep::Reset}};

template <class T, std::size_t N>
T valueOf(const std::pair<std::string_view, T> (&table)[N], std::string_view name) {
  for (const auto& [known, value] : table)
    if (known == name) return value;
  return table[0].second;
}
template <class T, std::size_t N>
std::string_view nameIn(const std::pair<std::string_view, T> (&table)[N], T value) {
  for (const auto& [name, known] : table)
    if (known == value) return name;
  return {};
}

Result<json::object> fixed(const json::object& testCase) {
  const auto node = api::decode<api::CPUBurstStrategy>(testCase.at("nodeConfig"));
  if (!node) return fail(node.error());
  api::Pod pod;
  const std::string annotation(testCase.at("podAnnotation").as_string());
  if (!annotation.empty()) pod.metadata.annotations[model::kAnnotationCpuBurst] = annotation;
  const auto strategy = burst::strategyFor(pod, *node);
  // "batch-cpu=1500" is a limit of something else.
  const auto limit =
      Quantity::parse(std::string_view(testCase.at("containerCPULimit").as_string()));
  return json::object{{"effectiveConfig", api::encode(strategy)},
                      {"cpuBurstEnabled", burst::burstEnabled(strategy)},
                      {"cfsQuotaBurstEnabled", burst::quotaBurstEnabled(strategy)},
                      {"cpuBurstUs", burst::burstUs(limit ? limit->milliValue() : 0, strategy)}};
}

Result<json::object> changeByNode(const json::object& testCase) {
  const auto before = valueOf(kSteps, testCase.at("operation").as_string());
  const auto after = burst::onNode(before, valueOf(kStates, testCase.at("nodeState").as_string()));
  return json::object{{"result", nameIn(kSteps, after)}, {"changed", before != after}};
}

Result<json::object> limiter(const json::object& testCase) {
  SteadyTime now{};
  const std::int64_t period = integerOf(testCase, "periodSeconds");
  const std::int64_t percent = integerOf(testCase, "maxScalePercent");
  burst::Limiter limiter(period, percent, integerOf(testCase, "initialToken"), now);
  std::int64_t expiry = 0;
  while (!limiter.expired(now + std::chrono::seconds(expiry + 1))) ++expiry;
  json::array steps;
  for (const auto& item : testCase.at("steps").as_array()) {
    json::object step = item.as_object();
    now += std::chrono::seconds(integerOf(step, "afterSeconds"));
    step["allowed"] = limiter.allow(integerOf(step, "usageScalePercent"), now);
    step["token"] = limiter.tokens();
    steps.push_back(std::move(step));
  }
  return json::object{
      {"capacity", limiter.capacity()}, {"expireSeconds", expiry}, {"steps", std::move(steps)}};
}

Result<json::object> nodeState(const json::object& testCase) {
  std::vector<burst::PodLoad> pods;
  for (const auto& item : testCase.at("pods").as_array()) {
    const auto& pod = item.as_object();
    burst::PodLoad load{model::parseQos(std::string_view(pod.at("qos").as_string())),
                        integerOf(pod, "requestMilliCPU"), std::nullopt};
    if (const auto* cores = pod.if_contains("usage")) load.cores = cores->to_number<double>();
    pods.push_back(load);
  }
  std::optional<double> used;
  if (const auto* value = testCase.if_contains("nodeUsage")) used = value->to_number<double>();
  const auto state =
      burst::nodeStateOf(static_cast<std::size_t>(integerOf(testCase, "processors")), used, pods,
                         integerOf(testCase, "sharePoolThresholdPercent"));
  return json::object{{"state", nameIn(kStates, state)}};
}

Result<json::object> evaluateBurst(const json::object& testCase) {
  const auto& op = testCase.at("op").as_string();
  if (op == "static") return fixed(testCase);
  if (op == "changeByNode") return changeByNode(testCase);
  if (op == "limiter") return limiter(testCase);
  if (op == "nodeState") return nodeState(testCase);
  return fail(ErrorCode::Invalid, "unknown op");
}

}  // namespace

Checker koordletCpuBurstChecker() {
  return {
      .file = "koordlet_cpuburst",
      // `nodeState` is an input of one op; of the other it is called `state`.
      .inputs = {"containerCPULimit", "initialToken", "maxScalePercent", "nodeConfig", "nodeState",
                 "nodeUsage", "op", "operation", "periodSeconds", "podAnnotation", "pods",
                 "processors", "sharePoolThresholdPercent"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateBurst; },
  };
}

}  // namespace koord::golden
