// The subresource "token" of service accounts: TokenRequests.

#include <fmt/format.h>

#include "apiserver/admission/node_restriction.h"
#include "apiserver/authz/rules.h"
#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

constexpr std::int64_t kShortest = 10 * 60;
constexpr std::int64_t kLongest = std::int64_t{1} << 32;
constexpr std::int64_t kDefault = 60 * 60;
// Tokens expire after at most this time, even if a longer one is requested: this limits the life of
// a lost token.
constexpr std::int64_t kMost = 365 * 24 * 60 * 60;

struct TokenSpec {
  std::vector<std::string> audiences;
  std::int64_t seconds = kDefault;
  std::string boundKind, boundVersion, boundName, boundUid;
};

Outcome<TokenSpec> readTokenSpec(const json::value& body) {
  TokenSpec wanted;
  wanted.audiences = textsOf(at(body, "spec", "audiences"));
  wanted.seconds = integerAt(body, kDefault, "spec", "expirationSeconds");
  FieldErrors errors;
  if (wanted.seconds < kShortest)
    errors.invalid("spec.expirationSeconds", wanted.seconds,
                   "may not specify a duration less than 10 minutes");
  if (wanted.seconds > kLongest)
    errors.invalid("spec.expirationSeconds", wanted.seconds,
                   "may not specify a duration larger than 2^32 seconds");
  if (auto good = errors.verdict("TokenRequest.authentication.k8s.io", ""); !good)
    return std::unexpected(std::move(good.error()));
  const auto text = [&](const char* name) {
    return std::string(textAt(body, "spec", "boundObjectRef", name));
  };
  wanted.boundKind = text("kind");
  wanted.boundVersion = text("apiVersion");
  wanted.boundName = text("name");
  wanted.boundUid = text("uid");
  return wanted;
}

// The object that a token is bound to, by its kind.
struct Bound {
  const char* table = nullptr;
  bool namespaced = true;
  TokenReference TokenClaims::* claim = nullptr;
};

std::optional<Bound> boundOf(const TokenSpec& wanted) {
  if (wanted.boundVersion == "v1") {
    if (wanted.boundKind == "Pod") return Bound{"pods", true, &TokenClaims::pod};
    if (wanted.boundKind == "Secret") return Bound{"secrets", true, &TokenClaims::secret};
    if (wanted.boundKind == "Node") return Bound{"nodes", false, &TokenClaims::node};
  }
  return std::nullopt;
}

json::value documentOf(const EntryPtr& entry) {
  auto document = entry ? parseJson(entry->text) : Result<json::value>(json::value());
  return document ? *std::move(document) : json::value();
}

std::string uidOf(const json::value& object) {
  return std::string(textAt(object, "metadata", "uid"));
}

// Sets the claims about the bound object.
Outcome<> bindClaims(TokenClaims& claims, const TokenSpec& wanted, Store& store) {
  if (wanted.boundKind.empty()) return {};
  const auto bound = boundOf(wanted);
  if (!bound)
    return refuse(ErrorCode::BadRequest,
                  fmt::format("cannot bind token to object of type {}, Kind={}",
                              wanted.boundVersion, wanted.boundKind));
  const auto entry =
      store.table(bound->table)
          .find(makeKey(bound->namespaced ? claims.namespace_ : "", wanted.boundName));
  if (!entry)
    return refuse(ErrorCode::NotFound,
                  fmt::format("{} \"{}\" not found", bound->table, wanted.boundName));
  const auto object = documentOf(entry);
  if (const auto account = textAt(object, "spec", "serviceAccountName");
      wanted.boundKind == "Pod" && account != claims.account.name)
    return refuse(ErrorCode::BadRequest,
                  fmt::format("cannot bind token for serviceaccount \"{}\" to pod running with "
                              "serviceaccount \"{}\"",
                              claims.account.name, account));
  const auto uid = uidOf(object);
  if (!wanted.boundUid.empty() && wanted.boundUid != uid)
    return refuse(
        ErrorCode::Conflict,
        fmt::format("Operation cannot be fulfilled on {} \"{}\": the UID in the bound object "
                    "reference ({}) does not match the UID in record. The object might have been "
                    "deleted and then recreated",
                    wanted.boundKind, wanted.boundName, wanted.boundUid));
  claims.*bound->claim = {wanted.boundName, uid};
  const std::string node(textAt(object, "spec", "nodeName"));
  if (wanted.boundKind == "Pod" && !node.empty())
    claims.node = {node, uidOf(documentOf(store.table("nodes").find(node)))};
  return {};
}

