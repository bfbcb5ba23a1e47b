#pragma once

// NodeResourceTopologies as the scheduler keeps a kind of objects (framework/object_kind.h).

#include "api/topology.h"
#include "scheduler/framework/stores.h"

namespace koord::scheduler {

template <>
struct KindOf<api::NodeResourceTopology> {
  static constexpr ObjectKind value{
      .event = EventResource::Custom,
      .customResource = "noderesourcetopologies.v1alpha1.topology.node.k8s.io",
      .firstList = FirstList::BeforePods};
  // Leaves what is read of them: a topology of hundreds of CPUs is some kilobytes.
  static void transform(api::NodeResourceTopology& topology);
};

extern template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::NodeResourceTopology>&,
                                                         kube::Api&, Executor&, Random);

}  // namespace koord::scheduler
