#include "manager/noderesource/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "manager/noderesource/batch_resource.h"
#include "manager/noderesource/cpu_ratios.h"
#include "manager/noderesource/extended_resources.h"
#include "manager/noderesource/mid_resource.h"
#include "manager/noderesource/node_usage.h"

namespace koord::manager {

namespace {

constexpr std::size_t kPodsShown = 5;

// One of the two amounts that the formulas work on side by side.
struct Side {
  Quantity CpuMemory::* amount;
  std::string_view native;  // cpu, memory
  std::string_view batch;   // the resource's names
  std::string_view mid;
  std::string_view prefix;  // of the strategy's fields
  std::string_view prefixUpper;
};
constexpr Side kSides[] = {
    {&CpuMemory::cpu, model::kCpu, model::kBatchCpu, model::kMidCpu, "cpu", "CPU"},
    {&CpuMemory::memory, model::kMemory, model::kBatchMemory, model::kMidMemory, "memory",
     "Memory"}};

class Terms {
 public:
  explicit Terms(const Side& side) : side_(side) {}

  json::object& add(std::string_view sign, const CpuMemory& amounts, std::string_view what,
                    std::string source) {
    return add(sign, (amounts.*side_.amount).toString(), what, std::move(source));
  }
  json::object& add(std::string_view sign, std::string amount, std::string_view what,
                    std::string source) {
    json::object term;
    term["sign"] = json::string_view(sign.data(), sign.size());
    term["amount"] = std::move(amount);
    term["what"] = json::string_view(what.data(), what.size());
    term["source"] = std::move(source);
    return terms_.emplace_back(std::move(term)).get_object();
  }
  json::array take() { return std::move(terms_); }

