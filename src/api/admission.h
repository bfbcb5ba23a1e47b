#pragma once

// admissionregistration.k8s.io/v1 webhook configurations and admission.k8s.io/v1 AdmissionReview.

#include "api/meta.h"

namespace koord::api {

struct ServiceReference {
  std::string namespace_;
  std::string name;
  std::string path;
  std::optional<std::int32_t> port;
};
struct WebhookClientConfig {
  std::optional<std::string> url;
  std::optional<ServiceReference> service;
  std::string caBundle;  // base64 of PEM
};
struct RuleWithOperations {
  std::vector<std::string> operations;  // CREATE, UPDATE, DELETE, CONNECT, *
  std::vector<std::string> apiGroups;
  std::vector<std::string> apiVersions;
  std::vector<std::string> resources;  // pods, pods/status, */*, ...
  std::string scope;                   // Cluster, Namespaced, * (also when empty)
};
// One entry of a mutating or validating configuration; reinvocationPolicy is for mutating ones
// only.
struct MatchCondition {
  std::string name;
  std::string expression;  // CEL
};

struct Webhook {
  std::string name;
  WebhookClientConfig clientConfig;
  std::vector<RuleWithOperations> rules;
  std::optional<std::string> failurePolicy;  // Fail when absent
  std::optional<std::string> matchPolicy;
  std::optional<LabelSelector> namespaceSelector;
  std::optional<LabelSelector> objectSelector;
  std::string sideEffects;
  std::optional<std::int32_t> timeoutSeconds;  // 10 when absent
  std::vector<std::string> admissionReviewVersions;
  std::optional<std::string> reinvocationPolicy;
  std::vector<MatchCondition> matchConditions;
};
struct MutatingWebhookConfiguration {
  static constexpr ResourceType kType{"admissionregistration.k8s.io", "v1",
                                      "mutatingwebhookconfigurations",
                                      "MutatingWebhookConfiguration", false};
  ObjectMeta metadata;
  std::vector<Webhook> webhooks;
};
struct ValidatingWebhookConfiguration {
  static constexpr ResourceType kType{"admissionregistration.k8s.io", "v1",
                                      "validatingwebhookconfigurations",
                                      "ValidatingWebhookConfiguration", false};
  ObjectMeta metadata;
  std::vector<Webhook> webhooks;
};

struct GroupVersionKind {
  std::string group;
  std::string version;
  std::string kind;
};
struct GroupVersionResource {
  std::string group;
  std::string version;
  std::string resource;
};
struct UserInfo {
  std::string username;
  std::string uid;
  std::vector<std::string> groups;
};
struct AdmissionRequest {
  std::string uid;
  GroupVersionKind kind;
  GroupVersionResource resource;
  std::string subResource;
  std::string name;
  std::string namespace_;
  std::string operation;
  UserInfo userInfo;
  json::value object;
  json::value oldObject;
  bool dryRun = false;
  json::value options;
};
struct AdmissionResponse {
  std::string uid;
  bool allowed = false;
  std::optional<Status> status;
  std::string patch;  // base64 of a JSON patch
  std::string patchType;
  std::vector<std::string> warnings;
};
struct AdmissionReview {
  std::string apiVersion;
  std::string kind;
  std::optional<AdmissionRequest> request;
  std::optional<AdmissionResponse> response;
};

}  // namespace koord::api
