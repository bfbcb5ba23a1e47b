#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kMeta = R"(
ObjectMeta: name string; generateName string; namespace string; selfLink string; uid string
  resourceVersion string; generation int; creationTimestamp time; deletionTimestamp time
  deletionGracePeriodSeconds int; labels {string}; annotations {string}
  ownerReferences [OwnerReference] merge=uid; finalizers [string] merge
  managedFields [ManagedFieldsEntry]
OwnerReference: *apiVersion string; *kind string; *name string; *uid string; controller bool
  blockOwnerDeletion bool
ManagedFieldsEntry: manager string; operation string; apiVersion string; time time; fieldsType string
  fieldsV1 any; subresource string
ListMeta: selfLink string; resourceVersion string; continue string; remainingItemCount int
LabelSelector: matchLabels {string}; matchExpressions [LabelSelectorRequirement]
LabelSelectorRequirement: *key string; *operator string; values [string]
Condition: *type string; *status string; observedGeneration int; *lastTransitionTime time
  *reason string; *message string
ObjectReference: kind string; namespace string; name string; uid string; apiVersion string
  resourceVersion string; fieldPath string
LocalObjectReference: name string
DeleteOptions: apiVersion string; kind string; gracePeriodSeconds int; preconditions Preconditions
  orphanDependents bool; propagationPolicy string; dryRun [string]
  ignoreStoreReadErrorWithClusterBreakingPotential bool
Preconditions: uid string; resourceVersion string
)";

}  // namespace koord::api::tables
