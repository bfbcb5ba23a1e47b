#include "koordctl/tune/studied_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/codec.h"
#include "api/core.h"
#include "base/time.h"
#include "cluster/snapshot/snapshot_reader.h"
#include "koordctl/colocation/units.h"
#include "model/pod_requests.h"
#include "model/priority.h"
#include "model/resources.h"
#include "model/slo_config.h"
#include "model/slo_section.h"
#include "model/well_known.h"

namespace koord::koordctl {

namespace {

using colocation::kGib;

constexpr const char* kSloConfig = "slo-controller-config";
constexpr const char* kSchedulerConfig = "koord-scheduler-config";
constexpr std::size_t kMaxShapes = 64;
constexpr double kLeastCores = 1;

double coresOf(const Quantity& quantity) {
  return static_cast<double>(quantity.milliValue()) / 1000;
}
double gibOf(const Quantity& quantity) {
  return static_cast<double>(quantity.value()) / kGib;
}

// The objects that matter.
struct Objects {
  std::map<std::string, api::Node> nodes;
  std::map<std::string, api::NodeMetric> metrics;
  std::map<api::ObjectKey, api::Pod> pods;
  std::optional<api::ConfigMap> sloConfig;
  std::string schedulerConfig;
  WallTime taken{};
  std::size_t unreadable = 0;
};

template <class T>
std::optional<T> decoded(std::string_view text, Objects& objects) {
  auto object = parseJson(text);
  if (object)
    if (auto read = api::decode<T>(*object)) return *std::move(read);
  ++objects.unreadable;
  return std::nullopt;
}

bool runs(const api::Pod& pod) {
  return !pod.spec.nodeName.empty() && pod.status.phase != "Succeeded" &&
         pod.status.phase != "Failed";
}

Result<Objects> readObjects(const std::string& file) {
  Objects objects;
  cluster::SnapshotVisitor visitor;
  visitor.header = [&](const cluster::SnapshotHeader& header) -> Result<> {
    objects.taken = parseTime(header.createdAt).value_or(WallTime{});
    return {};
  };
  visitor.object = [&](std::string_view resource, std::string_view text) -> Result<> {
    if (resource == "nodes") {
      if (auto node = decoded<api::Node>(text, objects))
        objects.nodes[node->metadata.name] = *std::move(node);
    } else if (resource == "nodemetrics.slo.koordinator.sh") {
      if (auto metric = decoded<api::NodeMetric>(text, objects))
        objects.metrics[metric->metadata.name] = *std::move(metric);
    } else if (resource == "pods") {
      if (auto pod = decoded<api::Pod>(text, objects); pod && runs(*pod)) {
        api::ObjectKey key{pod->metadata.namespace_, pod->metadata.name};
        objects.pods[std::move(key)] = *std::move(pod);
      }
    } else if (resource == "configmaps" &&
               (text.find(kSloConfig) != text.npos || text.find(kSchedulerConfig) != text.npos)) {
      auto map = decoded<api::ConfigMap>(text, objects);
      if (!map || map->metadata.namespace_ != model::kSystemNamespace) return {};
      if (map->metadata.name == kSchedulerConfig)
        if (const auto* value = api::findIn(map->data, kSchedulerConfig))
          objects.schedulerConfig = *value;
      if (map->metadata.name == kSloConfig) objects.sloConfig = *std::move(map);
    }
    return {};
  };
  auto read = cluster::readSnapshot(file, visitor);
  if (!read) return fail(std::move(read.error()));
  return objects;
}

// The settings of a node, to compare them with the cluster's.
auto settingsOf(const model::ColocationStrategy& colocation, const api::NodeSLOSpec& slo) {
  const auto threshold = slo.resourceUsedThresholdWithBE.value_or(
      model::defaultStrategy<api::ResourceThresholdStrategy>());
  return std::tuple(colocation.enable, colocation.cpuReclaimThresholdPercent,
                    colocation.memoryReclaimThresholdPercent, colocation.cpuCalculatePolicy,
                    colocation.memoryCalculatePolicy, colocation.midCPUThresholdPercent,
                    threshold.cpuSuppressThresholdPercent, threshold.memoryEvictThresholdPercent,
                    toJson(slo.cpuBurstStrategy));
}

class Extraction {
 public:
  explicit Extraction(Objects objects) : objects_(std::move(objects)) {
    const api::ConfigMap* map = objects_.sloConfig ? &*objects_.sloConfig : nullptr;
    problems_ = config_.update(map).problems;
    for (const auto& problem : slo_.update(map).problems) problems_.push_back(problem);
    clusterSlo_ = slo_.specOf({}, {});
  }

