#pragma once

// The metrics that every Kubernetes component adds to its own at /metrics: its build, its feature
// gates, and the number of metrics of each stability level.

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace koord::net {

struct BuildInfo {
  std::string version;  // "v1.2.3"
  std::string commit;
  std::string date;
};

struct Feature {
  std::string name;
  std::string stage;  // ALPHA, BETA, "" for general availability, DEPRECATED
  bool enabled = false;
};

struct MetricsPage {
  BuildInfo build;
  std::vector<Feature> features;
  std::set<std::string, std::less<>> disabled;  // names of metrics that are left out

  // own: Prometheus text.
  std::string complete(std::string own) const;
};

}  // namespace koord::net
