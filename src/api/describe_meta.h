#pragma once

// The JSON shape of meta.h; included by the codec files only.

#include <boost/describe.hpp>

#include "api/meta.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(OwnerReference, (),
                      (apiVersion, kind, name, uid, controller, blockOwnerDeletion))
BOOST_DESCRIBE_STRUCT(ObjectMeta, (),
                      (name, generateName, namespace_, uid, resourceVersion, generation,
                       creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, labels,
                       annotations, ownerReferences, finalizers))
BOOST_DESCRIBE_STRUCT(ListMeta, (), (resourceVersion, continue_, remainingItemCount))
BOOST_DESCRIBE_STRUCT(ObjectReference, (),
                      (kind, namespace_, name, uid, apiVersion, resourceVersion, fieldPath))
BOOST_DESCRIBE_STRUCT(LabelSelectorRequirement, (), (key, operator_, values))
BOOST_DESCRIBE_STRUCT(LabelSelector, (), (matchLabels, matchExpressions))
BOOST_DESCRIBE_STRUCT(Condition, (),
                      (type, status, observedGeneration, lastTransitionTime, reason, message))
BOOST_DESCRIBE_STRUCT(StatusCause, (), (reason, message, field))
BOOST_DESCRIBE_STRUCT(StatusDetails, (), (name, group, kind, uid, causes, retryAfterSeconds))
BOOST_DESCRIBE_STRUCT(Status, (), (metadata, status, message, reason, details, code))

}  // namespace koord::api
