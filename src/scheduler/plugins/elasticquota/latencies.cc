#include "scheduler/plugins/elasticquota/latencies.h"

#include <fmt/format.h>

#include "net/prometheus.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kNames[] = {"UpdateGroupDeltaRequestNoLock",
                                       "UpdateGroupDeltaUsedNoLock",
                                       "RefreshRuntime",
                                       "UpdateQuota",
                                       "DeleteQuota",
                                       "resetQuotaNoLock",
                                       "OnPodAdd",
                                       "OnPodUpdate",
                                       "OnPodDelete",
                                       "ReservePod",
                                       "UnreservePod"};

template <class H>
void write(std::string& text, std::string_view name, const std::string& labels, const H& histogram,
           double first) {
  std::uint64_t count = 0;
  double bound = first;
  const std::string comma = labels.empty() ? "" : labels + ",";
  for (std::size_t n = 0; n < histogram.counts.size(); ++n, bound *= 2) {
    count += histogram.counts[n];
    const bool last = n + 1 == histogram.counts.size();
    text += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name, comma,
                        last ? "+Inf" : net::prometheusNumber(bound), count);
  }
  const std::string braces = labels.empty() ? "" : "{" + labels + "}";
  text += fmt::format("{}_sum{} {}\n{}_count{} {}\n", name, braces,
                      net::prometheusNumber(histogram.sum), name, braces, count);
}

}  // namespace

template <std::size_t N>
void Latencies::Histogram<N>::observe(double seconds, double first) {
  std::size_t n = 0;
  for (double bound = first; n < N && seconds > bound; bound *= 2) ++n;
  ++counts[n];
  sum += seconds;
}

void Latencies::observe(QuotaOperation operation, Duration took) {
  operations_[static_cast<std::size_t>(operation)].observe(net::inSeconds(took), 1e-5);
}

void Latencies::statusWritten(Duration took) {
  status_.observe(net::inSeconds(took), 0.001);
}

std::string Latencies::text() const {
  std::string text;
  text +=
      "# HELP scheduler_elastic_quota_process_latency Duration of operations on quotas in seconds\n"
      "# TYPE scheduler_elastic_quota_process_latency histogram\n";
  for (std::size_t n = 0; n < kOperations; ++n)
    write(text, "scheduler_elastic_quota_process_latency",
          fmt::format("operation=\"{}\"", kNames[n]), operations_[n], 1e-5);
  text +=
      "# HELP scheduler_update_elastic_quota_status_duration_seconds Duration of writes of the "
      "status in seconds\n"
      "# TYPE scheduler_update_elastic_quota_status_duration_seconds histogram\n";
  write(text, "scheduler_update_elastic_quota_status_duration_seconds", "", status_, 0.001);
  return text;
}

}  // namespace koord::scheduler
