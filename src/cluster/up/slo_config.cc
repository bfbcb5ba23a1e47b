#include "cluster/up/slo_config.h"

#include <boost/json/object.hpp>

namespace koord::cluster {

namespace {
constexpr int kManyCpus = 8;
constexpr int kFewCpus = 4;
// Upstream keeps 40 and 35 percent free for spikes: of two cores that is most of one.
constexpr int kReclaimPercentOfFew = 85;
constexpr int kSuppressPercentOfFew = 80;
}  // namespace

json::value defaultSloConfig(int cpus) {
  json::object colocation{{"enable", true},
                          {"metricReportIntervalSeconds", 30},
                          {"metricAggregateDurationSeconds", 60},
                          {"updateTimeThresholdSeconds", 60}};
  json::object strategy{{"enable", true},
                        {"cpuSuppressPolicy", cpus < kManyCpus ? "cfsQuota" : "cpuset"}};
  if (cpus < kFewCpus) {
    colocation["cpuReclaimThresholdPercent"] = kReclaimPercentOfFew;
    strategy["cpuSuppressThresholdPercent"] = kSuppressPercentOfFew;
  }
  const json::object threshold{{"clusterStrategy", std::move(strategy)}};
  return json::object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", {{"name", "slo-controller-config"}, {"namespace", "koordinator-system"}}},
      {"data",
       {{"colocation-config", toJson(colocation)},
        {"resource-threshold-config", toJson(threshold)}}}};
}

}  // namespace koord::cluster
