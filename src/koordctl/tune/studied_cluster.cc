#include "koordctl/tune/studied_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "api/codec.h"
#include "koordctl/tune/cluster_objects.h"
#include "model/slo_config.h"
#include "model/slo_section.h"

namespace koord::koordctl {

namespace {

constexpr const char* kSloConfig = "slo-controller-config";
constexpr const char* kSchedulerConfig = "koord-scheduler-config";
constexpr std::size_t kMaxShapes = 64;
constexpr double kLeastCores = 1;

// The settings of a node that the study knows, to compare them with the cluster's.
auto settingsOf(const model::ColocationStrategy& colocation, const api::NodeSLOSpec& slo) {
  return std::tuple(colocation.enable, colocation.cpuReclaimThresholdPercent,
                    colocation.memoryReclaimThresholdPercent, colocation.cpuCalculatePolicy,
                    colocation.memoryCalculatePolicy, colocation.batchCPUThresholdPercent,
                    colocation.batchMemoryThresholdPercent, colocation.midCPUThresholdPercent,
                    colocation.updateTimeThresholdSeconds, colocation.resourceDiffThreshold,
                    toJson(api::encode(slo.resourceUsedThresholdWithBE.value_or(
                        model::defaultStrategy<api::ResourceThresholdStrategy>()))),
                    toJson(slo.cpuBurstStrategy));
}

class Extraction {
 public:
  explicit Extraction(ClusterObjects objects) : objects_(std::move(objects)) {
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
          fmt::format("{}: no node can be studied: of {} nodes {} have no current NodeMetric "
                      "(koordlet reports it), {} are unschedulable or have less than one CPU, "
                      "{} have settings of their own",
                      file, objects_.nodes.size(), unmeasured_, closed_, own_));
    for (RunningPod& pod : objects_.pods) addPod(pod);
    shapes();
    notes();
    return std::move(state_);
  }

 private:
  void settings() {
    state_.taken = objects_.taken;
    state_.namesHashed = objects_.namesHashed;
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
    if (objects_.schedulerConfig.empty()) {
      state_.notes.push_back(fmt::format(
          "there is no ConfigMap {}: koord-scheduler is assumed to have the recommended "
          "configuration, with its filter by load",
          kSchedulerConfig));
      return;
    }
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

  // The physical size: an amplified node has more allocatable CPUs than CPUs.
  static Amounts sizeOf(const api::Node& node) {
    Amounts size = amountsOf(node.status.allocatable);
    const Amounts capacity = amountsOf(node.status.capacity);
    if (capacity.cores > 0) size.cores = std::min(size.cores, capacity.cores);
    if (capacity.gib > 0) size.gib = std::min(size.gib, capacity.gib);
    return size;
  }

  // As koord-manager, which then offers nothing.
  bool isCurrent(const NodeReport& report) const {
    const auto minutes = std::min<std::int64_t>(config_.cluster().degradeTimeMinutes.value_or(15),
                                                100LL * 365 * 24 * 60);
    return objects_.taken == WallTime{} ||
           objects_.taken - report.time <= std::chrono::minutes(minutes);
  }

  void addNode(const api::Node& node) {
    const std::string& name = node.metadata.name;
    const auto report = objects_.reports.find(name);
    if (report == objects_.reports.end() || !isCurrent(report->second)) {
      ++unmeasured_;
      return;
    }
    const Amounts size = sizeOf(node);
    if (node.spec.unschedulable || size.cores < kLeastCores || size.gib <= 0) {
      ++closed_;
      return;
    }
    if (settingsOf(config_.strategyOf(node.metadata), slo_.specOf(node.metadata, {})) !=
        settingsOf(config_.cluster(), clusterSlo_)) {
      ++own_;
      return;
    }
    const Amounts& system = report->second.system;
    state_.nodes.push_back({.name = name,
                            .cores = size.cores,
                            .memoryGib = size.gib,
                            .systemCores = std::min(system.cores, size.cores / 2),
                            .systemMemoryGib = std::min(system.gib, size.gib / 2)});
    studied_.insert(name);
  }

  void addPod(RunningPod& pod) {
    if (!studied_.contains(pod.node)) return;
    const auto found = objects_.podsUse.find(pod.key);
    const Amounts* used = found == objects_.podsUse.end() ? nullptr : &found->second;
    if (!pod.service) return addJob(pod, used);
    MeasuredPod service{.key = std::move(pod.key),
                        .node = std::move(pod.node),
                        .workload = std::move(pod.workload),
                        .cores = pod.service->requested.cores,
                        .memoryGib = pod.service->requested.gib,
                        .limit = pod.service->limit,
                        .qos = std::move(pod.service->qos),
                        .usedCores = {},
                        .usedGib = {}};
    if (used) {
      service.usedCores = used->cores;
      service.usedGib = used->gib;
    }
    state_.services.push_back(std::move(service));
  }

  void addJob(const RunningPod& pod, const Amounts* used) {
    if (pod.job.cores <= 0 || pod.job.memoryGib <= 0) {
      ++shapeless_;
      return;
    }
    shapes_.emplace(pod.job.cores, pod.job.memoryGib);
    if (!used) return;
    jobCoresUsed_ += used->cores;
    jobCoresAsked_ += pod.job.cores;
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
    note(unmeasured_, "nodes without a current NodeMetric are skipped");
    note(closed_, "nodes that are unschedulable or have less than one CPU are skipped");
    note(own_, "nodes with settings of their own are skipped");
    note(shapeless_, "BE pods without batch or mid resources are not part of the study");
    if (!state_.node.suppress)
      state_.notes.emplace_back(
          "resource-threshold-config is not enabled: koordlet neither suppresses nor evicts batch "
          "pods, in the study too");
    note(objects_.unreadable, "objects of the snapshot are not readable");
  }

  ClusterObjects objects_;
  model::ColocationConfig config_;
  model::NodeSloConfig slo_;
  api::NodeSLOSpec clusterSlo_;
  std::vector<model::ConfigProblem> problems_;
  StudiedCluster state_;
  std::set<std::string, std::less<>> studied_;
  std::multiset<std::pair<double, double>> shapes_;
  double jobCoresUsed_ = 0, jobCoresAsked_ = 0;
  std::size_t unmeasured_ = 0, closed_ = 0, own_ = 0, shapeless_ = 0;
};

}  // namespace

Result<StudiedCluster> readStudiedCluster(const std::string& snapshot) {
  auto objects = readClusterObjects(snapshot);
  if (!objects) return fail(std::move(objects.error()));
  return Extraction(*std::move(objects)).run(snapshot);
}

}  // namespace koord::koordctl