 private:
  const Side& side_;
  json::array terms_;
};

std::string capacitySource(const Side& side) {
  return fmt::format("Node: status.capacity[{}]", side.native);
}

bool isPolicy(const std::optional<std::string>& policy, std::string_view name) {
  return policy == name;
}

std::string systemSource(const Side& side, const CpuMemory& used, const CpuMemory& reserved) {
  const Quantity& system = used.*side.amount;
  const Quantity& kept = reserved.*side.amount;
  return fmt::format(
      "the larger of {} that the system and host applications use (NodeMetric: "
      "status.nodeMetric.systemUsage, status.hostApplicationMetric) and {} that is reserved (Node: "
      "status.capacity - status.allocatable, or the annotation {})",
      system.toString(), kept.toString(), model::kAnnotationNodeReservation);
}

// The pods that count most, with what each adds.
json::array largestPods(const NodeView& view, const Side& side,
                        CpuMemory HighPriorityUsage::* amount, std::size_t& count) {
  std::vector<std::pair<Quantity, std::string>> pods;
  visitHighPriority(view, [&](const api::Pod* pod, const HighPriorityUsage& part) {
    const Quantity& added = (part.*amount).*side.amount;
    if (!added.isZero())
      pods.emplace_back(added, pod ? api::keyOf(pod->metadata).toString()
                                   : std::string("a deleted pod with usage in the last report"));
  });
  count = pods.size();
  std::ranges::sort(pods, [](const auto& a, const auto& b) {
    return b.first < a.first || (a.first == b.first && a.second < b.second);
  });
  if (pods.size() > kPodsShown) pods.resize(kPodsShown);
  json::array shown;
  for (const auto& [added, name] : pods)
    shown.push_back(json::object{{"pod", name}, {"amount", added.toString()}});
  return shown;
}

void addServices(Terms& terms, const NodeView& view, const Side& side, std::string_view what,
                 CpuMemory HighPriorityUsage::* amount, const HighPriorityUsage& sum,
                 std::string_view from) {
  std::size_t count = 0;
  json::array largest = largestPods(view, side, amount, count);
  auto& term = terms.add("-", sum.*amount, what,
                         fmt::format("{} pods that are neither batch nor free ({})", count, from));
  if (!largest.empty()) term["largest"] = std::move(largest);
}

void addBatchLimits(Terms& terms, const NodeView& view, const ResourceTable& table,
                    const Side& side, const BatchTerms& batch) {
  const auto percent = side.native == model::kCpu ? view.strategy.batchCPUThresholdPercent
                                                  : view.strategy.batchMemoryThresholdPercent;
  if (percent)
    terms.add("most", share(batch.inputs.capacity, *percent / 100.0, *percent / 100.0), "limit",
              fmt::format("{}% of the capacity (strategy: batch{}ThresholdPercent)", *percent,
                          side.prefixUpper));
  if (const auto ratio = normalizationIn(table); ratio && *ratio > 1 && side.native == model::kCpu)
    terms.add("x", fmt::format("{:.2f}", *ratio), "CPU normalization",
              fmt::format("the node's model of CPU (cpu-normalization-config; annotation {})",
                          model::kAnnotationCpuNormalizationRatio));
  CpuMemory others;
  const auto taken = thirdPartyAllocations(view.node);
  if (!taken) {
    terms.add("-", "0", "others", taken.error().message);
  } else if (model::has(*taken, side.batch)) {
    Quantity amount = model::amountOf(*taken, side.batch);
    if (side.native == model::kCpu) amount = Quantity::ofMilli(amount.value());
    others.*side.amount = amount;
    terms.add("-", others, "others",
              fmt::format("used by other systems (Node: annotation {})",
                          model::kAnnotationThirdPartyAllocations));
  }
}

json::array explainBatch(const NodeView& view, const ResourceTable& table, const Side& side) {
  const BatchTerms batch = batchTerms(view.strategy, batchInputs(view));
  const bool cpu = side.native == model::kCpu;
  const auto& policy = cpu ? view.strategy.cpuCalculatePolicy : view.strategy.memoryCalculatePolicy;
  const auto threshold = cpu ? view.strategy.cpuReclaimThresholdPercent.value_or(60)
                             : view.strategy.memoryReclaimThresholdPercent.value_or(65);
  Terms terms(side);
  terms.add("", batch.inputs.capacity, "capacity", capacitySource(side));
  terms.add("-", batch.margin, "kept free",
            fmt::format("{}% of the capacity (strategy: {}ReclaimThresholdPercent {})",
                        100 - threshold, side.prefix, threshold));
  const auto& services = batch.inputs.highPriority;
  if (!cpu && isPolicy(policy, "request")) {
    terms.add("-", batch.inputs.reserved, "reserved",
              fmt::format("Node: status.capacity - status.allocatable, or the annotation {}",
                          model::kAnnotationNodeReservation));
    addServices(terms, view, side, "requested by LS pods", &HighPriorityUsage::request, services,
                "their requests; strategy: memoryCalculatePolicy request");
  } else {
    terms.add("-", batch.systemMax, "system",
              systemSource(side, batch.inputs.systemUsed, batch.inputs.reserved));
    if (isPolicy(policy, "maxUsageRequest")) {
      addServices(terms, view, side, "used or requested by LS pods",
                  &HighPriorityUsage::maxUsageRequest, services,
                  fmt::format("the larger of both, pod by pod; strategy: {}CalculatePolicy "
                              "maxUsageRequest",
                              side.prefix));
    } else {
      addServices(terms, view, side, "used by LS pods", &HighPriorityUsage::used, services,
                  "NodeMetric: status.podsMetric; pods without usage count with their requests");
    }
  }
  terms.add("least", "0", "none", "the minimum of every formula");
  addBatchLimits(terms, view, table, side, batch);
  return terms.take();
}

json::array explainMid(const NodeView& view, const Side& side) {
  const MidTerms mid = midTerms(view);
  Terms terms(side);
  if (mid.fixed) {
    const auto percent = side.native == model::kCpu
                             ? view.strategy.midStaticCPUReservedPercent.value_or(0)
                             : view.strategy.midStaticMemoryReservedPercent.value_or(0);
    terms.add("", share(mid.capacity, percent / 100.0, percent / 100.0), "fixed share",
              fmt::format("{}% of the capacity (strategy: midReclaimMode static, "
                          "midStatic{}ReservedPercent)",
                          percent, side.prefixUpper));
  } else {
    terms.add("", mid.reclaimable, "reclaimable from Prod pods",
              "NodeMetric: status.prodReclaimableMetric, which koordlet predicts");
    terms.add("most", mid.unused, "unused",
              "Node: status.capacity - NodeMetric: status.nodeMetric.nodeUsage");
    terms.add("least", "0", "none", "the result is not negative");
    terms.add(
        "+", mid.unallocated, "not allocated",
        fmt::format("{}% (strategy: midUnallocatedPercent) of capacity {} - system {} - "
                    "requests of Prod pods {}",
                    view.strategy.midUnallocatedPercent.value_or(0),
                    (mid.capacity.*side.amount).toString(), (mid.system.*side.amount).toString(),
                    (mid.requested.*side.amount).toString()));
  }
  const auto percent = side.native == model::kCpu
                           ? view.strategy.midCPUThresholdPercent.value_or(100)
                           : view.strategy.midMemoryThresholdPercent.value_or(100);
  terms.add("most", mid.most, "limit",
            fmt::format("{}% of the capacity (strategy: mid{}ThresholdPercent)", percent,
                        side.prefixUpper));
  return terms.take();
}

// Why a resource is withheld.
std::string whyNot(const NodeView& view, bool enabled) {
  if (!enabled)
    return "co-location is off for this node: colocation-config of the ConfigMap "
           "slo-controller-config has enable: false, or the node's strategy has";
  const auto& status = view.metric.status;
  if (!status.updateTime || !status.nodeMetric)
    return "koordlet has not reported: the NodeMetric has no status";
  return fmt::format(
      "the last report of koordlet is {} old, more than degradeTimeMinutes {}",
      formatDuration(std::chrono::floor<std::chrono::seconds>(view.now - *status.updateTime)),
      view.strategy.degradeTimeMinutes.value_or(15));
}

json::object explainResource(const NodeView& view, const ResourceTable& table, bool enabled,
                             const Side& side, bool batch) {
  const std::string_view name = batch ? side.batch : side.mid;
  json::object entry;
  entry["name"] = json::string_view(name.data(), name.size());
  const auto offered = view.node.status.allocatable.find(name);
  if (offered != view.node.status.allocatable.end()) entry["onNode"] = offered->second.toString();
  const auto item = table.find(name);
  if (item == table.end()) {
    entry["note"] = "not computed: its plugin is disabled (--noderesource-plugins) or failed";
    return entry;
  }
  if (item->second.reset) {
    entry["note"] = whyNot(view, enabled);
    return entry;
  }
  api::Node copy = view.node;
  if (batch) {
    (void)BatchResource().prepare(table, copy);
  } else {
    (void)MidResource().prepare(table, copy);
  }
  entry["value"] = model::amountOf(copy.status.allocatable, name).toString();
  entry["terms"] = batch ? explainBatch(view, table, side) : explainMid(view, side);
  if (!entry.contains("onNode") || entry["onNode"] != entry["value"])
    entry["note"] = fmt::format(
        "not written to the node yet: the next report of koordlet triggers the write, and changes "
        "of less than {:g}% (resourceDiffThreshold) wait up to {} s (updateTimeThresholdSeconds)",
        view.strategy.resourceDiffThreshold.value_or(0.1) * 100,
        view.strategy.updateTimeThresholdSeconds.value_or(300));
  return entry;
}

}  // namespace

json::value explainNode(const NodeView& view, const ResourceTable& table, bool enabled) {
  json::array resources;
  for (const bool batch : {true, false})
    for (const Side& side : kSides)
      resources.push_back(explainResource(view, table, enabled, side, batch));
  json::object answer{{"node", view.node.metadata.name}, {"colocation", enabled}};
  if (view.metric.status.updateTime)
    answer["measuredAt"] = formatTime(*view.metric.status.updateTime);
  answer["resources"] = std::move(resources);
  return answer;
}

}  // namespace koord::manager
