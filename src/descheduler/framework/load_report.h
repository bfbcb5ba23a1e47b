#pragma once

// A NodeMetric as the descheduler keeps it: the usage of the node and its pods, in integers. CPU in
// milli-cores, all others in whole units.

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
  bool measured = false;  // status.nodeMetric exists
  Usage system;
  Usage hostApplications;
  Usage prodHostApplications;  // the part of these of class prod
  std::vector<PodUsage> pods;  // by key

  const Usage* podUsage(std::uint64_t key) const;  // nullptr if unknown
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
