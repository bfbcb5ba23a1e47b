#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kReviews = R"(
SelfSubjectAccessReview: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 SelfSubjectAccessReviewSpec; status#3 SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec: resourceAttributes#1? ResourceAttributes
  nonResourceAttributes#2? NonResourceAttributes
ResourceAttributes: namespace#1 string; verb#2 string; group#3 string; version#4 string
  resource#5 string; subresource#6 string; name#7 string
  fieldSelector#8? FieldSelectorAttributes; labelSelector#9? LabelSelectorAttributes
FieldSelectorAttributes: rawSelector#1 string; requirements#2 [FieldSelectorRequirement]
FieldSelectorRequirement: *key#1 string; *operator#2 string; values#3 [string]
LabelSelectorAttributes: rawSelector#1 string; requirements#2 [LabelSelectorRequirement]
NonResourceAttributes: path#1 string; verb#2 string
SubjectAccessReviewStatus: allowed#1 bool; denied#4 bool; reason#2 string
  evaluationError#3 string
SubjectAccessReview: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 SubjectAccessReviewSpec; status#3 SubjectAccessReviewStatus
SubjectAccessReviewSpec: resourceAttributes#1? ResourceAttributes
  nonResourceAttributes#2? NonResourceAttributes; user#3 string; groups#4 [string]; extra any
  uid#6 string
LocalSubjectAccessReview: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 SubjectAccessReviewSpec; status#3 SubjectAccessReviewStatus
SelfSubjectRulesReview: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 SelfSubjectRulesReviewSpec; status#3 SubjectRulesReviewStatus
SelfSubjectRulesReviewSpec: namespace#1 string
SubjectRulesReviewStatus: resourceRules#1 [ResourceRule]; nonResourceRules#2 [NonResourceRule]
  incomplete#3 bool; evaluationError#4 string
ResourceRule: *verbs#1 [string]; apiGroups#2 [string]; resources#3 [string]
  resourceNames#4 [string]
NonResourceRule: *verbs#1 [string]; nonResourceURLs#2 [string]
TokenReview: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 TokenReviewSpec
  status#3 TokenReviewStatus
TokenReviewSpec: token#1 string; audiences#2 [string]
TokenReviewStatus: authenticated#1 bool; user#2 UserInfo; audiences#4 [string]; error#3 string
UserInfo: username#1 string; uid#2 string; groups#3 [string]; extra any
TokenRequest: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 TokenRequestSpec
  status#3 TokenRequestStatus
TokenRequestSpec: audiences#1 [string]; expirationSeconds#4? int
  boundObjectRef#3? BoundObjectReference; attestations#5 [string]
BoundObjectReference: kind#1 string; apiVersion#2 string; name#3 string; uid#4 string
TokenRequestStatus: token#1 string; expirationTimestamp#2 time
SelfSubjectReview: apiVersion string; kind string; metadata#1 ObjectMeta
  status#2 SelfSubjectReviewStatus
SelfSubjectReviewStatus: userInfo#1 UserInfo
Status: apiVersion string; kind string; metadata#1 ListMeta; status#2 string; message#3 string
  reason#4 string; details#5? StatusDetails; code#6 int
StatusDetails: name#1 string; group#2 string; kind#3 string; uid#6 string; causes#4 [StatusCause]
  retryAfterSeconds#5 int
StatusCause: reason#1 string; message#2 string; field#3 string
)";

}  // namespace koord::api::tables
