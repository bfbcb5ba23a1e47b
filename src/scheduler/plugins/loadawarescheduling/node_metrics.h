#pragma once

// NodeMetrics as the scheduler stores them: only the measurements that loads are computed from.
// With 150,000 pods, the rest would be most of the scheduler's memory.

#include <optional>
#include <vector>

#include "api/codec.h"
#include "api/shape.h"
#include "api/slo.h"
#include "api/text.h"
#include "scheduler/framework/object_kind.h"

namespace koord::scheduler {

struct LoadReport {
  static constexpr api::ResourceType kType = api::NodeMetric::kType;

  struct PodUsage {
    std::uint64_t hash = 0;  // of both names
    api::Text namespace_;
    api::Text name;
    std::int64_t milliCpu = 0;  // as loadAmount() has them
    std::int64_t memory = 0;
    api::ResourceList others;
    bool prod = false;
  };

  api::ObjectMeta metadata;  // name, uid and resourceVersion
  api::NodeMetricSpec spec;
  api::Time updateTime;
  std::optional<api::NodeMetricInfo> node;
  std::vector<PodUsage> pods;  // by hash; only pods with measurements
  std::string problems;        // invalid amounts, by field

  // nullptr if the report has nothing about the pod.
  const PodUsage* of(const api::ObjectMeta& pod) const;
};

LoadReport digest(api::NodeMetric metric);

template <>
struct KindOf<LoadReport> {
  static constexpr ObjectKind value{.event = EventResource::Custom,
                                    .customResource = "nodemetrics.v1alpha1.slo.koordinator.sh",
                                    .firstList = FirstList::BeforePods};
};

}  // namespace koord::scheduler

namespace koord::api {
template <>
Result<scheduler::LoadReport> decode<scheduler::LoadReport>(const json::value& document,
                                                            Reading reading);
template <>
inline const Shape* shapeOf<scheduler::LoadReport>() {
  return nullptr;  // a custom resource is JSON
}
}  // namespace koord::api
