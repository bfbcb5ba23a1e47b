#include "descheduler/plugins/lownodeload/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "api/codec.h"
#include "base/log.h"
#include "model/node_names.h"
#include "model/node_reservation.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

constexpr std::string_view kPods = "pods";
using model::kAnnotationRawAllocatable;

std::int64_t amountIn(const api::ResourceList& amounts, std::string_view resource) {
  const Quantity amount = model::amountOf(amounts, resource);
  return resource == model::kCpu ? amount.milliValue() : amount.value();
}

std::optional<api::ResourceList> rawAllocatable(const api::Node& node) {
  const auto* text = api::findIn(node.metadata.annotations, kAnnotationRawAllocatable);
  if (!text) return std::nullopt;
  const auto document = parseJson(*text);
  auto spec = document ? api::decode<api::Node>(
                             json::object{{"status", json::object{{"allocatable", *document}}}})
                       : Result<api::Node>(fail(document.error()));
  if (spec) return std::move(spec->status.allocatable);
  log::warn("node {}: annotation {}: {}", node.metadata.name, kAnnotationRawAllocatable,
            spec.error().message);
  return std::nullopt;
}

// Saturates at 64 bits for any configured percentage.
std::int64_t share(double percent, std::int64_t allocatable) {
  const double amount = percent * 0.01 * static_cast<double>(allocatable);
  constexpr double kMost = 9.2e18;
  return static_cast<std::int64_t>(std::clamp(amount, 0.0, kMost));
}

double valueIn(const Percentages& percentages, const std::string& resource, double absent) {
  const auto found = percentages.find(resource);
  return found == percentages.end() ? absent : found->second;
}

bool isBelowAll(const Amounts& usage, const Amounts& limits) {
  for (std::size_t r = 0; r < usage.size(); ++r)
    if (usage[r] > limits[r]) return false;
  return true;
}

}  // namespace

bool isOver(const NodeLoad& load, Scope scope) {
  return !isBelowAll(scope == Scope::All ? load.usage : load.prodUsage, highOf(load, scope));
}

PoolLoad::PoolLoad(const NodePool& pool, std::vector<const NodeView*> nodes,
                   const ReportOf& reportOf, Duration expiration, WallTime now, LoadRules rules,
                   IsBeingMoved leaving)
    : pool_(pool), rules_(rules), isBeingMoved_(std::move(leaving)) {
  chooseResources();
  completeThresholds();
  nodes_.reserve(nodes.size());
  for (const NodeView* view : nodes) {
    NodeLoad& load = nodes_.emplace_back();
    load.view = view;
    auto report = reportOf(view->name());
    if (!report || !report->measured || !report->updateTime ||
        now - *report->updateTime >= expiration)
      continue;
    load.report = std::move(report);
    measure(load);
  }
  limit(pool_.useDeviationThresholds ? averages() : std::vector<Percent>());
  for (NodeLoad& load : nodes_)
    if (load.known()) classify(load);
}

void PoolLoad::chooseResources() {
  std::set<std::string> names{std::string(model::kMemory)};
  for (const auto* thresholds : {&pool_.low, &pool_.high, &pool_.prodLow, &pool_.prodHigh})
    for (const auto& [resource, percent] : *thresholds) names.insert(resource);
  resources_.assign(names.begin(), names.end());
}

// Resources that are not configured are not limited: 100 %, or with deviation the whole node.
void PoolLoad::completeThresholds() {
  const bool deviation = pool_.useDeviationThresholds;
  const double none = deviation ? 0 : 100;
  for (const std::string& resource : resources_) {
    Percent percent{};
    const auto complete = [&](const Percentages& low, const Percentages& high, double& lowInto,
                              double& highInto) {
      const bool hasLow = low.contains(resource);
      if (rules_ == LoadRules::AsUpstream) {
        lowInto = hasLow ? valueIn(low, resource, 0) : none;
        highInto = hasLow ? valueIn(high, resource, 0) : none;
        return;
      }
      // With deviation, 100 points above or below the average are the ends of the scale.
      lowInto = valueIn(low, resource, deviation ? -100 : 100);
      highInto = valueIn(high, resource, 100);
    };
    complete(pool_.low, pool_.high, percent.low, percent.high);
    complete(pool_.prodLow, pool_.prodHigh, percent.prodLow, percent.prodHigh);
    percent_.push_back(percent);
  }
}

