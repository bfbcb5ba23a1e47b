#include "apiserver/authn/impersonation.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/authn/service_account_tokens.h"
#include "base/ascii.h"
#include "base/utf8.h"
#include "net/url.h"

namespace koord::apiserver {
namespace {

constexpr std::string_view kUser = "Impersonate-User";
constexpr std::string_view kGroup = "Impersonate-Group";
constexpr std::string_view kUid = "Impersonate-Uid";
constexpr std::string_view kExtra = "Impersonate-Extra-";
constexpr std::string_view kAuthentication = "authentication.k8s.io";

struct Wanted {
  std::string user, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  bool any = false;
  bool text = true;  // valid UTF-8: messages and stored objects have it
};

Wanted readHeaders(const net::Headers& headers) {
  Wanted wanted;
  for (const auto& [name, value] : headers) {
    if (!net::sameHeaderName(std::string_view(name).substr(0, 12), "Impersonate-")) continue;
    wanted.text = wanted.text && isUtf8(value);
    // An empty name does not request impersonation.
    wanted.any = wanted.any || !value.empty() || !net::sameHeaderName(name, kUser);
    if (net::sameHeaderName(name, kUser)) wanted.user = value;
    if (net::sameHeaderName(name, kUid)) wanted.uid = value;
    if (net::sameHeaderName(name, kGroup)) wanted.groups.push_back(value);
    if (name.size() <= kExtra.size() ||
        !net::sameHeaderName(std::string_view(name).substr(0, kExtra.size()), kExtra))
      continue;
    const auto key = lowered(std::string_view(name).substr(kExtra.size()));
    const auto decoded = net::percentDecode(key).value_or(key);
    wanted.text = wanted.text && isUtf8(decoded);
    wanted.extra[decoded].push_back(value);
  }
  return wanted;
}

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

}  // namespace

std::expected<std::optional<User>, Reply> impersonated(const net::Headers& headers,
                                                       const User& user, Authorizer* authorizer) {
  auto wanted = readHeaders(headers);
  if (!wanted.any) return std::nullopt;
  if (!wanted.text)
    return std::unexpected(
        failureReply(Failure(ErrorCode::BadRequest, "an Impersonate header is not UTF-8"), {}));
  if (wanted.user.empty())
    return std::unexpected(failureReply(
        Failure(ErrorCode::Internal, "Impersonate-Group, -Uid and -Extra need Impersonate-User"),
        {}));
  std::optional<Reply> denied;
  const auto ask = [&](std::string_view group, std::string_view resource, std::string_view sub,
                       std::string_view namespace_, std::string_view name) {
    if (!authorizer || denied) return;
    const Attributes attributes{.user = user,
                                .verb = "impersonate",
                                .path = {},
                                .group = group,
                                .resource = resource,
                                .subresource = sub,
                                .namespace_ = namespace_,
                                .name = name,
                                .selectedNode = {}};
    const auto decision = authorizer->authorize(attributes);
    if (!decision.allowed) denied = forbiddenReply(attributes, decision.reason);
  };
  User next{wanted.user, wanted.uid, wanted.groups, std::move(wanted.extra)};
  if (const auto account = serviceAccountOf(wanted.user)) {
    ask("", "serviceaccounts", "", account->first, account->second);
    if (next.groups.empty())
      next.groups = serviceAccountUser(account->first, account->second).groups;
  } else {
    ask("", "users", "", "", wanted.user);
  }
  for (const auto& group : wanted.groups) ask("", "groups", "", "", group);
  for (const auto& [key, values] : next.extra)
    for (const auto& value : values) ask(kAuthentication, "userextras", key, "", value);
  if (!wanted.uid.empty()) ask(kAuthentication, "uids", "", "", wanted.uid);
  if (denied) return std::unexpected(*std::move(denied));
  const bool anonymous = next.name == "system:anonymous";
  if (!has(next.groups, "system:unauthenticated") &&
      (anonymous || !has(next.groups, "system:authenticated")))
    next.groups.emplace_back(anonymous ? "system:unauthenticated" : "system:authenticated");
  return next;
}

}  // namespace koord::apiserver
