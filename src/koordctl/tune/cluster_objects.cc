#include "koordctl/tune/cluster_objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/slo.h"
#include "base/time.h"
#include "cluster/snapshot/snapshot_reader.h"
#include "koordctl/colocation/units.h"
#include "model/pod_requests.h"
#include "model/priority.h"
#include "model/qos.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordctl {

namespace {

constexpr const char* kSloMap = "slo-controller-config";
constexpr const char* kSchedulerMap = "koord-scheduler-config";

double coresOf(const Quantity& quantity) {
  return std::clamp(static_cast<double>(quantity.milliValue()) / 1000, 0.0, colocation::kMostCores);
}
double gibOf(const Quantity& quantity) {
  return std::clamp(static_cast<double>(quantity.value()) / colocation::kGib, 0.0,
                    colocation::kMostGib);
}

bool runs(const api::Pod& pod) {
  return !pod.spec.nodeName.empty() && pod.status.phase != "Succeeded" &&
         pod.status.phase != "Failed";
}

ServiceFigures serviceOf(const api::Pod& pod) {
  const auto limit = model::podLimit(pod.spec, "cpu");
  const model::Qos qos = model::qosWithDefault(pod);
  return {.requested = amountsOf(model::podRequests(pod, {.useStatus = true})),
          .limit = limit ? coresOf(*limit) : 0,
          // Pods without requests are BE pods for Kubernetes only.
          .qos = std::string(model::textOf(qos == model::Qos::BE ? model::Qos::LS : qos))};
}

colocation::JobShape jobOf(const api::Pod& pod, model::PriorityClass priority) {
  const auto requested = [&](std::string_view native) {
    const std::string_view name = model::resourceNameOf(priority, native);
    return name.empty() ? Quantity() : model::runningRequest(pod.spec, name);
  };
  const double cores = static_cast<double>(requested("cpu").value()) / 1000;
  return {std::clamp(cores, 0.0, colocation::kMostCores), gibOf(requested("memory"))};
}

RunningPod figuresOf(const api::Pod& pod) {
  RunningPod figures{.key = api::keyOf(pod.metadata),
                     .node = pod.spec.nodeName,
                     .workload = workloadOf(pod),
                     .service = {},
                     .job = {}};
  const auto priority = model::priorityClassWithDefault(pod);
  const bool batch = priority == model::PriorityClass::Batch ||
                     priority == model::PriorityClass::Mid ||
                     priority == model::PriorityClass::Free;
  if (batch)
    figures.job = jobOf(pod, priority);
  else
    figures.service = serviceOf(pod);
  return figures;
}

class ObjectReader {
 public:
  explicit ObjectReader(const std::string& file) : file_(file) {}

  Result<ClusterObjects> run() {
    cluster::SnapshotVisitor visitor;
    visitor.header = [&](const cluster::SnapshotHeader& header) -> Result<> {
      objects_.taken = parseTime(header.createdAt).value_or(WallTime{});
      objects_.namesHashed = header.namesHashed;
      return {};
    };
    visitor.object = [&](std::string_view resource, std::string_view text) -> Result<> {
      add(resource, text);
      return {};
    };
    auto read = cluster::readSnapshot(file_, visitor);
    if (!read) return fail(std::move(read.error()));
    if (!hasConfigMaps_)
      return fail(ErrorCode::Invalid,
                  file_ +
                      ": there is no ConfigMap in it, so the settings in force are not known: "
                      "the user must be allowed to list configmaps");
    if (!hasPods_ && !objects_.podsUse.empty())
      return fail(ErrorCode::Invalid,
                  fmt::format("{}: there is no pod in it, but NodeMetrics name {}: the user must "
                              "be allowed to list pods",
                              file_, objects_.podsUse.size()));
    // A list in pages may have a pod twice.
    std::ranges::stable_sort(objects_.pods, {}, &RunningPod::key);
    const auto twice = std::ranges::unique(objects_.pods, {}, &RunningPod::key);
    objects_.pods.erase(twice.begin(), twice.end());
    return std::move(objects_);
  }

 private:
  template <class T>
  std::optional<T> decoded(std::string_view text) {
    auto object = parseJson(text);
    if (object)
      if (auto read = api::decode<T>(*object)) return *std::move(read);
    ++objects_.unreadable;
    return std::nullopt;
  }

  void add(std::string_view resource, std::string_view text) {
    if (resource == "nodes") {
      if (auto node = decoded<api::Node>(text)) {
        node->status.images = {};
        objects_.nodes[node->metadata.name] = *std::move(node);
      }
    } else if (resource == "nodemetrics.slo.koordinator.sh") {
      if (const auto metric = decoded<api::NodeMetric>(text)) addMetric(*metric);
    } else if (resource == "pods") {
      hasPods_ = true;
      if (const auto pod = decoded<api::Pod>(text); pod && runs(*pod))
        objects_.pods.push_back(figuresOf(*pod));
    } else if (resource == "configmaps") {
      hasConfigMaps_ = true;
      addConfigMap(text);
    }
  }

  void addMetric(const api::NodeMetric& metric) {
    if (!metric.status.nodeMetric) return;
    objects_.reports[metric.metadata.name] = {
        .time = metric.status.updateTime.value_or(WallTime{}),
        .system = amountsOf(metric.status.nodeMetric->systemUsage.resources)};
    for (const api::PodMetricInfo& pod : metric.status.podsMetric)
      objects_.podsUse[{pod.namespace_, pod.name}] = amountsOf(pod.podUsage.resources);
  }

  void addConfigMap(std::string_view text) {
    if (text.find(kSloMap) == text.npos && text.find(kSchedulerMap) == text.npos) return;
    auto map = decoded<api::ConfigMap>(text);
    if (!map || map->metadata.namespace_ != model::kSystemNamespace) return;
    if (map->metadata.name == kSchedulerMap)
      if (const auto* value = api::findIn(map->data, kSchedulerMap))
        objects_.schedulerConfig = *value;
    if (map->metadata.name == kSloMap) objects_.sloConfig = *std::move(map);
  }

  const std::string& file_;
  ClusterObjects objects_;
  bool hasPods_ = false, hasConfigMaps_ = false;
};

}  // namespace

Amounts amountsOf(const api::ResourceList& list) {
  return {coresOf(model::amountOf(list, "cpu")), gibOf(model::amountOf(list, "memory"))};
}

Result<ClusterObjects> readClusterObjects(const std::string& snapshot) {
  return ObjectReader(snapshot).run();
}

}  // namespace koord::koordctl