  Result<StudiedCluster> run(const std::string& file) {
    if (!problems_.empty())
      return fail(
          ErrorCode::Invalid,
          fmt::format("{}: ConfigMap {}: {}; mend it first, because a proposal would replace "
                      "the section",
                      file, kSloConfig, problems_.front().message));
    settings();
    for (const auto& [name, node] : objects_.nodes) addNode(node);
    if (state_.nodes.empty())
      return fail(
          ErrorCode::Invalid,
          fmt::format("{}: no node can be studied: of {} nodes {} have no NodeMetric "
                      "(koordlet reports it), {} are unschedulable or have less than one CPU, "
                      "{} have settings of their own",
                      file, objects_.nodes.size(), unmeasured_, closed_, own_));
    for (const auto& [key, pod] : objects_.pods) addPod(key, pod);
    shapes();
    notes();
    return std::move(state_);
  }

 private:
  void settings() {
    state_.taken = objects_.taken;
    state_.colocation = config_.cluster();
    state_.colocates = state_.colocation.enable.value_or(false);
    auto& node = state_.node;
    node.threshold = clusterSlo_.resourceUsedThresholdWithBE.value_or(
        model::defaultStrategy<api::ResourceThresholdStrategy>());
    node.burst = api::decode<api::CPUBurstStrategy>(clusterSlo_.cpuBurstStrategy)
                     .value_or(model::defaultStrategy<api::CPUBurstStrategy>());
    node.suppress = node.threshold.enable.value_or(false);
    node.evictMemory = node.evictCpu = node.suppress;  // the shipped gates of koordlet
    if (objects_.sloConfig) state_.config = objects_.sloConfig->data;
    if (objects_.schedulerConfig.empty()) return;
    auto scheduler = scheduler::parseConfiguration(objects_.schedulerConfig);
    if (!scheduler) {
      state_.notes.push_back(fmt::format("{}: {}: the recommended configuration is used",
                                         kSchedulerConfig, scheduler.error().message));
      return;
    }
    if (!scheduler->extenders.empty())
      state_.notes.emplace_back("extenders of koord-scheduler are not asked");
    scheduler->extenders.clear();
    state_.scheduler = *std::move(scheduler);
  }

  void addNode(const api::Node& node) {
    const std::string& name = node.metadata.name;
    const auto metric = objects_.metrics.find(name);
    if (metric == objects_.metrics.end() || !metric->second.status.nodeMetric) {
      ++unmeasured_;
      return;
    }
    const double cores = coresOf(model::amountOf(node.status.allocatable, "cpu"));
    const double memory = gibOf(model::amountOf(node.status.allocatable, "memory"));
    if (node.spec.unschedulable || cores < kLeastCores || memory <= 0) {
      ++closed_;
      return;
    }
    if (settingsOf(config_.strategyOf(node.metadata), slo_.specOf(node.metadata, {})) !=
        settingsOf(config_.cluster(), clusterSlo_)) {
      ++own_;
      return;
    }
    const auto& system = metric->second.status.nodeMetric->systemUsage.resources;
    state_.nodes.push_back(
        {.name = name,
         .cores = cores,
         .memoryGib = memory,
         .systemCores = std::clamp(coresOf(model::amountOf(system, "cpu")), 0.0, cores / 2),
         .systemMemoryGib = std::clamp(gibOf(model::amountOf(system, "memory")), 0.0, memory / 2)});
    for (const api::PodMetricInfo& pod : metric->second.status.podsMetric)
      used_[{pod.namespace_, pod.name}] = &pod.podUsage.resources;
    studied_.insert(name);
  }

