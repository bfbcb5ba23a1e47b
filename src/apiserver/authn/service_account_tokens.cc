#include "apiserver/authn/service_account_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/authz/rules.h"
#include "apiserver/objects/edit.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

constexpr std::string_view kUserPrefix = "system:serviceaccount:";
constexpr std::size_t kRemembered = 4096;
constexpr std::size_t kMaxTokenBytes = 16 << 10;
// A terminating object, such as a pod in its grace period, keeps its tokens this much longer.
constexpr Duration kGoing = std::chrono::minutes(1);
constexpr const char* kClaim = "kubernetes.io";

std::int64_t secondsOf(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

json::object objectOf(const TokenReference& reference) {
  return {{"name", reference.name}, {"uid", reference.uid}};
}

TokenReference referenceAt(const json::value& claims, const char* what) {
  return {std::string(textAt(claims, kClaim, what, "name")),
          std::string(textAt(claims, kClaim, what, "uid"))};
}

Result<json::value> documentOf(std::string_view part) {
  auto text = net::base64UrlDecode(part);
  if (!text) return fail(std::move(text.error()));
  return parseJson(*text);
}

std::unexpected<Error> invalidToken(std::string why) {
  return fail(ErrorCode::Unauthorized, std::move(why));
}

TokenClaims readClaims(const json::value& document) {
  TokenClaims claims;
  claims.namespace_ = textAt(document, kClaim, "namespace");
  claims.account = referenceAt(document, "serviceaccount");
  claims.pod = referenceAt(document, "pod");
  claims.secret = referenceAt(document, "secret");
  claims.node = referenceAt(document, "node");
  claims.audiences = textsOf(find(document, "aud"));
  if (const auto one = textAt(document, "aud"); !one.empty()) claims.audiences.emplace_back(one);
  claims.issued = integerAt(document, 0, "iat");
  claims.notBefore = integerAt(document, 0, "nbf");
  claims.expires = integerAt(document, 0, "exp");
  claims.id = textAt(document, "jti");
  return claims;
}

}  // namespace

ServiceAccountTokens::ServiceAccountTokens(Store& store, const Clock& clock,
                                           std::vector<net::SigningKey> keys, std::string issuer)
    : store_(store),
      clock_(clock),
      keys_(std::move(keys)),
      issuer_(std::move(issuer)),
      known_(kRemembered) {}

Result<std::string> ServiceAccountTokens::sign(const TokenClaims& claims) const {
  const auto& key = keys_.front();
  json::object own{{"namespace", claims.namespace_}, {"serviceaccount", objectOf(claims.account)}};
  if (!claims.node.name.empty()) own["node"] = objectOf(claims.node);
  if (!claims.pod.name.empty()) own["pod"] = objectOf(claims.pod);
  if (!claims.secret.name.empty()) own["secret"] = objectOf(claims.secret);
  const json::object payload{
      {"aud", json::array(claims.audiences.begin(), claims.audiences.end())},
      {"exp", claims.expires},
      {"iat", claims.issued},
      {"iss", issuer_},
      {"jti", claims.id},
      {kClaim, std::move(own)},
      {"nbf", claims.notBefore},
      {"sub", serviceAccountUser(claims.namespace_, claims.account.name).name}};
  const json::object header{{"alg", "ES256"}, {"kid", key.id()}};
  std::string text =
      net::base64UrlEncode(toJson(header)) + "." + net::base64UrlEncode(toJson(payload));
  auto signature = key.sign(text);
  if (!signature) return fail(std::move(signature.error()));
  return text + "." + net::base64UrlEncode(*signature);
}

Result<TokenClaims> ServiceAccountTokens::verify(std::string_view token) const {
  const auto end = token.rfind('.');
  const auto middle = token.find('.');
  if (end == std::string_view::npos || end == middle || token.size() > kMaxTokenBytes)
    return invalidToken("unknown token");
  const auto header = documentOf(token.substr(0, middle));
  const auto signature = net::base64UrlDecode(token.substr(end + 1));
  if (!header || !signature || textAt(*header, "alg") != "ES256")
    return invalidToken("unknown token");
  const auto kid = textAt(*header, "kid");
  const auto key = std::ranges::find(keys_, kid, &net::SigningKey::id);
  if (key == keys_.end() || !key->verify(token.substr(0, end), *signature))
    return invalidToken("the token is not signed by a key of this cluster");
  const auto payload = documentOf(token.substr(middle + 1, end - middle - 1));
  if (!payload || textAt(*payload, "iss") != issuer_)
    return invalidToken("the token has another issuer");
  auto claims = readClaims(*payload);
  if (textAt(*payload, "sub") != serviceAccountUser(claims.namespace_, claims.account.name).name)
    return invalidToken("the token's subject is not its service account");
  return claims;
}

