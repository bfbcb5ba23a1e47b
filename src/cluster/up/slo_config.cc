#include "cluster/up/slo_config.h"

#include <boost/json/object.hpp>

namespace koord::cluster {

namespace {
constexpr int kManyCpus = 8;
}

json::value defaultSloConfig(int cpus) {
  const json::value colocation = json::object{{"enable", true},
                                              {"metricReportIntervalSeconds", 30},
                                              {"metricAggregateDurationSeconds", 60},
                                              {"updateTimeThresholdSeconds", 60}};
  const json::value threshold = json::object{
      {"clusterStrategy",
       {{"enable", true}, {"cpuSuppressPolicy", cpus < kManyCpus ? "cfsQuota" : "cpuset"}}}};
  return json::object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", {{"name", "slo-controller-config"}, {"namespace", "koordinator-system"}}},
      {"data",
       {{"colocation-config", toJson(colocation)},
        {"resource-threshold-config", toJson(threshold)}}}};
}

}  // namespace koord::cluster
