#pragma once

// NodeMetric as a kind that plugins look at: what koordlet measures on a node.

#include "api/slo.h"
#include "scheduler/framework/object_kind.h"

namespace koord::scheduler {

template <>
struct KindOf<api::NodeMetric> {
  static constexpr ObjectKind value{.event = EventResource::Custom,
                                    .customResource = "nodemetrics.v1alpha1.slo.koordinator.sh",
                                    .firstList = FirstList::BeforePods};
  // Leaves what load is worked out from: a third of what koordlet reports.
  static void transform(api::NodeMetric& metric);
};

}  // namespace koord::scheduler
