#include "api/admission.h"
#include "api/codec_impl.h"
#include "api/describe_meta.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(ServiceReference, (), (namespace_, name, path, port))
BOOST_DESCRIBE_STRUCT(WebhookClientConfig, (), (url, service, caBundle))
BOOST_DESCRIBE_STRUCT(RuleWithOperations, (),
                      (operations, apiGroups, apiVersions, resources, scope))
BOOST_DESCRIBE_STRUCT(MatchCondition, (), (name, expression))
BOOST_DESCRIBE_STRUCT(Webhook, (),
                      (name, clientConfig, rules, failurePolicy, matchPolicy, namespaceSelector,
                       objectSelector, sideEffects, timeoutSeconds, admissionReviewVersions,
                       reinvocationPolicy, matchConditions))
BOOST_DESCRIBE_STRUCT(MutatingWebhookConfiguration, (), (metadata, webhooks))
BOOST_DESCRIBE_STRUCT(ValidatingWebhookConfiguration, (), (metadata, webhooks))
BOOST_DESCRIBE_STRUCT(GroupVersionKind, (), (group, version, kind))
BOOST_DESCRIBE_STRUCT(GroupVersionResource, (), (group, version, resource))
BOOST_DESCRIBE_STRUCT(UserInfo, (), (username, uid, groups))
BOOST_DESCRIBE_STRUCT(AdmissionRequest, (),
                      (uid, kind, resource, subResource, name, namespace_, operation, userInfo,
                       object, oldObject, dryRun, options))
BOOST_DESCRIBE_STRUCT(AdmissionResponse, (), (uid, allowed, status, patch, patchType, warnings))
BOOST_DESCRIBE_STRUCT(AdmissionReview, (), (apiVersion, kind, request, response))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::MutatingWebhookConfiguration)
KOORD_OBJECT_CODEC(koord::api::ValidatingWebhookConfiguration)
KOORD_CODEC(koord::api::AdmissionReview)
