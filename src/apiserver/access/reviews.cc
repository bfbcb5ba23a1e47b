#include "apiserver/access/reviews.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/admission/node_restriction.h"
#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

json::array arrayOf(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

json::object userInfo(const User& user) {
  json::object info{{"username", user.name}};
  if (!user.uid.empty()) info["uid"] = user.uid;
  info["groups"] = arrayOf(user.groups);
  if (!user.extra.empty()) {
    json::object extra;
    for (const auto& [key, values] : user.extra) extra[key] = arrayOf(values);
    info["extra"] = std::move(extra);
  }
  return info;
}

Failure invalid(std::string_view kind, std::string_view what) {
  return {ErrorCode::Invalid,
          fmt::format("{}.{} \"\" is invalid: {}", kind, kAuthorizationGroup, what)};
}

// The attributes that the spec of an access review asks about.
Outcome<Attributes> attributesOf(const User& user, const json::value& spec, std::string_view kind) {
  const auto* resource = find(spec, "resourceAttributes");
  const auto* path = find(spec, "nonResourceAttributes");
  const bool ofResource = resource && resource->is_object();
  const bool ofPath = path && path->is_object();
  if (ofResource == ofPath)
    return refuse(
        invalid(kind, ofPath ? "spec.nonResourceAttributes: Invalid value: cannot be specified "
                               "in combination with resourceAttributes"
                             : "spec.resourceAttributes: Invalid value: null: exactly one of "
                               "nonResourceAttributes or resourceAttributes must be specified"));
  Attributes out{.user = user,
                 .verb = {},
                 .path = {},
                 .group = {},
                 .resource = {},
                 .subresource = {},
                 .namespace_ = {},
                 .name = {},
                 .selectedNode = {}};
  const auto& of = ofPath ? *path : *resource;
  out.verb = textAt(of, "verb");
  if (ofPath) {
    out.path = textAt(of, "path");
    if (out.path.empty()) out.path = "/";
    return out;
  }
  out.group = textAt(of, "group");
  out.resource = textAt(of, "resource");
  out.subresource = textAt(of, "subresource");
  out.namespace_ = textAt(of, "namespace");
  out.name = textAt(of, "name");
  if (const auto* selector = at(of, "fieldSelector"))
    if (const auto* list = arrayAt(*selector, "requirements"))
      for (const auto& one : *list) {
        const auto* values = arrayAt(one, "values");
        if (textAt(one, "key") == "spec.nodeName" && textAt(one, "operator") == "In" && values &&
            values->size() == 1 && values->front().is_string())
          out.selectedNode = values->front().get_string();
      }
  return out;
}

Outcome<json::object> accessStatus(Server& server, const User& user, const json::value& spec,
                                   std::string_view kind) {
  auto attributes = attributesOf(user, spec, kind);
  if (!attributes) return std::unexpected(std::move(attributes.error()));
  const auto decision =
      server.authorizer() ? server.authorizer()->authorize(*attributes) : Decision{true, ""};
  json::object status{{"allowed", decision.allowed}};
  if (!decision.reason.empty()) status["reason"] = decision.reason;
  return status;
}

User subjectOf(const json::value& spec) {
  User user{std::string(textAt(spec, "user")),
            std::string(textAt(spec, "uid")),
            textsOf(find(spec, "groups")),
            {}};
  if (const auto* extra = find(spec, "extra"); extra && extra->is_object())
    for (const auto& [key, values] : extra->get_object())
      user.extra[std::string(key)] = textsOf(&values);
  return user;
}

Outcome<json::object> subjectAccess(Server& server, const Call& call, const json::value& spec,
                                    bool local) {
  const char* kind = local ? "LocalSubjectAccessReview" : "SubjectAccessReview";
  const auto user = subjectOf(spec);
  if (user.name.empty() && user.groups.empty())
    return refuse(invalid(
        kind, "spec.user: Invalid value: \"\": at least one of user or group must be specified"));
  if (local && textAt(spec, "resourceAttributes", "namespace") != call.request.namespace_)
    return refuse(ErrorCode::BadRequest,
                  fmt::format("spec.resourceAttributes.namespace must match namespace: {}",
                              call.request.namespace_));
  return accessStatus(server, user, spec, kind);
}

Outcome<json::object> rulesStatus(Server& server, const User& user, const json::value& spec) {
  const std::string namespace_(textAt(spec, "namespace"));
  if (namespace_.empty()) return refuse(ErrorCode::BadRequest, "no namespace on request");
  std::vector<PolicyRule> rules{{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
  std::string problem;
  if (server.authorizer()) {
    auto grants = server.authorizer()->grantsOf(user, namespace_);
    rules = std::move(grants.rules);
    problem = problemText(std::move(grants.problems));
    if (!problem.empty()) problem.erase(0, std::string_view("RBAC: ").size());
  }
  const bool node = server.authorizer() && isNodeUser(user);
  if (node) problem = "node authorizer does not support user rule resolution";
  json::array ofResources, ofPaths;
  for (const auto& rule : rules) {
    if (!rule.resources.empty()) {
      json::object one{{"verbs", arrayOf(rule.verbs)},
                       {"apiGroups", arrayOf(rule.groups)},
                       {"resources", arrayOf(rule.resources)}};
      if (!rule.names.empty()) one["resourceNames"] = arrayOf(rule.names);
      ofResources.push_back(std::move(one));
    }
    if (!rule.urls.empty())
      ofPaths.push_back(
          json::object{{"verbs", arrayOf(rule.verbs)}, {"nonResourceURLs", arrayOf(rule.urls)}});
  }
  json::object status{{"resourceRules", std::move(ofResources)},
                      {"nonResourceRules", std::move(ofPaths)},
                      {"incomplete", !problem.empty()}};
  if (!problem.empty()) status["evaluationError"] = problem;
  return status;
}

json::object tokenStatus(Server& server, const json::value& spec) {
  auto bearer =
      server.authenticator().bearerOf(textAt(spec, "token"), textsOf(find(spec, "audiences")));
  if (!bearer) return {{"user", json::object{}}, {"error", "[invalid bearer token]"}};
  return {{"authenticated", true},
          {"user", userInfo(bearer->user)},
          {"audiences", arrayOf(bearer->audiences)}};
}

Outcome<json::object> statusOf(Server& server, const Call& call, const json::value& body,
                               std::string_view kind) {
  const json::value none = json::object{};
  const auto* given = find(body, "spec");
  const json::value& spec = given ? *given : none;
  if (kind == "SelfSubjectReview") return json::object{{"userInfo", userInfo(call.user)}};
  if (kind == "TokenReview") {
    if (textAt(spec, "token").empty())
      return refuse(ErrorCode::BadRequest, "token is required for TokenReview in authentication");
    return tokenStatus(server, spec);
  }
  if (kind == "SelfSubjectAccessReview") return accessStatus(server, call.user, spec, kind);
  if (kind == "SelfSubjectRulesReview") return rulesStatus(server, call.user, spec);
  return subjectAccess(server, call, spec, kind == "LocalSubjectAccessReview");
}

}  // namespace

const std::vector<ReviewKind>& reviewKinds() {
  static const std::vector<ReviewKind> kinds = {
      {kAuthenticationGroup, "selfsubjectreviews", "SelfSubjectReview"},
      {kAuthenticationGroup, "tokenreviews", "TokenReview"},
      {kAuthorizationGroup, "localsubjectaccessreviews", "LocalSubjectAccessReview", true},
      {kAuthorizationGroup, "selfsubjectaccessreviews", "SelfSubjectAccessReview"},
      {kAuthorizationGroup, "selfsubjectrulesreviews", "SelfSubjectRulesReview"},
      {kAuthorizationGroup, "subjectaccessreviews", "SubjectAccessReview"},
  };
  return kinds;
}

bool isReview(const kube::Request& request) {
  return request.group == kAuthenticationGroup || request.group == kAuthorizationGroup;
}

Reply answerReview(Server& server, const Call& call) {
  const auto& request = call.request;
  const auto kind = std::ranges::find_if(reviewKinds(), [&](const ReviewKind& one) {
    return one.group == request.group && one.plural == request.resource;
  });
  if (kind == reviewKinds().end() || request.version != "v1" || !request.subresource.empty())
    return failureReply(
        Failure(ErrorCode::NotFound, "the server could not find the requested resource"), request);
  if (request.verb != kube::Verb::Create)
    return failureReply(Failure(ErrorCode::MethodNotAllowed,
                                "the server does not allow this method on the requested resource"),
                        request);
  auto review =
      request.body.empty() ? Result<json::value>(json::object{}) : parseJson(request.body);
  if (!review || !review->is_object())
    return failureReply(
        Failure(ErrorCode::BadRequest, "the body of a review must be a JSON object"), request);
  auto status = statusOf(server, call, *review, kind->kind);
  if (!status) return failureReply(std::move(status.error()), request);
  auto& members = review->get_object();
  members["kind"] = kind->kind;
  members["apiVersion"] = std::string(kind->group) + "/v1";
  if (!members.contains("metadata")) members["metadata"] = json::object{};
  members["status"] = *std::move(status);
  Reply reply;
  reply.status = 201;
  reply.body = bytesOf(toJson(*review));
  return reply;
}

}  // namespace koord::apiserver
