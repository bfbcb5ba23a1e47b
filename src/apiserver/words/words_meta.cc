#include "apiserver/words/words.h"

namespace koord::apiserver::words {

const char* const kMeta = R"(
*: Fields that mean the same in every type.
  apiVersion: Group and version of the object, as apps/v1.
  kind: The kind of the object, as Pod.
  metadata: Name, labels and other data that every object has.
  conditions: What is true of the object, one entry for each type of condition.
  observedGeneration: The metadata.generation that this status is about.
ObjectMeta: Data that every object has.
  name: Name of the object. Unique for its kind in a namespace, and fixed once the object exists.
  generateName: Prefix of a name that the server completes. Used if name is empty.
  namespace: The namespace of the object. Empty for kinds of the whole cluster.
  selfLink: Unused.
  uid: Set by the server: unique in time and space, also after a deletion under the same name.
  resourceVersion: Changes with every write. A write that sends an old one is refused.
  generation: Counts the changes of the spec.
  creationTimestamp: When the server created the object.
  deletionTimestamp: When the object is due to go. Set by a deletion; it cannot be taken back.
  deletionGracePeriodSeconds: Seconds that the object has to end by itself.
  labels: Short names and values to select objects by.
  annotations: Names and values that programs store with the object. They cannot be selected by.
  ownerReferences: Objects that this one belongs to. It is deleted when all of them are gone.
  finalizers: Names of programs that have work to do before the object is removed.
  managedFields: Which program set which field. Written by the server for server-side apply.
OwnerReference: An object that another one belongs to, in the same namespace or of the cluster.
  apiVersion: Group and version of the owner.
  kind: Kind of the owner.
  name: Name of the owner.
  uid: UID of the owner.
  controller: True if the owner is the controller of the object. At most one is.
  blockOwnerDeletion: True if a deletion of the owner in the foreground waits for this object.
ManagedFieldsEntry: The fields that one program has set.
  manager: Name of the program.
  operation: Apply for server-side apply, Update for all other writes.
  apiVersion: Version in which the fields are named.
  time: When the program wrote last.
  fieldsType: Format of fieldsV1. Always FieldsV1.
  fieldsV1: The fields, as a tree of names.
  subresource: The subresource that was written, as status. Empty for the object itself.
LabelSelector: Selects objects by their labels. All requirements must hold; none select everything.
  matchLabels: Labels that an object must have with these values.
  matchExpressions: Further requirements.
LabelSelectorRequirement: A requirement on one label.
  key: Name of the label.
  operator: In, NotIn, Exists or DoesNotExist.
  values: Values for In and NotIn. Empty for the other operators.
Condition: Something that is true of an object, or not.
  type: Name of the condition.
  status: True, False or Unknown.
  lastTransitionTime: When the status changed last.
  reason: A word for programs: why the condition has this status.
  message: A sentence for users with the details.
ObjectReference: Names another object.
  kind: Kind of the object.
  namespace: Namespace of the object.
  name: Name of the object.
  uid: UID of the object.
  apiVersion: Group and version of the object.
  resourceVersion: The version that is meant, if one is.
  fieldPath: The part that is meant, as spec.containers{web}.
LocalObjectReference: Names an object in the same namespace.
  name: Name of the object.
TypedLocalObjectReference: Names an object of any kind in the same namespace.
  apiGroup: Group of the object. Empty for core kinds.
  kind: Kind of the object.
  name: Name of the object.
TypedObjectReference: Names an object of any kind.
  apiGroup: Group of the object. Empty for core kinds.
  kind: Kind of the object.
  name: Name of the object.
  namespace: Namespace of the object. Other namespaces need a ReferenceGrant.
)";

}  // namespace koord::apiserver::words
