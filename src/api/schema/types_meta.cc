#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kMeta = R"(
ObjectMeta: name#1 string; generateName#2 string; namespace#3 string; selfLink#4 string
  uid#5 string; resourceVersion#6 string; generation#7 int; creationTimestamp#8 time
  deletionTimestamp#9? time; deletionGracePeriodSeconds#10? int; labels#11 {string}
  annotations#12 {string}; ownerReferences#13 [OwnerReference] merge=uid
  finalizers#14 [string] merge; managedFields#17 [ManagedFieldsEntry]
OwnerReference atomic: *apiVersion#5 string; *kind#1 string; *name#3 string; *uid#4 string
  controller#6? bool; blockOwnerDeletion#7? bool
ManagedFieldsEntry: manager#1 string; operation#2 string; apiVersion#3 string; time#4? time
  fieldsType#6 string; fieldsV1#7? raw; subresource#8 string
ListMeta: selfLink#1 string; resourceVersion#2 string; continue#3 string
  remainingItemCount#4? int
LabelSelector atomic: matchLabels#1 {string}; matchExpressions#2 [LabelSelectorRequirement]
LabelSelectorRequirement: *key#1 string; *operator#2 string; values#3 [string]
Condition: *type#1 string; *status#2 string; observedGeneration#3 int; *lastTransitionTime#4 time
  *reason#5 string; *message#6 string
ObjectReference atomic: kind#1 string; namespace#2 string; name#3 string; uid#4 string
  apiVersion#5 string; resourceVersion#6 string; fieldPath#7 string
LocalObjectReference atomic: name#1 string
DeleteOptions: apiVersion string; kind string; gracePeriodSeconds#1? int
  preconditions#2? Preconditions; orphanDependents#3? bool; propagationPolicy#4? string
  dryRun#5 [string]; ignoreStoreReadErrorWithClusterBreakingPotential#6? bool
Preconditions: uid#1? string; resourceVersion#2? string
)";

}  // namespace koord::api::tables