Result<> ServiceAccountTokens::checkTimes(const TokenClaims& claims) const {
  const auto now = secondsOf(clock_.wallNow());
  if (now >= claims.expires) return invalidToken("service account token has expired");
  if (now < claims.notBefore) return invalidToken("service account token is not valid yet");
  return {};
}

bool ServiceAccountTokens::isThere(const char* table, std::string_view key,
                                   const TokenReference& reference, EntryPtr& compared) const {
  auto entry = store_.table(table).find(key);
  if (!entry) return false;
  if (entry == compared) return true;
  const auto object = parseJson(entry->text);
  if (!object || textAt(*object, "metadata", "uid") != reference.uid) return false;
  if (const auto since = textAt(*object, "metadata", "deletionTimestamp"); !since.empty()) {
    const auto time = parseTime(since);
    return time && clock_.wallNow() < *time + kGoing;
  }
  compared = std::move(entry);
  return true;
}

Result<> ServiceAccountTokens::checkObjects(Known& known) const {
  const auto& claims = known.claims;
  const auto key = [&](const TokenReference& of) { return makeKey(claims.namespace_, of.name); };
  if (!isThere("serviceaccounts", key(claims.account), claims.account, known.account))
    return invalidToken(fmt::format("service account {}/{} of the token does not exist",
                                    claims.namespace_, claims.account.name));
  const bool bound =
      !claims.pod.name.empty() ? isThere("pods", key(claims.pod), claims.pod, known.bound)
      : !claims.secret.name.empty()
          ? isThere("secrets", key(claims.secret), claims.secret, known.bound)
      : !claims.node.name.empty() ? isThere("nodes", claims.node.name, claims.node, known.bound)
                                  : true;
  if (!bound) return invalidToken("service account token has been invalidated");
  return {};
}

Result<User> ServiceAccountTokens::authenticate(std::string_view token,
                                                const std::vector<std::string>& audiences) {
  const auto digest = net::sha256(token);
  auto* known = known_.find(digest);
  if (!known) {
    auto claims = verify(token);
    if (!claims) return fail(std::move(claims.error()));
    known = &known_.at(digest, Known{*std::move(claims), nullptr, nullptr});
  }
  const auto& claims = known->claims;
  if (auto good = checkTimes(claims); !good) return fail(std::move(good.error()));
  if (std::ranges::find_first_of(claims.audiences, audiences) == claims.audiences.end())
    return invalidToken("the token is for other audiences");
  if (auto good = checkObjects(*known); !good) return fail(std::move(good.error()));

  User user = serviceAccountUser(claims.namespace_, claims.account.name);
  user.uid = claims.account.uid;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) user.extra[std::string("authentication.kubernetes.io/") + name] = {value};
  };
  if (!claims.id.empty()) add("credential-id", "JTI=" + claims.id);
  add("node-name", claims.node.name);
  add("node-uid", claims.node.uid);
  add("pod-name", claims.pod.name);
  add("pod-uid", claims.pod.uid);
  return user;
}

std::vector<std::string> ServiceAccountTokens::audiencesOf(
    std::string_view token, const std::vector<std::string>& audiences) {
  std::vector<std::string> out;
  const auto* known = known_.find(net::sha256(token));
  if (!known) return out;
  for (const auto& audience : audiences)
    if (std::ranges::find(known->claims.audiences, audience) != known->claims.audiences.end())
      out.push_back(audience);
  return out;
}

std::string ServiceAccountTokens::discoveryDocument() const {
  return toJson(json::object{{"issuer", issuer_},
                             {"jwks_uri", issuer_ + "/openid/v1/jwks"},
                             {"response_types_supported", json::array{"id_token"}},
                             {"subject_types_supported", json::array{"public"}},
                             {"id_token_signing_alg_values_supported", json::array{"ES256"}}});
}

std::string ServiceAccountTokens::keySet() const {
  json::array keys;
  for (const auto& key : keys_)
    keys.push_back(json::object{{"use", "sig"},
                                {"kty", "EC"},
                                {"kid", key.id()},
                                {"crv", "P-256"},
                                {"alg", "ES256"},
                                {"x", key.x()},
                                {"y", key.y()}});
  return toJson(json::object{{"keys", std::move(keys)}});
}

User serviceAccountUser(std::string_view namespace_, std::string_view name) {
  return {fmt::format("{}{}:{}", kUserPrefix, namespace_, name),
          "",
          {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", namespace_),
           "system:authenticated"},
          {}};
}

std::optional<std::pair<std::string, std::string>> serviceAccountOf(std::string_view userName) {
  if (!userName.starts_with(kUserPrefix)) return std::nullopt;
  userName.remove_prefix(kUserPrefix.size());
  const auto colon = userName.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == userName.size() ||
      userName.find(':', colon + 1) != std::string_view::npos)
    return std::nullopt;
  return std::pair{std::string(userName.substr(0, colon)), std::string(userName.substr(colon + 1))};
}

}  // namespace koord::apiserver
