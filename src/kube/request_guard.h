#pragma once

// RequestGuard: who may ask an HTTPS endpoint of a component, as every Kubernetes component has it.
// Clients are who their certificate or their bearer token says, else system:anonymous; what they
// may is asked of the API server (TokenReview, SubjectAccessReview), and answers hold for some
// seconds. Answers 401 and 403 with a Status object in place of the guarded handler.
//
// A front proxy (Kubernetes' aggregation layer) has authenticated the client itself and says in
// headers who that is. It is believed when its certificate comes from the proxies' authority.
//
// On one executor; must outlive the server that it guards.

#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"
#include "base/bounded_map.h"
#include "base/json.h"
#include "kube/api.h"
#include "net/http_server.h"

namespace koord::kube {

struct RequestHeaderOptions {
  // Fingerprints (net/tls.h) of the proxies' authorities; none = headers mean nothing.
  std::vector<std::string> authorities;
  std::vector<std::string> allowedNames;                      // common names of proxies; none = any
  std::vector<std::string> usernameHeaders{"x-remote-user"};  // the first that is there
  std::vector<std::string> uidHeaders;
  std::vector<std::string> groupHeaders{"x-remote-group"};
  std::vector<std::string> extraPrefixes{"x-remote-extra-"};
};

// What the ConfigMap extension-apiserver-authentication says of them, without the authorities.
Result<RequestHeaderOptions> readRequestHeaders(const api::StringMap& data);

struct GuardOptions {
  // Without authorization: paths, or their beginnings when they end in "*".
  std::vector<std::string> alwaysAllowPaths{"/healthz", "/readyz", "/livez"};
  Duration tokensHold = std::chrono::seconds(10);
  Duration grantsHold = std::chrono::seconds(10);
  Duration refusalsHold = std::chrono::seconds(10);
  RequestHeaderOptions requestHeaders;
  // Fingerprints of the authorities whose certificates say who the client itself is; none = all
  // that the server accepts.
  std::vector<std::string> clientAuthorities;
};

class RequestGuard {
 public:
  // authentication: nullptr = tokens mean nothing. authorization: nullptr = nobody may anything
  // beyond the paths above, but for the group system:masters.
  RequestGuard(Executor& executor, Api* authentication, Api* authorization, GuardOptions options);

  net::HttpServer::Handler around(net::HttpServer::Handler handler);

  // From the next request on.
  void setAuthorities(std::vector<std::string> clients, RequestHeaderOptions proxies);

 private:
  struct User {
    std::string name;
    std::string uid;
    std::vector<std::string> groups;
    json::value extra;  // of a TokenReview or a front proxy; null = none
  };
  template <class T>
  struct Remembered {
    T value{};
    SteadyTime until{};
  };

  Task<void> handle(net::HttpServer::Handler handler, net::ServerRequest request,
                    std::shared_ptr<net::Responder> responder);
  // Who it is; an error is the reason why the credentials are refused.
  Task<Result<User>> authenticate(const net::ServerRequest& request);
  // As a front proxy says; nullopt = it says nothing.
  Result<std::optional<User>> proxied(const net::ServerRequest& request) const;
  Task<Result<User>> review(std::string token);
  Task<Result<bool>> authorize(const User& user, std::string verb, std::string path);
  bool alwaysAllowed(std::string_view path) const;

  Executor& executor_;
  Api* authentication_;
  Api* authorization_;
  GuardOptions options_;
  BoundedMap<std::string, Remembered<User>> users_;      // by token
  BoundedMap<std::string, Remembered<bool>> decisions_;  // by user, verb and path
  TaskGroup tasks_;
};

}  // namespace koord::kube
