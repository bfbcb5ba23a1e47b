#include "cluster/up/slo_config.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "cluster/up/manifests.h"

namespace koord::cluster {

namespace {
constexpr int kManyCpus = 8;
constexpr int kFewCpus = 4;
// Upstream reserves 40 and 35 percent for spikes: of two cores that is most of one.
constexpr int kReclaimPercentOfFew = 85;
constexpr int kSuppressPercentOfFew = 80;
}  // namespace

json::value defaultSloConfig(int cpus) {
  const auto shipped = std::ranges::find(embeddedManifests(), "slo", &Manifest::set);
  json::value config = parseJson(shipped->json).value();
  auto& data = find(config, "data")->get_object();
  const auto edit = [&data](const char* section, const auto& change) {
    json::value document = parseJson(std::string(data[section].get_string())).value();
    change(document.get_object());
    data[section] = toJson(document);
  };
  edit("colocation-config", [&](json::object& colocation) {
    colocation["metricReportIntervalSeconds"] = 30;
    colocation["metricAggregateDurationSeconds"] = 60;
    colocation["updateTimeThresholdSeconds"] = 60;
    if (cpus < kFewCpus) colocation["cpuReclaimThresholdPercent"] = kReclaimPercentOfFew;
  });
  edit("resource-threshold-config", [&](json::object& threshold) {
    auto& strategy = threshold["clusterStrategy"].get_object();
    strategy["cpuSuppressPolicy"] = cpus < kManyCpus ? "cfsQuota" : "cpuset";
    if (cpus < kFewCpus) strategy["cpuSuppressThresholdPercent"] = kSuppressPercentOfFew;
  });
  return config;
}

}  // namespace koord::cluster
