#include "cluster/up/demo_hints.h"

#include <fmt/format.h>

namespace koord::cluster {

const std::vector<DemoHint>& demoHints() {
  static const std::vector<DemoHint> hints = {
      {"a larger and faster wave of load on the latency-sensitive pod",
       "kubectl set env -n colocation-demo deploy/frontend PEAK=40 PERIOD=20"},
      {"more batch pods at a time",
       R"(kubectl patch job -n colocation-demo crunch -p '{"spec":{"parallelism":4}}')"},
      {"less CPU for BE pods",
       R"(kubectl patch configmap -n koordinator-system slo-controller-config -p '{"data":{"resource-threshold-config":"{\"clusterStrategy\":{\"enable\":true,\"cpuSuppressPolicy\":\"cfsQuota\",\"cpuSuppressThresholdPercent\":40}}"}}')"},
      {"more batch-cpu",
       R"(kubectl patch configmap -n koordinator-system slo-controller-config -p '{"data":{"colocation-config":"{\"enable\":true,\"metricReportIntervalSeconds\":30,\"metricAggregateDurationSeconds\":60,\"cpuReclaimThresholdPercent\":95}"}}')"},
      {"no co-location: new batch pods wait",
       R"(kubectl patch configmap -n koordinator-system slo-controller-config -p '{"data":{"colocation-config":"{\"enable\":false}"}}')"},
      {"a batch pod without the profile takes CPU from the latency-sensitive pod",
       R"(kubectl patch job -n colocation-demo crunch -p '{"spec":{"suspend":true}}' && kubectl run -n colocation-demo plain --image=busybox -- sh -c 'while :; do :; done')"},
      {"remove the demo", "kubectl delete namespace colocation-demo"},
  };
  return hints;
}

std::string demoHintsText(const std::string& kubeconfig) {
  std::string out = fmt::format("export KUBECONFIG='{}'\n", kubeconfig);
  for (const auto& hint : demoHints()) out += fmt::format("\n# {}\n{}\n", hint.what, hint.command);
  return out;
}

}  // namespace koord::cluster
