#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kAdmission = R"(
MutatingWebhookConfiguration: apiVersion string; kind string; metadata#1 ObjectMeta
  webhooks#2 [MutatingWebhook] merge=name
ValidatingWebhookConfiguration: apiVersion string; kind string; metadata#1 ObjectMeta
  webhooks#2 [ValidatingWebhook] merge=name
MutatingWebhook: *name#1 string; *clientConfig#2 WebhookClientConfig
  rules#3 [RuleWithOperations]; failurePolicy#4? string; matchPolicy#9? string
  namespaceSelector#5? LabelSelector; objectSelector#11? LabelSelector; *sideEffects#6? string
  timeoutSeconds#7? int; *admissionReviewVersions#8 [string]; reinvocationPolicy#10? string
  matchConditions#12 [MatchCondition] merge=name
ValidatingWebhook: *name#1 string; *clientConfig#2 WebhookClientConfig
  rules#3 [RuleWithOperations]; failurePolicy#4? string; matchPolicy#9? string
  namespaceSelector#5? LabelSelector; objectSelector#10? LabelSelector; *sideEffects#6? string
  timeoutSeconds#7? int; *admissionReviewVersions#8 [string]
  matchConditions#11 [MatchCondition] merge=name
WebhookClientConfig: url#3? string; service#1? ServiceReference; caBundle#2 bytes
ServiceReference: *namespace#1 string; *name#2 string; path#3? string; port#4? int
RuleWithOperations: operations#1 [string]; apiGroups#2.1 [string]; apiVersions#2.2 [string]
  resources#2.3 [string]; scope#2.4? string
MatchCondition: *name#1 string; *expression#2 string
ValidatingAdmissionPolicy: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 ValidatingAdmissionPolicySpec; status#3 ValidatingAdmissionPolicyStatus
ValidatingAdmissionPolicySpec: paramKind#1? ParamKind; matchConstraints#2? MatchResources
  validations#3 [Validation]; failurePolicy#4? string; auditAnnotations#5 [AuditAnnotation]
  matchConditions#6 [MatchCondition] merge=name; variables#7 [Variable] merge=name
ValidatingAdmissionPolicyStatus: observedGeneration#1 int; typeChecking#2? TypeChecking
  conditions#3 [Condition] keys=type
TypeChecking: expressionWarnings#1 [ExpressionWarning]
ExpressionWarning: *fieldRef#2 string; *warning#3 string
Validation: *expression#1 string; message#2 string; reason#3? string; messageExpression#4 string
AuditAnnotation: *key#1 string; *valueExpression#2 string
Variable atomic: *name#1 string; *expression#2 string
ParamKind atomic: apiVersion#1 string; kind#2 string
ParamRef atomic: name#1 string; namespace#2 string; selector#3? LabelSelector
  parameterNotFoundAction#4? string
MatchResources atomic: namespaceSelector#1? LabelSelector; objectSelector#2? LabelSelector
  resourceRules#3 [NamedRuleWithOperations]; excludeResourceRules#4 [NamedRuleWithOperations]
  matchPolicy#7? string
NamedRuleWithOperations atomic: resourceNames#1 [string]; operations#2.1 [string]
  apiGroups#2.2.1 [string]; apiVersions#2.2.2 [string]; resources#2.2.3 [string]
  scope#2.2.4? string
ValidatingAdmissionPolicyBinding: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 ValidatingAdmissionPolicyBindingSpec
ValidatingAdmissionPolicyBindingSpec: policyName#1 string; paramRef#2? ParamRef
  matchResources#3? MatchResources; validationActions#4 [string] set
MutatingAdmissionPolicy: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 MutatingAdmissionPolicySpec
MutatingAdmissionPolicySpec: paramKind#1? ParamKind; matchConstraints#2? MatchResources
  variables#3 [Variable]; mutations#4 [Mutation]; failurePolicy#5? string
  matchConditions#6 [MatchCondition] merge=name; reinvocationPolicy#7 string
Mutation: *patchType#2 string; applyConfiguration#3? ApplyConfiguration; jsonPatch#4? JSONPatch
ApplyConfiguration: expression#1 string
JSONPatch: expression#1 string
MutatingAdmissionPolicyBinding: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 MutatingAdmissionPolicyBindingSpec
MutatingAdmissionPolicyBindingSpec: policyName#1 string; paramRef#2? ParamRef
  matchResources#3? MatchResources
)";

}  // namespace koord::api::tables
