#pragma once

// A NodeMetric as the descheduler keeps it: what the node and its pods used, in integers. CPU in thousandths of a
// core, everything else in whole units.

#include <vector>

#include "api/codec.h"
#include "api/shape.h"
#include "api/slo.h"

namespace koord::descheduler {

struct LoadReport {
  static constexpr api::ResourceType kType = api::NodeMetric::kType;

  struct Usage {
    std::int64_t milliCpu = 0;
    std::int64_t memory = 0;
    api::Map<std::int64_t> others;

    std::int64_t of(std::string_view resource) const;
    void add(const Usage& other);
  };
  struct PodUsage {
    std::uint64_t key = 0;  // keyHash of namespace and name (pod.h)
    Usage usage;
  };

  api::ObjectMeta metadata;  // name, uid and resourceVersion
  api::Time updateTime;
  bool measured = false;  // status.nodeMetric is there
  Usage system;
  Usage hostApplications;
  Usage prodHostApplications;  // of those, what counts as prod
  std::vector<PodUsage> pods;  // by key

  const Usage* podUsage(std::uint64_t key) const;  // nullptr: nothing is known
};

LoadReport digest(const api::NodeMetric& metric);

}  // namespace koord::descheduler

namespace koord::api {
template <>
Result<descheduler::LoadReport> decode<descheduler::LoadReport>(const json::value& document,
                                                                Reading reading);
template <>
inline const Shape* shapeOf<descheduler::LoadReport>() {
  return nullptr;  // a custom resource is JSON
}
}  // namespace koord::api
