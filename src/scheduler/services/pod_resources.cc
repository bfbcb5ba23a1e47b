#include "scheduler/services/pod_resources.h"

#include <fmt/format.h>

#include <array>

#include "model/pod_requests.h"
#include "net/prometheus.h"

namespace koord::scheduler {

namespace {

std::string_view unitOf(std::string_view resource) {
  if (resource == "cpu") return "cores";
  if (resource == "memory" || resource == "storage" || resource == "ephemeral-storage" ||
      resource.starts_with("hugepages-"))
    return "bytes";
  return resource.starts_with("attachable-volumes-") ? "integer" : "";
}

// Formatted directly: a registry would keep a series per pod and resource for a text that is read
// once.
void addSamples(std::string& out, std::string_view metric, const api::Pod& pod,
                const std::string& node, const api::ResourceList& amounts) {
  for (const auto& [resource, amount] : amounts) {
    if (amount.toDouble() == 0) continue;
    fmt::format_to(std::back_inserter(out),
                   "{}{{namespace=\"{}\",node=\"{}\",pod=\"{}\",priority=\"{}\",resource=\"{}\","
                   "scheduler=\"{}\",unit=\"{}\"}} {}\n",
                   metric, pod.metadata.namespace_, node, pod.metadata.name,
                   pod.spec.priority ? fmt::to_string(*pod.spec.priority) : "", resource,
                   pod.spec.schedulerName, unitOf(resource),
                   net::prometheusNumber(amount.toDouble()));
  }
}

void addMetric(std::string& out, const Scheduler& scheduler, std::string_view metric,
               std::string_view help, api::ResourceList (*amountsOf)(const api::Pod& pod)) {
  out += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", metric, help, metric);
  const Cluster& cluster = scheduler.cluster();
  for (const auto& record : cluster.pods()) {
    const api::Pod& pod = *record.info->pod;
    addSamples(out, metric, pod, cluster.node(record.node).name, amountsOf(pod));
  }
  for (const auto& [uid, info] : scheduler.pendingPods())
    if (!cluster.findPod(uid)) addSamples(out, metric, *info->pod, "", amountsOf(*info->pod));
}

}  // namespace

std::string podResourceMetrics(const Scheduler& scheduler) {
  std::string out;
  addMetric(out, scheduler, "kube_pod_resource_request",
            "[STABLE] Resources that a pod requests, by resource and unit",
            [](const api::Pod& pod) { return model::podRequests(pod); });
  addMetric(out, scheduler, "kube_pod_resource_limit",
            "[STABLE] Resource limits of a pod, by resource and unit",
            [](const api::Pod& pod) { return model::podLimits(pod); });
  return out;
}

}  // namespace koord::scheduler