  void addPod(const api::ObjectKey& key, const api::Pod& pod) {
    if (!studied_.contains(pod.spec.nodeName)) return;
    const auto found = used_.find(key);
    const api::ResourceList* used = found == used_.end() ? nullptr : found->second;
    const auto priority = model::priorityClassWithDefault(pod);
    const bool batch = priority == model::PriorityClass::Batch ||
                       priority == model::PriorityClass::Mid ||
                       priority == model::PriorityClass::Free;
    if (batch) return addJob(pod, priority, used);
    const api::ResourceList requests = model::podRequests(pod, {.useStatus = true});
    const auto limit = model::podLimit(pod.spec, "cpu");
    MeasuredPod service{.key = key,
                        .node = pod.spec.nodeName,
                        .cores = coresOf(model::amountOf(requests, "cpu")),
                        .memoryGib = gibOf(model::amountOf(requests, "memory")),
                        .limit = limit ? coresOf(*limit) : 0,
                        .usedCores = {},
                        .usedGib = {}};
    if (used) {
      service.usedCores = std::max(coresOf(model::amountOf(*used, "cpu")), 0.0);
      service.usedGib = std::max(gibOf(model::amountOf(*used, "memory")), 0.0);
    }
    state_.services.push_back(std::move(service));
  }

  void addJob(const api::Pod& pod, model::PriorityClass priority, const api::ResourceList* used) {
    const auto requested = [&](std::string_view native) {
      const std::string_view name = model::resourceNameOf(priority, native);
      return name.empty() ? 0.0
                          : static_cast<double>(model::runningRequest(pod.spec, name).value());
    };
    const colocation::JobShape shape{requested("cpu") / 1000, requested("memory") / kGib};
    if (shape.cores <= 0 || shape.memoryGib <= 0) return;
    shapes_.emplace(shape.cores, shape.memoryGib);
    if (!used) return;
    jobCoresUsed_ += std::max(coresOf(model::amountOf(*used, "cpu")), 0.0);
    jobCoresAsked_ += shape.cores;
  }

  // At most kMaxShapes, spread over all sizes.
  void shapes() {
    const std::vector<std::pair<double, double>> all(shapes_.begin(), shapes_.end());
    const std::size_t count = std::min(all.size(), kMaxShapes);
    for (std::size_t n = 0; n < count; ++n) {
      const auto& [cores, gib] = all[n * all.size() / count];
      state_.jobs.push_back({cores, gib});
    }
    if (jobCoresAsked_ > 0)
      state_.jobCpuUse = std::clamp(jobCoresUsed_ / jobCoresAsked_, 0.05, 1.0);
  }

  void notes() {
    const auto note = [&](std::size_t count, std::string_view what) {
      if (count > 0) state_.notes.push_back(fmt::format("{} {}", count, what));
    };
    note(unmeasured_, "nodes without a NodeMetric are skipped");
    note(closed_, "nodes that are unschedulable or have less than one CPU are skipped");
    note(own_, "nodes with settings of their own are skipped");
    note(objects_.unreadable, "objects of the snapshot are not readable");
  }

  Objects objects_;
  model::ColocationConfig config_;
  model::NodeSloConfig slo_;
  api::NodeSLOSpec clusterSlo_;
  std::vector<model::ConfigProblem> problems_;
  StudiedCluster state_;
  std::set<std::string, std::less<>> studied_;
  std::map<api::ObjectKey, const api::ResourceList*> used_;
  std::multiset<std::pair<double, double>> shapes_;
  double jobCoresUsed_ = 0, jobCoresAsked_ = 0;
  std::size_t unmeasured_ = 0, closed_ = 0, own_ = 0;
};

}  // namespace

Result<StudiedCluster> readStudiedCluster(const std::string& snapshot) {
  auto objects = readObjects(snapshot);
  if (!objects) return fail(std::move(objects.error()));
  return Extraction(*std::move(objects)).run(snapshot);
}

}  // namespace koord::koordctl
