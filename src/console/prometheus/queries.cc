#include "console/prometheus/queries.h"

#include <fmt/format.h>

namespace koord::console {

namespace {

constexpr int kMiB = 1 << 20;

// The sum over nodes of a metric of koordlet or koord-manager.
std::string overNodes(std::string_view selector) {
  return fmt::format("sum(max by (node) ({}))", selector);
}

// What pods on nodes request of a resource, as koord-scheduler exports it.
std::string requested(std::string_view resource) {
  return fmt::format(
      "sum(max by (namespace, pod) (kube_pod_resource_request{{resource=\"{}\",node!=\"\"}}))",
      resource);
}

std::string batchOf(std::string_view resource) {
  return fmt::format(
      "slo_controller_node_extended_resource_allocatable_internal{{resource=\"kubernetes.io/{}\"}}",
      resource);
}

std::string offered(std::string_view resource) {
  return fmt::format("sum(max by (node) (kube_node_status_allocatable{{resource=\"{}\"}}))",
                     resource);
}

}  // namespace

std::string promText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::vector<ColumnQuery> clusterQueries() {
  const auto mebibytes = [](const std::string& bytes) {
    return fmt::format("{} / {}", bytes, kMiB);
  };
  return {
      {"cpuCapacity", fmt::format("1000 * ({} or count(node_cpu_seconds_total{{mode=\"idle\"}}))",
                                  offered("cpu"))},
      {"cpuRequested", "1000 * " + requested("cpu")},
      {"cpuUsed", "1000 * " + overNodes("koordlet_node_used_cpu_cores")},
      {"cpuBatch", "1000 * " + overNodes(batchOf("batch-cpu"))},
      {"cpuBatchRequested", requested("kubernetes.io/batch-cpu")},
      {"cpuBatchUsed", "1000 * " + overNodes("koordlet_be_suppress_be_used_cpu_cores")},
      {"memoryCapacity",
       mebibytes(fmt::format("({} or sum(node_memory_MemTotal_bytes))", offered("memory")))},
      {"memoryRequested", mebibytes(requested("memory"))},
      {"memoryUsed", mebibytes(overNodes("koordlet_node_used_memory_bytes"))},
      {"memoryBatch", mebibytes(overNodes(batchOf("batch-memory")))},
      {"memoryBatchRequested", mebibytes(requested("kubernetes.io/batch-memory"))},
      {"pending", "sum(max by (queue) (scheduler_pending_pods))"},
  };
}

std::vector<ColumnQuery> nodeQueries(std::string_view node, std::int64_t cpu, std::int64_t memory) {
  std::vector<ColumnQuery> queries;
  const std::string of = "node=" + promText(node);
  if (cpu > 0) {
    // Percent of the cores.
    const auto share = [cpu](const std::string& cores) {
      return fmt::format("100 * 1000 * max({}) / {}", cores, cpu);
    };
    queries.emplace_back("cpuUsed", share("koordlet_node_used_cpu_cores{" + of + "}"));
    queries.emplace_back("batchUsed", share("koordlet_be_suppress_be_used_cpu_cores{" + of + "}"));
    queries.emplace_back("batch",
                         share("slo_controller_node_extended_resource_allocatable_internal{" + of +
                               ",resource=\"kubernetes.io/batch-cpu\"}"));
  }
  if (memory > 0)
    queries.emplace_back(
        "memoryUsed", fmt::format("100 * max(koordlet_node_used_memory_bytes{{{}}}) / {} / {}", of,
                                  kMiB, memory));
  return queries;
}

std::vector<ColumnQuery> quotaQueries(std::string_view name) {
  std::vector<ColumnQuery> queries;
  for (const auto& [resource, divisor] : {std::pair("cpu", 1), {"memory", kMiB}})
    for (const auto& [column, field] :
         {std::pair("Used", "used"), {"Runtime", "runtime"}, {"Request", "request"}})
      queries.emplace_back(
          fmt::format("{}{}", resource, column),
          fmt::format("max(scheduler_elastic_quota_status{{name={},resource=\"{}\",field=\"{}\"}})"
                      " / {}",
                      promText(name), resource, field, divisor));
  return queries;
}

}  // namespace koord::console
