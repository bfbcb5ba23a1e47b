#pragma once

// RequestGuard: authentication and authorization for the HTTPS endpoint of a component, as in every
// Kubernetes component. The client's identity is that of its certificate or bearer token, else
// system:anonymous. The API server decides what the client may do (TokenReview,
// SubjectAccessReview); decisions are cached for some seconds. Refused requests get 401 or 403 with
// a Status object.
//
// A front proxy (Kubernetes' aggregation layer) authenticates the client itself and names it in
// headers. The headers count only if the proxy's certificate comes from the proxies' authority.
//
// On one executor; must outlive the server that it guards.

#include <functional>
#include <memory>
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
  // Fingerprints (net/tls.h) of the proxies' authorities; empty = headers are ignored.
  std::vector<std::string> authorities;
  std::vector<std::string> allowedNames;  // common names of proxies; empty = any
  std::vector<std::string> usernameHeaders{"x-remote-user"};  // the first header that a request has
  std::vector<std::string> uidHeaders;
  std::vector<std::string> groupHeaders{"x-remote-group"};
  std::vector<std::string> extraPrefixes{"x-remote-extra-"};
};

// What the ConfigMap extension-apiserver-authentication says about front proxies, without the
// authorities.
Result<RequestHeaderOptions> readRequestHeaders(const api::StringMap& data);

struct GuardOptions {
  // Paths that need no authorization; a trailing "*" matches every continuation.
  std::vector<std::string> alwaysAllowPaths{"/healthz", "/readyz", "/livez"};
  Duration tokenTtl = std::chrono::seconds(10);
  Duration grantTtl = std::chrono::seconds(10);
  Duration refusalTtl = std::chrono::seconds(10);
  RequestHeaderOptions requestHeaders;
  // True: 503 with the reason if the cluster cannot say whose token it is. False: 401, as in every
  // Kubernetes component, which tells a client that the token is not valid.
  bool unavailableIs503 = false;
  // Fingerprints of the authorities whose certificates identify the client itself; none = all that
  // the server accepts.
  std::vector<std::string> clientAuthorities;
};

// What a client wants to do with objects, as in a SubjectAccessReview.
struct ResourceAccess {
  std::string verb;
  std::string group;
  std::string resource;
  std::string subresource;
  std::string namespace_;  // "" = all namespaces, or a cluster-scoped resource
  std::string name;        // "" = all names
};

// The caller of an admitted request, for handlers that check access to objects, too.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual const std::string& name() const = 0;
  // True if the cluster allows it. Fails if the cluster cannot answer. The caller must outlive the
  // task.
  virtual Task<Result<bool>> may(ResourceAccess access) const = 0;
  // Name, uid, groups and extra as one text: equal for two requests of the same user.
  virtual const std::string& identity() const = 0;
  // The bearer token of the request, to ask other components in the name of the caller. "" = the
  // caller has a certificate, or a front proxy names it.
  virtual const std::string& token() const = 0;
  // Authenticates the credentials of the request again, for answers that last; an earlier answer
  // about them does not count. Unauthorized if they
  // are not valid, or belong to another user now. Other errors: the cluster cannot answer. The
  // caller must outlive the task.
  virtual Task<Result<>> stillValid() const = 0;
};

class RequestGuard {
 public:
  // authentication: nullptr = tokens are refused. authorization: nullptr = only the paths above are
  // allowed, except for the group system:masters.
  RequestGuard(Executor& executor, Api* authentication, Api* authorization, GuardOptions options);

  net::HttpServer::Handler around(net::HttpServer::Handler handler);
  // For handlers that must know the caller.
  using CallerHandler = std::function<void(net::ServerRequest, std::shared_ptr<net::Responder>,
                                           std::shared_ptr<const Caller>)>;
  net::HttpServer::Handler around(CallerHandler handler);

  // Applies from the next request on.
  void setAuthorities(std::vector<std::string> clients, RequestHeaderOptions proxies);

 private:
  struct User {
    std::string name;
    std::string uid;
    std::vector<std::string> groups;
    json::value extra;  // of a TokenReview or a front proxy; null = none
  };
  template <class T>
  struct CachedAnswer {
    T value{};
    SteadyTime until{};
  };

  Task<void> handle(CallerHandler handler, net::ServerRequest request,
                    std::shared_ptr<net::Responder> responder);
  // The client's identity; an error is the reason why the credentials are refused.
  // takesKnown: an answer of the last seconds counts.
  Task<Result<User>> authenticate(const net::ServerRequest& request, bool takesKnown);
  // The identity that a front proxy names; nullopt if it names none.
  Result<std::optional<User>> proxied(const net::ServerRequest& request) const;
  Task<Result<User>> review(std::string token);
  class Admitted;
  Task<Result<bool>> authorize(const User& user, std::string verb, std::string path);
  Task<Result<bool>> decide(const User& user, const char* kind, json::object attributes);
  bool alwaysAllowed(std::string_view path) const;

  Executor& executor_;
  Api* authentication_;
  Api* authorization_;
  GuardOptions options_;
  BoundedMap<std::string, CachedAnswer<User>> users_;      // by token
  BoundedMap<std::string, CachedAnswer<bool>> decisions_;  // by user, verb and path
  TaskGroup tasks_;
};

}  // namespace koord::kube
