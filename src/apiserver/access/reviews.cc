#include "apiserver/access/reviews.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/admission/node_restriction.h"

namespace koord::apiserver {
namespace {

constexpr std::string_view kNodePrefix = "system:node:";

bool isRead(std::string_view verb) {
  return verb == "get" || verb == "list" || verb == "watch";
}

std::vector<std::string> textsOf(const json::value* list) {
  std::vector<std::string> out;
  if (list && list->is_array())
    for (const auto& item : list->get_array())
      if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

json::object userInfo(const User& user) {
  json::object info{{"username", user.name}};
  if (!user.uid.empty()) info["uid"] = user.uid;
  info["groups"] = json::array(user.groups.begin(), user.groups.end());
  return info;
}

Access accessOf(const json::value& spec) {
  const auto* attributes = find(spec, "resourceAttributes");
  if (!attributes)
    return {std::string(textAt(spec, "nonResourceAttributes", "verb")), "", "", "", "", ""};
  const auto text = [&](const char* name) { return std::string(textAt(*attributes, name)); };
  return {text("verb"),        text("group"),     text("resource"),
          text("subresource"), text("namespace"), text("name")};
}

json::object verdictStatus(const User& user, const json::value& spec) {
  const auto verdict = mayAccess(user, accessOf(spec));
  json::object status{{"allowed", verdict.allowed}};
  if (!verdict.reason.empty()) status["reason"] = verdict.reason;
  return status;
}

json::object rule(json::array verbs, const char* group, json::array resources,
                  std::string_view name = {}) {
  json::object out{{"verbs", std::move(verbs)},
                   {"apiGroups", json::array{group}},
                   {"resources", std::move(resources)}};
  if (!name.empty()) out["resourceNames"] = json::array{name};
  return out;
}

json::object rulesStatus(const User& user) {
  json::array rules;
  const bool node = isNodeUser(user);
  if (!node) {
    rules.push_back(rule({"*"}, "*", {"*"}));
  } else {
    const std::string_view name =
        std::string_view(user.name).substr(std::min(kNodePrefix.size(), user.name.size()));
    const json::array writes{"create", "update", "patch", "delete"};
    rules.push_back(rule({"get", "list", "watch"}, "*", {"*"}));
    rules.push_back(rule(writes, "", {"nodes", "nodes/status"}, name));
    rules.push_back(rule(writes, "coordination.k8s.io", {"leases"}, name));
    rules.push_back(rule(writes, "storage.k8s.io", {"csinodes"}, name));
    rules.push_back(rule({"create", "delete"}, "", {"pods"}));
    rules.push_back(rule({"update", "patch"}, "", {"pods/status"}));
    rules.push_back(rule({"create"}, "", {"pods/eviction"}));
  }
  json::object status{
      {"resourceRules", std::move(rules)},
      {"nonResourceRules", json::array{json::object{{"verbs", json::array{"*"}},
                                                    {"nonResourceURLs", json::array{"*"}}}}},
      {"incomplete", node}};
  if (node)
    status["evaluationError"] =
        "a kubelet may write pods of its own node only, and objects of all other kinds";
  return status;
}

json::object tokenStatus(const json::value& spec, const TokenLookup& tokens) {
  const auto* user = tokens ? tokens(textAt(spec, "token")) : nullptr;
  if (!user) return {{"authenticated", false}, {"error", "the token is not known here"}};
  return {{"authenticated", true}, {"user", userInfo(*user)}};
}

// "namespaces/NS/localsubjectaccessreviews" is the review of that name.
std::string_view lastOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::optional<json::object> statusOf(std::string_view path, const json::value& body,
                                     const User& user, const TokenLookup& tokens) {
  const json::value none = json::object{};
  const auto* given = find(body, "spec");
  const json::value& spec = given ? *given : none;
  const auto kind = lastOf(path);
  if (path.starts_with("/apis/authentication.k8s.io/v1/")) {
    if (kind == "selfsubjectreviews") return json::object{{"userInfo", userInfo(user)}};
    if (kind == "tokenreviews") return tokenStatus(spec, tokens);
    return std::nullopt;
  }
  if (kind == "selfsubjectaccessreviews") return verdictStatus(user, spec);
  if (kind == "selfsubjectrulesreviews") return rulesStatus(user);
  if (kind == "subjectaccessreviews" || kind == "localsubjectaccessreviews")
    return verdictStatus({std::string(textAt(spec, "user")), std::string(textAt(spec, "uid")),
                          textsOf(find(spec, "groups"))},
                         spec);
  return std::nullopt;
}

}  // namespace

AccessVerdict mayAccess(const User& user, const Access& access) {
  if (!isNodeUser(user) || isRead(access.verb)) return {};
  const auto denied = [](std::string reason) { return AccessVerdict{false, std::move(reason)}; };
  if (!user.name.starts_with(kNodePrefix))
    return denied(fmt::format("could not determine node from user \"{}\"", user.name));
  const auto node = std::string_view(user.name).substr(kNodePrefix.size());
  const bool core = access.group.empty();
  const bool lease = access.group == "coordination.k8s.io" && access.resource == "leases";
  if (lease && access.namespace_ != "kube-node-lease")
    return denied("can only access leases in the \"kube-node-lease\" system namespace");
  if (lease || (core && access.resource == "nodes") ||
      (access.group == "storage.k8s.io" && access.resource == "csinodes")) {
    const bool created = access.verb == "create" && access.name.empty();
    if (access.name == node || created) return {};
    return denied(fmt::format("node \"{}\" may only write the object of its own name", node));
  }
  if (!core || access.resource != "pods") return {};
  const bool status = access.subresource == "status";
  const bool eviction = access.subresource == "eviction";
  if (status || eviction ||
      (access.subresource.empty() && (access.verb == "create" || access.verb == "delete")))
    return {true, fmt::format("for pods with spec.nodeName \"{}\" only", node)};
  return denied("a node may only create and delete mirror pods, and write the status of its pods");
}

std::optional<Reply> answerReview(std::string_view path, const std::string& body, const User& user,
                                  const TokenLookup& tokens) {
  if (!path.starts_with("/apis/authentication.k8s.io/v1/") &&
      !path.starts_with("/apis/authorization.k8s.io/v1/"))
    return std::nullopt;
  auto review = body.empty() ? Result<json::value>(json::object{}) : parseJson(body);
  if (!review || !review->is_object())
    return failureReply(
        Failure(ErrorCode::BadRequest, "the body of a review must be a JSON object"), {});
  auto status = statusOf(path, *review, user, tokens);
  if (!status) return std::nullopt;
  auto& members = review->get_object();
  if (!members.contains("metadata")) members["metadata"] = json::object{};
  members["status"] = *std::move(status);
  Reply reply;
  reply.status = 201;
  reply.body = bytesOf(toJson(*review));
  return reply;
}

}  // namespace koord::apiserver
