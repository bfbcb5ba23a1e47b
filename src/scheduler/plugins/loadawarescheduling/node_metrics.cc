#include "scheduler/plugins/loadawarescheduling/node_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/priority.h"
#include "model/well_known.h"
#include "scheduler/framework/store_feed.h"
#include "scheduler/plugins/loadawarescheduling/amounts.h"

namespace koord::scheduler {

namespace {

constexpr std::size_t kMaxReportedText = 500;  // in characters; the rest is similar

template <class Word>
std::uint64_t wordAt(std::string_view text, std::size_t at) {
  Word word = 0;
  std::memcpy(&word, text.data() + at, sizeof(word));
  return word;
}

// Hashes a text's length and its last eight bytes, where names of pods differ.
std::uint64_t endOf(std::string_view text) {
  using Half = std::uint32_t;
  const std::size_t size = text.size();
  if (size >= 8) return wordAt<std::uint64_t>(text, size - 8) ^ size << 56;
  if (size >= 4) return wordAt<Half>(text, 0) << 32 | wordAt<Half>(text, size - 4);
  std::uint64_t end = size;
  for (const char c : text) end = end << 8 | static_cast<unsigned char>(c);
  return end;
}

// Every pod that is added or removed is looked up, so this takes a few instructions. Pods of a node
// whose names have the same length and end are compared.
std::uint64_t hashOf(std::string_view namespace_, std::string_view name) {
  const std::uint64_t hash = endOf(name) * 0x9e3779b97f4a7c15ULL;
  return (hash ^ hash >> 32) + endOf(namespace_) * 0xc2b2ae3d27d4eb4fULL;
}

LoadReport::PodUsage usageOf(api::PodMetricInfo pod) {
  LoadReport::PodUsage usage;
  usage.hash = hashOf(pod.namespace_, pod.name);
  usage.namespace_ = pod.namespace_;
  usage.name = pod.name;
  usage.prod = pod.priority == model::textOf(model::PriorityClass::Prod);
  for (auto& [resource, amount] : pod.podUsage.resources) {
    if (resource == model::kCpu) {
      usage.milliCpu = loadAmount(resource, amount);
    } else if (resource == model::kMemory) {
      usage.memory = loadAmount(resource, amount);
    } else {
      usage.others.emplace(resource, amount);
    }
  }
  return usage;
}

// Negative usage is invalid.
void checkUsage(const std::string& path, const api::ResourceList& usage, std::string& problems) {
  for (const auto& [resource, amount] : usage) {
    if (amount.sign() >= 0) continue;
    problems += fmt::format("{}status.{}.resources[{}]: {} is negative",
                            problems.empty() ? "" : "; ", path, resource, amount.toString());
  }
}

std::string problemsOf(const api::NodeMetricStatus& status) {
  std::string problems;
  if (const auto& node = status.nodeMetric) {
    checkUsage("nodeMetric.nodeUsage", node->nodeUsage.resources, problems);
    checkUsage("nodeMetric.systemUsage", node->systemUsage.resources, problems);
    for (std::size_t i = 0; i < node->aggregatedNodeUsages.size(); ++i)
      for (const auto& [type, usage] : node->aggregatedNodeUsages[i].usage)
        checkUsage(fmt::format("nodeMetric.aggregatedNodeUsages[{}].usage.{}", i, type),
                   usage.resources, problems);
  }
  for (std::size_t i = 0; i < status.podsMetric.size() && problems.size() < kMaxReportedText; ++i)
    checkUsage(fmt::format("podsMetric[{}].podUsage", i), status.podsMetric[i].podUsage.resources,
               problems);
  return problems;
}

}  // namespace

const LoadReport::PodUsage* LoadReport::of(const api::ObjectMeta& pod) const {
  const std::uint64_t hash = hashOf(pod.namespace_, pod.name);
  auto at = std::ranges::lower_bound(pods, hash, {}, &PodUsage::hash);
  const PodUsage* found = nullptr;  // of duplicates, the last counts
  for (; at != pods.end() && at->hash == hash; ++at)
    if (at->name == pod.name && at->namespace_ == pod.namespace_) found = &*at;
  return found;
}

LoadReport digest(api::NodeMetric metric) {
  LoadReport report;
  report.problems = problemsOf(metric.status);
  report.metadata.name = std::move(metric.metadata.name);
  report.metadata.uid = std::move(metric.metadata.uid);
  report.metadata.resourceVersion = std::move(metric.metadata.resourceVersion);
  report.spec = std::move(metric.spec);
  report.updateTime = metric.status.updateTime;
  report.node = std::move(metric.status.nodeMetric);
  if (report.node) {
    report.node->aggregatedSystemUsages = {};
    report.node->numaUsages = {};
    report.node->nodeUsage.devices = {};
  }
  report.pods.reserve(metric.status.podsMetric.size());
  for (auto& pod : metric.status.podsMetric)
    if (!pod.podUsage.resources.empty()) report.pods.push_back(usageOf(std::move(pod)));
  std::ranges::stable_sort(report.pods, {}, &LoadReport::PodUsage::hash);
  return report;
}

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<LoadReport>&, kube::Api&, Executor&,
                                                  Random);

}  // namespace koord::scheduler

template <>
koord::Result<koord::scheduler::LoadReport> koord::api::decode<koord::scheduler::LoadReport>(
    const json::value& document, Reading reading) {
  auto metric = decode<NodeMetric>(document, reading);
  if (!metric) return koord::fail(std::move(metric.error()));
  return scheduler::digest(*std::move(metric));
}
