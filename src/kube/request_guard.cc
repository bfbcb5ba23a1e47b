#include "kube/request_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/log.h"
#include "kube/client.h"
#include "net/answering.h"
#include "net/url.h"

namespace koord::kube {

namespace {

constexpr std::size_t kMaxCachedAnswers = 4096;
// Longer questions are not cached, so that clients cannot fill the memory.
constexpr std::size_t kMaxCachedBytes = 10'000;
constexpr api::ResourceType kTokenReview{"authentication.k8s.io", "v1", "tokenreviews",
                                         "TokenReview", false};
constexpr api::ResourceType kAccessReview{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                          "SubjectAccessReview", false};

json::object objectOf(const api::ResourceType& type, json::object spec) {
  return {{"apiVersion", api::apiVersionOf(type)}, {"kind", type.kind}, {"spec", std::move(spec)}};
}

json::array listOf(const std::vector<std::string>& texts) {
  json::array list;
  for (const auto& text : texts) list.push_back(json::string(text));
  return list;
}

// The token of "Authorization: Bearer TOKEN"; none = the header is not there or says something
// else.
std::optional<std::string> bearerToken(const net::Headers& headers) {
  const std::string_view value = net::headerOf(headers, "Authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (value.size() <= kScheme.size() || lowered(value.substr(0, kScheme.size())) != kScheme)
    return std::nullopt;
  const std::string_view token = value.substr(kScheme.size());
  return token.find(' ') == token.npos ? std::optional(std::string(token)) : std::nullopt;
}

void refuse(net::Responder& to, int code, std::string_view reason, const std::string& message) {
  json::object status{{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", json::object()},
                      {"status", "Failure"}, {"message", message}, {"reason", reason}};
  if (code == 403) status.emplace("details", json::object());
  status.emplace("code", code);
  to.respond(code, {{"Content-Type", "application/json"}, {"X-Content-Type-Options", "nosniff"}},
             toJson(status) + "\n");
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

// Whether the certificate says who the client itself is.
bool isClientCertificate(const net::PeerIdentity& peer, const GuardOptions& options) {
  if (!options.clientAuthorities.empty())
    return contains(options.clientAuthorities, peer.authority);
  return !contains(options.requestHeaders.authorities, peer.authority);
}

// The values of the first of these headers that has any.
std::vector<std::string> firstOf(const std::vector<std::string>& names,
                                 const net::Headers& headers) {
  for (const auto& name : names) {
    std::vector<std::string> values;
    for (const auto& header : headers)
      if (net::sameHeaderName(header.name, name) && !header.value.empty())
        values.push_back(header.value);
    if (!values.empty()) return values;
  }
  return {};
}

// What the prefix is followed by names the extra, in small letters and percent-encoded.
json::value extrasOf(const std::vector<std::string>& prefixes, const net::Headers& headers) {
  json::object extra;
  for (const auto& header : headers) {
    const std::string name = lowered(header.name);
    for (const auto& prefix : prefixes) {
      const std::string start = lowered(prefix);
      if (start.empty() || !name.starts_with(start)) continue;
      const std::string rest = name.substr(start.size());
      auto& values = extra[net::percentDecode(rest).value_or(rest)];
      if (!values.is_array()) values = json::array();
      values.get_array().push_back(json::string(header.value));
      break;
    }
  }
  return extra.empty() ? json::value() : json::value(std::move(extra));
}

}  // namespace

Result<RequestHeaderOptions> readRequestHeaders(const api::StringMap& data) {
  RequestHeaderOptions options;
  for (const auto& [key, into] :
       {std::pair{"requestheader-allowed-names", &options.allowedNames},
        std::pair{"requestheader-username-headers", &options.usernameHeaders},
        std::pair{"requestheader-uid-headers", &options.uidHeaders},
        std::pair{"requestheader-group-headers", &options.groupHeaders},
        std::pair{"requestheader-extra-headers-prefix", &options.extraPrefixes}}) {
    into->clear();
    const std::string* text = api::findIn(data, key);
    if (!text || text->empty()) continue;
    const auto list = parseJson(*text);
    if (!list) return fail(Error(list.error()).within(key));
    if (list->is_null()) continue;
    if (!list->is_array())
      return fail(ErrorCode::Invalid, fmt::format("{}: must be a list of strings", key));
    for (const auto& item : list->get_array()) {
      if (!item.is_string())
        return fail(ErrorCode::Invalid, fmt::format("{}: must be a list of strings", key));
      into->emplace_back(item.get_string());
    }
  }
  return options;
}

class RequestGuard::Admitted final : public Caller {
 public:
  // request: its credentials are kept.
  Admitted(RequestGuard& guard, User user, const net::ServerRequest& request)
      : guard_(guard),
        user_(std::move(user)),
        identity_(identityOf(user_)),
        token_(request.peer ? std::string() : bearerToken(request.headers).value_or("")) {
    credentials_.headers = request.headers;
    credentials_.peer = request.peer;
    credentials_.peerProblem = request.peerProblem;
  }
  const std::string& name() const override { return user_.name; }
  const std::string& identity() const override { return identity_; }
  const std::string& token() const override { return token_; }
  Task<Result<>> stillValid() const override {
    auto authenticating = guard_.authenticate(credentials_, false);
    const auto user = co_await authenticating;
    if (!user) co_return fail(Error(user.error()));
    if (identityOf(*user) != identity_)
      co_return fail(ErrorCode::Unauthorized, "the credentials belong to another user now");
    co_return Result<>();
  }
  Task<Result<bool>> may(ResourceAccess access) const override {
    json::object attributes{{"verb", access.verb}};
    const auto add = [&](const char* key, const std::string& value) {
      if (!value.empty()) attributes.emplace(key, value);
    };
    add("group", access.group);
    add("resource", access.resource);
    add("subresource", access.subresource);
    add("namespace", access.namespace_);
    add("name", access.name);
    return guard_.decide(user_, "resourceAttributes", std::move(attributes));
  }

 private:
  static std::string identityOf(const User& user) {
    return toJson(json::object{{"name", user.name},
                               {"uid", user.uid},
                               {"groups", listOf(user.groups)},
                               {"extra", user.extra}});
  }

  RequestGuard& guard_;
  const User user_;
  const std::string identity_;
  const std::string token_;
  net::ServerRequest credentials_;
};

RequestGuard::RequestGuard(Executor& executor, Api* authentication, Api* authorization,
                           GuardOptions options)
    : executor_(executor),
      authentication_(authentication),
      authorization_(authorization),
      options_(std::move(options)),
      users_(kMaxCachedAnswers),
      decisions_(kMaxCachedAnswers) {}

net::HttpServer::Handler RequestGuard::around(net::HttpServer::Handler handler) {
  return around(CallerHandler([handler = std::move(handler)](net::ServerRequest request,
                                                             std::shared_ptr<net::Responder> to,
                                                             const std::shared_ptr<const Caller>&) {
    handler(std::move(request), std::move(to));
  }));
}

net::HttpServer::Handler RequestGuard::around(CallerHandler handler) {
  return [this, handler = std::move(handler)](net::ServerRequest request,
                                              std::shared_ptr<net::Responder> responder) {
    const std::string what = request.method + " " + request.target;
    tasks_.spawn(net::runHandler(what, responder, handle(handler, std::move(request), responder)));
  };
}

Task<void> RequestGuard::handle(CallerHandler handler, net::ServerRequest request,
                                std::shared_ptr<net::Responder> responder) {
  auto authenticating = authenticate(request, true);
  const Result<User> user = co_await authenticating;
  if (!user) {
    log::v(2, "unable to authenticate a request of {}: {}", request.remote, user.error().message);
    if (options_.unavailableIs503 && user.error().code != ErrorCode::Unauthorized)
      co_return refuse(*responder, 503, "ServiceUnavailable",
                       "your token cannot be checked: " + user.error().message);
    co_return refuse(*responder, 401, "Unauthorized", "Unauthorized");
  }
  // As the handler will understand it.
  const auto target = net::parseTarget(request.target);
  if (!target) co_return refuse(*responder, 400, "BadRequest", target.error().message);
  const std::string& path = target->path;
  const std::string verb = lowered(request.method);
  auto authorizing = authorize(*user, verb, path);
  const Result<bool> allowed = co_await authorizing;
  if (!allowed) {
    co_return responder->respond(
        500, {{"Content-Type", "text/plain; charset=utf-8"}, {"X-Content-Type-Options", "nosniff"}},
        fmt::format("Internal Server Error: \"{}\": {}\n", path, allowed.error().message));
  }
  if (!*allowed) {
    co_return refuse(
        *responder, 403, "Forbidden",
        fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"", user->name, verb, path));
  }
  auto caller = std::make_shared<const Admitted>(*this, *user, request);
  handler(std::move(request), std::move(responder), std::move(caller));
}

Task<Result<RequestGuard::User>> RequestGuard::authenticate(const net::ServerRequest& request,
                                                            bool takesKnown) {
  if (!request.peerProblem.empty())
    co_return fail(ErrorCode::Unauthorized, "the client's certificate: " + request.peerProblem);
  if (request.peer && request.peer->validUntil < executor_.wallNow())
    co_return fail(ErrorCode::Unauthorized, "the client's certificate has expired");
  auto viaProxy = proxied(request);
  if (viaProxy && *viaProxy) co_return **std::move(viaProxy);
  if (request.peer && !request.peer->commonName.empty() &&
      isClientCertificate(*request.peer, options_)) {
    User user{request.peer->commonName, {}, request.peer->organizations, {}};
    user.groups.emplace_back("system:authenticated");
    co_return user;
  }
  auto token = bearerToken(request.headers);
  if (!token || !authentication_) {
    if (!viaProxy) co_return fail(std::move(viaProxy.error()));
    if (request.peer) co_return fail(ErrorCode::Unauthorized, "the certificate has no common name");
    co_return User{"system:anonymous", {}, {"system:unauthenticated"}, {}};
  }
  if (const auto* known = users_.find(*token);
      takesKnown && known && known->until > executor_.steadyNow())
    co_return known->value;
  auto reviewing = review(*std::move(token));
  auto reviewed = co_await reviewing;
  co_return std::move(reviewed);
}

void RequestGuard::setAuthorities(std::vector<std::string> clients, RequestHeaderOptions proxies) {
  options_.clientAuthorities = std::move(clients);
  options_.requestHeaders = std::move(proxies);
}

Result<std::optional<RequestGuard::User>> RequestGuard::proxied(
    const net::ServerRequest& request) const {
  const RequestHeaderOptions& options = options_.requestHeaders;
  if (!request.peer || !contains(options.authorities, request.peer->authority)) return std::nullopt;
  if (!options.allowedNames.empty() && !contains(options.allowedNames, request.peer->commonName))
    return fail(ErrorCode::Unauthorized,
                fmt::format("x509: subject with cn={} is not in the allowed list",
                            request.peer->commonName));
  const auto names = firstOf(options.usernameHeaders, request.headers);
  if (names.empty()) return std::nullopt;
  User user;
  user.name = names.front();
  if (const auto uids = firstOf(options.uidHeaders, request.headers); !uids.empty())
    user.uid = uids.front();
  for (const auto& header : options.groupHeaders)
    std::ranges::move(firstOf({header}, request.headers), std::back_inserter(user.groups));
  if (user.name != "system:anonymous" && !contains(user.groups, "system:authenticated"))
    user.groups.emplace_back("system:authenticated");
  user.extra = extrasOf(options.extraPrefixes, request.headers);
  return user;
}

Task<Result<RequestGuard::User>> RequestGuard::review(std::string token) {
  auto asking =
      createObject(*authentication_, kTokenReview, {}, objectOf(kTokenReview, {{"token", token}}));
  const Result<json::value> review = co_await asking;
  if (!review) co_return fail(review.error());
  const json::value* authenticated = at(*review, "status", "authenticated");
  if (!authenticated || !authenticated->is_bool() || !authenticated->get_bool()) {
    users_.erase(token);
    const std::string_view error = textAt(*review, "status", "error");
    co_return fail(ErrorCode::Unauthorized, error.empty() ? "unknown token" : std::string(error));
  }
  User user;
  user.name = textAt(*review, "status", "user", "username");
  user.uid = textAt(*review, "status", "user", "uid");
  if (const auto* groups = at(*review, "status", "user", "groups"); groups && groups->is_array())
    for (const auto& group : groups->get_array())
      if (group.is_string()) user.groups.emplace_back(group.get_string());
  if (std::ranges::find(user.groups, "system:authenticated") == user.groups.end())
    user.groups.emplace_back("system:authenticated");
  if (const auto* extra = at(*review, "status", "user", "extra")) user.extra = *extra;
  if (token.size() <= kMaxCachedBytes)
    users_.at(token, {}) = {user, executor_.steadyNow() + options_.tokenTtl};
  co_return user;
}

Task<Result<bool>> RequestGuard::authorize(const User& user, std::string verb, std::string path) {
  if (alwaysAllowed(path)) co_return true;
  auto deciding =
      decide(user, "nonResourceAttributes", json::object{{"path", path}, {"verb", verb}});
  auto decided = co_await deciding;
  co_return decided;
}

Task<Result<bool>> RequestGuard::decide(const User& user, const char* kind,
                                        json::object attributes) {
  if (std::ranges::find(user.groups, "system:masters") != user.groups.end()) co_return true;
  if (!authorization_) co_return false;
  json::object spec{
      {"user", user.name}, {"groups", listOf(user.groups)}, {kind, std::move(attributes)}};
  if (!user.uid.empty()) spec.emplace("uid", user.uid);
  if (user.extra.is_object()) spec.emplace("extra", user.extra);
  const std::string question = toJson(spec);
  if (const auto* known = decisions_.find(question); known && known->until > executor_.steadyNow())
    co_return known->value;
  auto asking =
      createObject(*authorization_, kAccessReview, {}, objectOf(kAccessReview, std::move(spec)));
  const Result<json::value> review = co_await asking;
  if (!review) co_return fail(review.error());
  const json::value* answer = at(*review, "status", "allowed");
  const bool allowed = answer && answer->is_bool() && answer->get_bool();
  if (question.size() <= kMaxCachedBytes)
    decisions_.at(question, {}) = {
        allowed, executor_.steadyNow() + (allowed ? options_.grantTtl : options_.refusalTtl)};
  co_return allowed;
}

bool RequestGuard::alwaysAllowed(std::string_view path) const {
  return std::ranges::any_of(options_.alwaysAllowPaths, [&](std::string_view allowed) {
    if (allowed.ends_with('*')) return path.starts_with(allowed.substr(0, allowed.size() - 1));
    return path == allowed;
  });
}

}  // namespace koord::kube
