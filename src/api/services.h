#pragma once

// Objects that select pods: the selectors of Services and workload objects. Has only these fields,
// so that a component that caches all these objects does not cache their pod templates.

#include "api/meta.h"

namespace koord::api {

struct ServiceSpec {
  StringMap selector;
};
struct Service {
  static constexpr ResourceType kType{"", "v1", "services", "Service", true};
  ObjectMeta metadata;
  ServiceSpec spec;
};

struct ReplicationControllerSelection {
  static constexpr ResourceType kType{"", "v1", "replicationcontrollers", "ReplicationController",
                                      true};
  ObjectMeta metadata;
  ServiceSpec spec;  // a map, as in a Service
};

struct SelectionSpec {
  std::optional<LabelSelector> selector;
};
struct ReplicaSetSelection {
  static constexpr ResourceType kType{"apps", "v1", "replicasets", "ReplicaSet", true};
  ObjectMeta metadata;
  SelectionSpec spec;
};
struct StatefulSetSelection {
  static constexpr ResourceType kType{"apps", "v1", "statefulsets", "StatefulSet", true};
  ObjectMeta metadata;
  SelectionSpec spec;
};

}  // namespace koord::api
