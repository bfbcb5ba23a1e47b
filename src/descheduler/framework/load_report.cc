#include "descheduler/framework/load_report.h"

#include <algorithm>

#include "descheduler/framework/pod.h"
#include "model/priority.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

LoadReport::Usage usageOf(const api::ResourceList& amounts) {
  LoadReport::Usage usage;
  for (const auto& [name, amount] : amounts) {
    if (name == model::kCpu) {
      usage.milliCpu = amount.milliValue();
    } else if (name == model::kMemory) {
      usage.memory = amount.value();
    } else {
      usage.others[name] = amount.value();
    }
  }
  return usage;
}

}  // namespace

std::int64_t LoadReport::Usage::of(std::string_view resource) const {
  if (resource == model::kCpu) return milliCpu;
  if (resource == model::kMemory) return memory;
  const auto found = others.find(resource);
  return found == others.end() ? 0 : found->second;
}

void LoadReport::Usage::add(const Usage& other) {
  milliCpu += other.milliCpu;
  memory += other.memory;
  for (const auto& [name, amount] : other.others) others[name] += amount;
}

const LoadReport::Usage* LoadReport::podUsage(std::uint64_t key) const {
  const auto found = std::ranges::lower_bound(pods, key, {}, &PodUsage::key);
  return found == pods.end() || found->key != key ? nullptr : &found->usage;
}

LoadReport digest(const api::NodeMetric& metric) {
  LoadReport report;
  report.metadata.name = metric.metadata.name;
  report.metadata.uid = metric.metadata.uid;
  report.metadata.resourceVersion = metric.metadata.resourceVersion;
  report.updateTime = metric.status.updateTime;
  if (metric.status.nodeMetric) {
    report.measured = true;
    report.system = usageOf(metric.status.nodeMetric->systemUsage.resources);
  }
  for (const auto& application : metric.status.hostApplicationMetric) {
    const auto usage = usageOf(application.usage.resources);
    report.hostApplications.add(usage);
    if (model::parsePriorityClass(application.priority) == model::PriorityClass::Prod)
      report.prodHostApplications.add(usage);
  }
  report.pods.reserve(metric.status.podsMetric.size());
  for (const auto& pod : metric.status.podsMetric)
    report.pods.push_back({keyHash(pod.namespace_, pod.name), usageOf(pod.podUsage.resources)});
  std::ranges::sort(report.pods, {}, &LoadReport::PodUsage::key);
  return report;
}

}  // namespace koord::descheduler

template <>
koord::Result<koord::descheduler::LoadReport> koord::api::decode<koord::descheduler::LoadReport>(
    const json::value& document, Reading reading) {
  const auto metric = decode<NodeMetric>(document, reading);
  if (!metric) return koord::fail(metric.error());
  return descheduler::digest(*metric);
}