std::int64_t PoolLoad::allocatableOf(const api::Node& node, const std::string& resource) const {
  const std::int64_t own = amountIn(node.status.allocatable, resource);
  const auto raw = rawAllocatable(node);
  if (!raw) return own;
  if (rules_ == LoadRules::AsUpstream) return amountIn(*raw, resource);
  if (!raw->contains(resource)) return own;
  // Like the transformed node: without the resources reserved for processes outside Kubernetes.
  const auto reservation = model::readNodeReservation(node.metadata.annotations);
  if (!reservation || !*reservation || (*reservation)->applyPolicy == "ReservedCPUsOnly")
    return amountIn(*raw, resource);
  const auto reserved = model::reservedResources(node.metadata.annotations);
  return std::max<std::int64_t>(0, amountIn(*raw, resource) - amountIn(reserved, resource));
}

Amounts PoolLoad::podAmounts(const LoadReport::Usage& usage) const {
  Amounts amounts(resources_.size());
  for (std::size_t r = 0; r < resources_.size(); ++r)
    amounts[r] = resources_[r] == kPods ? 1 : usage.of(resources_[r]);
  return amounts;
}

void PoolLoad::measure(NodeLoad& load) {
  LoadReport::Usage usage = load.report->system;
  LoadReport::Usage prod;
  if (rules_ == LoadRules::AsUpstream) {
    for (const auto& pod : load.report->pods) usage.add(pod.usage);
  } else {
    usage.add(load.report->hostApplications);
    prod.add(load.report->prodHostApplications);
  }
  for (const auto& entry : load.view->pods->entries) {
    if (entry.facts.is(PodFacts::Terminal)) continue;
    if (rules_ == LoadRules::Ours) {
      if (entry.facts.is(PodFacts::Terminating) || (isBeingMoved_ && isBeingMoved_(*entry.pod)))
        continue;
      if (const auto* own = load.report->podUsage(entry.facts.key)) usage.add(*own);
    }
    ++load.pods;
    if (entry.facts.priorityClass != model::PriorityClass::Prod) continue;
    ++load.prodPods;
    if (const auto* own = load.report->podUsage(entry.facts.key)) prod.add(*own);
  }
  for (const std::string& resource : resources_) {
    load.allocatable.push_back(allocatableOf(*load.view->node, resource));
    load.usage.push_back(resource == kPods ? load.pods : usage.of(resource));
    load.prodUsage.push_back(resource == kPods ? load.prodPods : prod.of(resource));
  }
}

std::vector<PoolLoad::Percent> PoolLoad::averages() const {
  std::vector<Percent> sums(resources_.size());
  double count = 0;
  for (const NodeLoad& load : nodes_) {
    if (!load.known()) continue;
    ++count;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      if (load.allocatable[r] == 0) continue;
      const auto all = static_cast<double>(load.allocatable[r]);
      sums[r].low += static_cast<double>(load.usage[r]) / all * 100.0;
      sums[r].prodLow += static_cast<double>(load.prodUsage[r]) / all * 100.0;
    }
  }
  for (Percent& sum : sums) {
    sum.low = sum.high = count == 0 ? 0 : sum.low / count;
    sum.prodLow = sum.prodHigh = count == 0 ? 0 : sum.prodLow / count;
  }
  return sums;
}

