#include "koordctl/colocation/node_report.h"

#include <algorithm>
#include <cmath>

#include "koordctl/colocation/units.h"
#include "koordlet/metriccache/aggregate.h"
#include "manager/noderesource/batch_resource.h"
#include "manager/noderesource/mid_resource.h"
#include "model/priority.h"
#include "model/qos.h"

namespace koord::koordctl::colocation {

namespace {

namespace prediction = koordlet::prediction;
using namespace std::chrono_literals;

constexpr double kMinute = 60;

api::ResourceMap amountsOf(double cores, double gib) {
  api::ResourceMap map;
  map.resources["cpu"] = Quantity::ofMilli(milliOf(cores));
  map.resources["memory"] = Quantity::of(bytesOf(gib), Quantity::Format::BinarySI);
  return map;
}

api::ResourceMap amountsOf(const prediction::Amount& amount) {
  return amountsOf(static_cast<double>(amount.milli) / 1000,
                   static_cast<double>(amount.bytes) / kGib);
}

// koordlet's sample for training: the 90th percentile of the last minute.
double p90(const Window& window, std::size_t count) {
  std::vector<double> values = window.newest(count);
  return values.empty() ? 0 : koordlet::aggregate(std::move(values)).p90;
}

api::PodMetricInfo podMetricOf(const api::Pod& pod, const Measured& measured) {
  api::PodMetricInfo info;
  info.name = pod.metadata.name;
  info.namespace_ = pod.metadata.namespace_;
  info.podUsage = amountsOf(measured.cpu.mean(), measured.memory.mean());
  info.priority = model::textOf(model::priorityClassWithDefault(pod));
  info.qos = model::textOf(model::qosWithDefault(pod));
  return info;
}

}  // namespace

Forecaster::Forecaster(const Parameters& parameters, const NodeSize& size)
    : parameters_(parameters), size_(size), prod_({}), system_({}), none_({}) {}

prediction::Model& Forecaster::modelOf(std::size_t service) {
  while (services_.size() <= service) services_.emplace_back(prediction::HalfLives{});
  return services_[service];
}

void Forecaster::learn(std::size_t service, double cores, double gib, WallTime time) {
  modelOf(service).add(cores, gib * kGib, time);
}

void Forecaster::learnSum(double cores, double gib, WallTime time) {
  prod_.add(cores, gib * kGib, time);
  none_.add(0, 0, time);
  system_.add(size_.systemCores, size_.systemMemoryGib * kGib, time);
  trained_ = true;
}

void Forecaster::train(const Machine& machine, WallTime now) {
  const auto count = static_cast<std::size_t>(std::max(1.0, kMinute / parameters_.stepSeconds));
  double cores = 0, gib = 0;
  for (std::size_t n = 0; n < machine.services().size(); ++n) {
    const Measured& measured = machine.services()[n].measured;
    const double cpu = p90(measured.cpu, count), memory = p90(measured.memory, count);
    learn(n, cpu, memory, now);
    cores += cpu;
    gib += memory;
  }
  learnSum(cores, gib, now);
}

std::optional<prediction::Forecast> Forecaster::forecast(const Machine& machine) const {
  if (!trained_ || services_.size() < machine.services().size()) return std::nullopt;
  std::vector<std::string> uids;
  for (const RunningService& service : machine.services())
    uids.push_back(service.pod->metadata.uid);
  std::vector<prediction::PodDemand> pods;
  for (std::size_t n = 0; n < uids.size(); ++n) {
    const RunningService& service = machine.services()[n];
    pods.push_back({.uid = uids[n],
                    .priorityClass = model::PriorityClass::Prod,
                    .request = {milliOf(service.cores), bytesOf(service.memoryGib)},
                    .age = 24h * 7});
  }
  const std::string prod = prediction::keyOf(model::PriorityClass::Prod);
  const std::string none = prediction::keyOf(model::PriorityClass::None);
  const prediction::PeakOf peakOf = [&](std::string_view key) -> std::optional<prediction::Amount> {
    if (key == prod) return prod_.peak();
    if (key == none) return none_.peak();
    if (key == prediction::kSystemKey) return system_.peak();
    const auto it = std::ranges::find(uids, key);
    return services_[static_cast<std::size_t>(it - uids.begin())].peak();
  };
  const prediction::Amount allocatable{milliOf(size_.cores), bytesOf(size_.memoryGib)};
  const auto byClass = forecastByClass(pods, peakOf, {}, allocatable);
  if (!byClass) return std::nullopt;
  return leastOf(forecastByPod(pods, peakOf, {}, allocatable), *byClass);
}

api::NodeMetric nodeMetricOf(const Machine& machine, WallTime now,
                             const std::optional<prediction::Forecast>& forecast) {
  api::NodeMetric metric;
  metric.metadata.name = machine.name();
  metric.status.updateTime = now;
  api::NodeMetricInfo& node = metric.status.nodeMetric.emplace();
  node.nodeUsage = amountsOf(machine.node().cpu.mean(), machine.node().memory.mean());
  node.systemUsage = amountsOf(machine.size().systemCores, machine.size().systemMemoryGib);
  for (const RunningService& service : machine.services())
    if (service.measured.cpu.count() > 0)
      metric.status.podsMetric.push_back(podMetricOf(*service.pod, service.measured));
  for (const RunningJob& job : machine.jobs())
    if (job.measured.cpu.count() > 0)
      metric.status.podsMetric.push_back(podMetricOf(*job.pod, job.measured));
  metric.status.prodReclaimableMetric.emplace();
  if (!forecast) return metric;
  metric.status.prodReclaimableMetric->resource = amountsOf(forecast->reclaimable);
  metric.status.prodPeakMetric.emplace().resource = amountsOf(forecast->peak);
  return metric;
}

std::shared_ptr<const api::Node> withResources(
    const model::ColocationStrategy& strategy, const api::Node& node, const api::NodeMetric& metric,
    const std::vector<std::shared_ptr<const api::Pod>>& pods, WallTime now, bool overdue) {
  const manager::NodeView view{strategy, node, metric, pods, now};
  const manager::BatchResource batch;
  const manager::MidResource mid;
  auto copy = std::make_shared<api::Node>(node);
  bool write = false;
  for (const manager::Plugin* plugin :
       std::initializer_list<const manager::Plugin*>{&batch, &mid}) {
    auto items = plugin->calculate(view);
    if (!items) continue;
    manager::ResourceTable table;
    for (manager::ResourceItem& item : *items) table[item.name] = std::move(item);
    if (!plugin->prepare(table, *copy)) continue;
    write |= plugin->needsWrite(strategy, node, *copy);
  }
  write |= overdue && copy->status.allocatable != node.status.allocatable;
  return write ? copy : nullptr;
}

}  // namespace koord::koordctl::colocation