// A kubelet gets tokens for the pods that run on its node.
Outcome<> admitKubelet(const User& user, const TokenClaims& claims, std::string_view account) {
  const auto forbidden = [&](const char* why) {
    return refuse(ErrorCode::Forbidden,
                  fmt::format("serviceaccounts \"{}\" is forbidden: {}", account, why));
  };
  if (claims.pod.name.empty()) return forbidden("node requested token not bound to a pod");
  if (nodeOfUser(user.name).value_or("") != claims.node.name)
    return forbidden("node requested token bound to a pod scheduled on a different node");
  return {};
}

}  // namespace

Task<Outcome<Written>> WriteCall::issueToken() {
  const auto& request = call_.request;
  auto* tokens = server_.authenticator().accounts();
  if (!tokens)
    co_return refuse(ErrorCode::MethodNotAllowed,
                     "this server does not issue service account tokens");
  auto body = readSubresourceKind("TokenRequest");
  if (!body) co_return std::unexpected(std::move(body.error()));
  auto a = attributes("CREATE", &*body, nullptr);
  a.name = request.name;
  a.objectKind = "TokenRequest";
  a.objectVersion = "authentication.k8s.io/v1";
  auto admitting = admitSubresourceKind(std::move(a), *std::move(body));
  body = co_await admitting;
  if (!body) co_return std::unexpected(std::move(body.error()));
  auto wanted = readTokenSpec(*body);
  if (!wanted) co_return std::unexpected(std::move(wanted.error()));
  const auto account = documentOf(target_.table->find(makeKey(request.namespace_, request.name)));
  if (!account.is_object()) co_return refuse(notFound(*target_.resource, request.name));

  TokenClaims claims;
  claims.namespace_ = request.namespace_;
  claims.account = {request.name, uidOf(account)};
  if (auto good = bindClaims(claims, *wanted, server_.store_); !good)
    co_return std::unexpected(std::move(good.error()));
  if (isNodeUser(call_.user))
    if (auto good = admitKubelet(call_.user, claims, request.name); !good)
      co_return std::unexpected(std::move(good.error()));
  claims.audiences = wanted->audiences;
  if (claims.audiences.empty()) claims.audiences = {tokens->issuer()};
  const auto now = std::chrono::floor<std::chrono::seconds>(server_.executor_.wallNow());
  claims.issued = claims.notBefore = now.time_since_epoch().count();
  claims.expires = claims.issued + std::min(wanted->seconds, kMost);
  claims.id = newUid(server_.random_);
  auto token = tokens->sign(claims);
  if (!token) co_return refuse(std::move(token.error()));

  json::value answer = *std::move(body);
  auto& members = answer.get_object();
  members["apiVersion"] = "authentication.k8s.io/v1";
  members["kind"] = "TokenRequest";
  auto& metadata = objectAt(members, "metadata");
  metadata["name"] = request.name;
  metadata["namespace"] = request.namespace_;
  metadata["creationTimestamp"] = formatTime(now);
  auto& spec = objectAt(members, "spec");
  spec["audiences"] = json::array(claims.audiences.begin(), claims.audiences.end());
  spec["expirationSeconds"] = claims.expires - claims.issued;
  members["status"] = {
      {"token", *token},
      {"expirationTimestamp", formatTime(WallTime(std::chrono::seconds(claims.expires)))}};
  co_return Written{bytesOf(toJson(answer)), 201};
}

}  // namespace koord::apiserver
