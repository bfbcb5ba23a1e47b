#pragma once

// scheduling.sigs.k8s.io/v1alpha1: ElasticQuota, the resources that the pods of a team may use
// together. Labels and annotations (model/well_known.h) hold its place in the quota tree and its
// other settings.

#include "api/meta.h"

namespace koord::api {

struct ElasticQuotaSpec {
  ResourceList min;
  ResourceList max;
};
struct ElasticQuotaStatus {
  ResourceList used;
};
struct ElasticQuota {
  static constexpr ResourceType kType{"scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas",
                                      "ElasticQuota", true};
  ObjectMeta metadata;
  ElasticQuotaSpec spec;
  ElasticQuotaStatus status;
};

// quota.koordinator.sh/v1alpha1: ElasticQuotaProfile, a tree of quotas for some nodes.
struct ElasticQuotaProfileSpec {
  std::string quotaName;
  StringMap quotaLabels;
  std::optional<std::string> resourceRatio;  // "0.9": the share of the nodes that the tree gets
  std::optional<LabelSelector> nodeSelector;
};
struct ElasticQuotaProfile {
  static constexpr ResourceType kType{"quota.koordinator.sh", "v1alpha1", "elasticquotaprofiles",
                                      "ElasticQuotaProfile", true};
  ObjectMeta metadata;
  ElasticQuotaProfileSpec spec;
};

}  // namespace koord::api
