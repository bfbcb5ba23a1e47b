#pragma once

// The JSON shape of meta.h; included by the codec files only.

#include <boost/describe.hpp>

#include "api/codec_impl.h"
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

KOORD_EXTERN_FIELDS(koord::api::ObjectMeta)
KOORD_EXTERN_FIELDS(koord::api::ListMeta)
KOORD_EXTERN_FIELDS(koord::api::ObjectReference)
KOORD_EXTERN_FIELDS(koord::api::LabelSelector)
KOORD_EXTERN_FIELDS(koord::api::Condition)
KOORD_EXTERN_MEMBER(koord::api::ObjectMeta)
KOORD_EXTERN_MEMBER(std::optional<koord::api::LabelSelector>)
KOORD_EXTERN_MEMBER(koord::api::List<koord::api::Condition>)
