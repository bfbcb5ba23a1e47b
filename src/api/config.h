#pragma once

// config.koordinator.sh/v1alpha1: ClusterColocationProfile.

#include "api/meta.h"

namespace koord::api {

struct ClusterColocationProfileSpec {
  std::optional<LabelSelector> namespaceSelector;  // absent = every namespace
  std::optional<LabelSelector> selector;           // absent = every pod
  std::optional<IntOrString> probability;          // absent = 100
  std::string qosClass;
  std::string priorityClassName;
  std::optional<std::int32_t> koordinatorPriority;
  StringMap labels;
  StringMap annotations;
  StringMap labelKeysMapping;
  StringMap annotationKeysMapping;
  StringMap labelSuffixes;
  std::string schedulerName;
  json::value patch;  // strategic merge patch for the pod
};
struct ClusterColocationProfile {
  static constexpr ResourceType kType{"config.koordinator.sh", "v1alpha1",
                                      "clustercolocationprofiles", "ClusterColocationProfile",
                                      false};
  ObjectMeta metadata;
  ClusterColocationProfileSpec spec;
};

}  // namespace koord::api
