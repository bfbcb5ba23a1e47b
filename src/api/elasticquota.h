#pragma once

// scheduling.sigs.k8s.io/v1alpha1: ElasticQuota, what the pods of a team may use together. Its place in
// the tree of quotas and all else is in labels and annotations (model/well_known.h).

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

}  // namespace koord::api