// averages: empty if the thresholds are percentages of the node.
void PoolLoad::limit(const std::vector<Percent>& averages) {
  const auto bounds = [&](std::size_t r, std::int64_t all, double low, double high, double average,
                          std::int64_t& lowInto, std::int64_t& highInto) {
    if (averages.empty()) {
      lowInto = share(low, all);
      highInto = share(high, all);
    } else if (rules_ == LoadRules::AsUpstream && low == 0) {
      lowInto = highInto = all;
    } else {
      lowInto = share(std::clamp(average - low, 0.0, 100.0), all);
      highInto = share(std::clamp(average + high, 0.0, 100.0), all);
    }
    // A resource that a node does not have is ignored.
    if (rules_ == LoadRules::Ours && all == 0 && resources_[r] != kPods)
      lowInto = highInto = std::numeric_limits<std::int64_t>::max();
  };
  for (NodeLoad& load : nodes_) {
    if (!load.known()) continue;
    for (auto* amounts : {&load.low, &load.high, &load.prodLow, &load.prodHigh})
      amounts->resize(resources_.size());
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const Percent average = averages.empty() ? Percent{} : averages[r];
      const std::int64_t all = load.allocatable[r];
      const Percent& percent = percent_[r];
      bounds(r, all, percent.low, percent.high, average.low, load.low[r], load.high[r]);
      bounds(r, all, percent.prodLow, percent.prodHigh, average.prodLow, load.prodLow[r],
             load.prodHigh[r]);
    }
  }
}

void PoolLoad::classify(NodeLoad& load) const {
  const bool open = !load.view->node->spec.unschedulable;
  const bool low = open && isBelowAll(load.usage, load.low);
  const bool high = !low && !isBelowAll(load.usage, load.high);
  const bool prodLow = open && isBelowAll(load.prodUsage, load.prodLow);
  const bool prodHigh = !prodLow && !isBelowAll(load.prodUsage, load.prodHigh);
  if (high) {
    load.loadClass = LoadClass::High;
  } else if (prodHigh) {
    load.loadClass = LoadClass::ProdHigh;
  } else if (low) {
    load.loadClass = prodLow ? LoadClass::BothLow : LoadClass::Low;
  } else {
    load.loadClass = prodLow ? LoadClass::ProdLow : LoadClass::Appropriate;
  }
}

std::vector<NodeLoad*> PoolLoad::of(LoadClass loadClass) {
  std::vector<NodeLoad*> found;
  for (NodeLoad& load : nodes_)
    if (load.loadClass == loadClass) found.push_back(&load);
  return found;
}

std::string PoolLoad::excess(const NodeLoad& load, Scope scope) const {
  const bool prod = scope == Scope::Prod;
  const Amounts& usage = prod ? load.prodUsage : load.usage;
  const Amounts& high = highOf(load, scope);
  std::vector<std::string> parts;
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    if (usage[r] <= high[r]) continue;
    const double percent =
        load.allocatable[r] == 0
            ? 0
            : static_cast<double>(usage[r]) / static_cast<double>(load.allocatable[r]) * 100.0;
    parts.push_back(fmt::format("{} {} usage({:.2f}%)>threshold({:.2f}%)", prod ? "prod" : "node",
                                resources_[r], percent,
                                prod ? percent_[r].prodHigh : percent_[r].high));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::int64_t PoolLoad::score(const NodeLoad& load, Scope scope) const {
  const Amounts& usage = usageOf(load, scope);
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  const auto count = [&](std::string_view resource, std::int64_t used, std::int64_t all) {
    const auto weight = pool_.weights.find(resource);
    if (weight == pool_.weights.end()) return;
    weights += weight->second;
    if (all > 0)
      sum += weight->second *
             static_cast<std::int64_t>(1000.0 * static_cast<double>(std::min(used, all)) /
                                       static_cast<double>(all));
  };
  for (std::size_t r = 0; r < resources_.size(); ++r)
    count(resources_[r], usage[r], load.allocatable[r]);
  if (!std::ranges::binary_search(resources_, kPods))
    count(kPods, scope == Scope::All ? load.pods : load.prodPods,
          amountIn(load.view->node->status.allocatable, kPods));
  return weights == 0 ? 0 : sum / weights;
}

}  // namespace koord::descheduler
