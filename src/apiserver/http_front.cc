#include "apiserver/http_front.h"

#include <fmt/format.h>

#include <set>

#include "apiserver/authn/impersonation.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/discovery.h"
#include "apiserver/health.h"
#include "apiserver/metrics.h"
#include "apiserver/openapi.h"
#include "apiserver/pod_stream.h"
#include "apiserver/protobuf_front.h"
#include "apiserver/route.h"
#include "base/ascii.h"
#include "base/log.h"
#include "net/answering.h"
#include "net/tls.h"

namespace koord::apiserver {
namespace {

using net::Responder;
using net::ServerRequest;
using ResponderPtr = std::shared_ptr<Responder>;

net::Headers headersFor(std::string_view contentType,
                        const std::vector<std::string>& warnings = {}) {
  net::Headers headers{{"Content-Type", std::string(contentType)},
                       {"Cache-Control", "no-cache, private"}};
  // As kube-apiserver: too many warnings are each cut, and the rest is dropped.
  constexpr std::size_t kMaxAll = 4 << 10, kMaxOneOfMany = 256;
  std::size_t all = 0;
  for (const auto& warning : warnings) all += warning.size();
  const bool cut = all > kMaxAll;
  all = 0;
  for (const auto& whole : warnings) {
    const std::string warning = cut ? cutText(whole, kMaxOneOfMany) : whole;
    all += warning.size();
    if (all > kMaxAll) break;
    std::string text;
    for (const char c : warning) {
      if (c == '"' || c == '\\') text += '\\';
      if (static_cast<unsigned char>(c) >= 0x20) text += c;
    }
    headers.push_back({"Warning", fmt::format("299 - \"{}\"", text)});
  }
  return headers;
}

void sendText(const ResponderPtr& responder, int status, std::string_view type, std::string text) {
  responder->respond(status, headersFor(type), std::move(text));
}

void sendReply(const ResponderPtr& responder, Reply reply) {
  auto headers = headersFor("application/json", reply.warnings);
  if (reply.error && reply.error->retryAfter.count() > 0)
    headers.push_back(
        {"Retry-After", std::to_string((reply.error->retryAfter.count() + 999) / 1000)});
  responder->respond(reply.status, std::move(headers), reply.body ? reply.body : bytesOf("{}"));
}

void sendFailure(const ResponderPtr& responder, Failure failure,
                 const kube::Request& request = {}) {
  sendReply(responder, failureReply(std::move(failure), request));
}

// How many bytes of a log may wait for its reader, and how often their number is checked.
constexpr std::size_t kLogBacklog = 4 << 20;
constexpr Duration kLogPause = std::chrono::milliseconds(50);

constexpr const char* kAnonymous = "system:anonymous";

// Discovery and OpenAPI, as JSON.
std::optional<std::string> descriptionAt(const Registry& registry, std::string_view path) {
  if (path == "/openapi/v2") return openApiV2(registry);
  if (path == "/openapi/v3") return openApiV3Index(registry);
  if (path.starts_with("/openapi/v3/")) return openApiV3(registry, path.substr(12));
  return discoveryDocument(registry, path);
}

bool isOpenToAll(std::string_view path) {
  return path == "/healthz" || path == "/livez" || path == "/readyz" || path == "/version" ||
         path.starts_with("/healthz/") || path.starts_with("/livez/") ||
         path.starts_with("/readyz/");
}

// True for requests that change stored objects.
bool isStored(const kube::Request& request) {
  using kube::Verb;
  const bool reads =
      request.verb == Verb::Get || request.verb == Verb::List || request.verb == Verb::Watch;
  return !reads && request.group != "authorization.k8s.io" &&
         request.group != "authentication.k8s.io" && request.subresource != "token";
}

}  // namespace

// Everything lives on the server's executor.
class HttpFront::Impl : public std::enable_shared_from_this<HttpFront::Impl> {
 public:
  Impl(Server& server, HttpFrontOptions options) : server_(server), options_(std::move(options)) {
    if (!options_.tokens.empty())
      server_.authenticator().setTokens(std::exchange(options_.tokens, {}));
  }

  void handle(ServerRequest request, ResponderPtr responder) {
    const auto what = request.method + " " + request.target;
    try {
      answer(std::move(request), responder);
    } catch (...) {
      sendFailure(responder, thrownFailure(what));
    }
  }

  void answer(ServerRequest request, ResponderPtr responder) {
    const auto target = net::parseTarget(request.target);
    if (!target) return sendFailure(responder, target.error());
    const std::string_view path = target->path;
    if (isOpenToAll(path)) return sendOpen(*target, responder);
    const auto connection = responder;
    responder = protobufResponder(std::move(responder), net::headerOf(request.headers, "Accept"),
                                  path, server_.registry(), server_.watchFrames());
    auto user = authenticate(request);
    AuditEvent* audited = nullptr;
    if (options_.audit) {
      auto wrapped = std::make_shared<AuditedResponder>(
          std::move(responder), server_.executor(), options_.audit,
          AuditEvent{.received = server_.executor().wallNow(),
                     .method = request.method,
                     .uri = request.target,
                     .remote = request.remote,
                     .userAgent = std::string(net::headerOf(request.headers, "User-Agent")),
                     .user = user});
      audited = &wrapped->event();
      responder = std::move(wrapped);
    }
    if (!user) return sendFailure(responder, Failure(ErrorCode::Unauthorized, "Unauthorized"));
    if (user->name != kAnonymous) connection->authenticated();
    auto other = impersonated(request.headers, *user, server_.authorizer());
    if (!other) return sendReply(responder, std::move(other.error()));
    if (*other) {
      user = **other;
      if (audited) audited->impersonated = *user;
    }

    if (auto read = readProtobuf(request); !read)
      return sendFailure(responder, std::move(read.error()));
    if (auto routed = routeCall(request, *target)) {
      if (!*routed) return sendFailure(responder, std::move(routed->error()));
      (*routed)->user = *std::move(user);
      if (options_.podStreams && isPodStream((*routed)->request))
        return streamPod(std::move(**routed), std::move(request), audited, std::move(responder));
      return handleCall(std::move(**routed), path.ends_with("/bindings"), audited,
                        std::move(responder));
    }
    handleDocument(request, *target, *user, audited, std::move(responder));
  }

  void setTokens(std::map<std::string, User, std::less<>> tokens) {
    server_.authenticator().setTokens(std::move(tokens));
  }

  const HttpFrontOptions& options() const { return options_; }

 private:
  // Verbs on resources. toBindings: a request to /bindings, which names the pod in its body.
  void handleCall(Call call, bool toBindings, AuditEvent* audited, ResponderPtr responder) {
    const auto& request = call.request;
    if (audited) {
      audited->request = request;
      audited->request->body.clear();
    }
    const bool asBindings = toBindings && request.subresource == "binding";
    if (!authorizeOrAnswer(attributesOf(call, asBindings), audited, responder)) return;
    if (options_.writesRefused && isStored(request))
      if (auto why = options_.writesRefused())
        return sendFailure(responder, *std::move(why), request);
    if (request.verb == kube::Verb::Watch) return watch(std::move(call), std::move(responder));
    if (request.resource == "pods" && request.subresource == "log" &&
        request.verb == kube::Verb::Get) {
      tasks_.spawn(net::runHandler("read a log", responder, log(this, std::move(call), responder)));
      return;
    }
    tasks_.spawn(serve(&server_, std::move(call), audited, std::move(responder)));
  }

  // Both need the permission to create the subresource; GET, as WebSockets begin, also that to get
  // it.
  void streamPod(Call call, ServerRequest request, AuditEvent* audited, ResponderPtr responder) {
    if (audited) {
      audited->request = call.request;
      audited->request->body.clear();
    }
    auto attributes = attributesOf(call, false);
    if (!authorizeOrAnswer(attributes, audited, responder)) return;
    attributes.verb = "create";
    if (call.request.verb != kube::Verb::Create &&
        !authorizeOrAnswer(attributes, audited, responder))
      return;
    if (options_.writesRefused)
      if (auto why = options_.writesRefused())
        return sendFailure(responder, *std::move(why), call.request);
    tasks_.spawn(net::runHandler("open a stream", responder,
                                 openStream(this, std::move(call), std::move(request), responder)));
  }

  static Task<void> openStream(Impl* self, Call call, ServerRequest request,
                               ResponderPtr responder) {
    const auto target = net::parseTarget(request.target);
    auto admitting =
        self->server_.admitConnect(call, streamOptions(call.request.subresource, target->query));
    auto admitted = co_await admitting;
    if (!admitted) {
      sendFailure(responder, std::move(admitted.error()), call.request);
      co_return;
    }
    if (net::headerOf(request.headers, "Upgrade").empty()) {
      sendFailure(responder, Failure(ErrorCode::BadRequest, "Upgrade request required"),
                  call.request);
      co_return;
    }
    // One reading of the query for all: what admission has seen is what happens.
    request.target = target->path + "?" + net::encodeQuery(streamQuery(*admitted));
    self->options_.podStreams(std::move(call.request), std::move(request), std::move(responder));
  }

  // All other requests: discovery, OpenAPI, metrics.
  void handleDocument(const ServerRequest& request, const net::Target& target, const User& user,
                      AuditEvent* audited, const ResponderPtr& responder) {
    const std::string verb = lowered(request.method);
    if (!authorizeOrAnswer({.user = user,
                            .verb = verb,
                            .path = target.path,
                            .group = {},
                            .resource = {},
                            .subresource = {},
                            .namespace_ = {},
                            .name = {},
                            .selectedNode = {}},
                           audited, responder))
      return;
    if (request.method != "GET" && request.method != "HEAD")
      return sendFailure(
          responder, Failure(ErrorCode::MethodNotAllowed,
                             "the server does not allow this method on the requested resource"));
    sendDocument(request, target, responder);
  }

  // After this function bodies are JSON.
  Result<> readProtobuf(ServerRequest& request) const {
    for (auto& header : request.headers) {
      if (!isProtobuf(net::headerOf({header}, "Content-Type"))) continue;
      if (!request.body.empty()) {
        auto body = jsonOfProtobuf(request.body, server_.registry());
        if (!body) return fail(std::move(body.error()));
        request.body = *std::move(body);
      }
      header.value = "application/json";
    }
    return {};
  }

  // Returns false if the request is not allowed, after sending the 403.
  bool authorizeOrAnswer(const Attributes& attributes, AuditEvent* audited,
                         const ResponderPtr& responder) {
    auto* authorizer = server_.authorizer();
    if (!authorizer) return true;
    auto decision = authorizer->authorize(attributes);
    if (!decision.allowed) sendReply(responder, forbiddenReply(attributes, decision.reason));
    if (audited) audited->decision = std::move(decision);
    return audited ? audited->decision.allowed : decision.allowed;
  }

  // nullopt if the credentials are invalid: such a client must not silently become anonymous.
  std::optional<User> authenticate(const ServerRequest& request) const {
    const auto refused = [&](std::string_view why) {
      log::warn("{} cannot be authenticated: {}", request.remote, why);
      return std::nullopt;
    };
    if (!request.peerProblem.empty()) return refused("client certificate: " + request.peerProblem);
    if (request.peer && !request.peer->commonName.empty()) {  // else it has no user
      if (request.peer->validUntil < server_.executor().wallNow())
        return refused("client certificate: it has expired");
      User user{request.peer->commonName, "", request.peer->organizations, {}};
      user.groups.emplace_back("system:authenticated");
      return user;
    }
    const auto header = net::headerOf(request.headers, "Authorization");
    constexpr std::string_view kBearer = "bearer ";
    if (lowered(header.substr(0, kBearer.size())) == kBearer) {
      auto bearer = server_.authenticator().bearerOf(header.substr(kBearer.size()));
      if (!bearer) return refused(bearer.error().message);
      return std::move(bearer->user);
    }
    if (options_.anonymous) return User{kAnonymous, "", {"system:unauthenticated"}, {}};
    return std::nullopt;
  }

  void sendOpen(const net::Target& target, const ResponderPtr& responder) {
    if (target.path == "/version")
      return sendText(responder, 200, "application/json", versionDocument());
    auto health = answerHealth(target, server_.store().failure());
    if (!health) health = HealthAnswer{404, "404 page not found\n"};
    sendText(responder, health->status, "text/plain; charset=utf-8", std::move(health->text));
  }

  // Generates a description of the API. This takes milliseconds, and the result is the same until a
  // kind is defined. nullopt if there is none.
  using Describe = std::function<std::optional<std::string>()>;
  Bytes described(const std::string& which, const Describe& describe) {
    if (describedGeneration_ != server_.registry().generation()) described_.clear();
    describedGeneration_ = server_.registry().generation();
    if (const auto known = described_.find(which); known != described_.end()) return known->second;
    auto text = describe();
    return text ? described_.emplace(which, bytesOf(*std::move(text))).first->second : nullptr;
  }

  void sendDocument(const ServerRequest& request, const net::Target& target,
                    const ResponderPtr& responder) {
    const std::string_view path = target.path;
    const auto accepts = readAccept(net::headerOf(request.headers, "Accept"));
    const bool aggregated =
        (path == "/api" || path == "/apis") && !accepts.aggregatedDiscovery.empty();
    const bool proto = path == "/openapi/v2" && accepts.openApiProto;
    const std::string type =
        aggregated
            ? fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList",
                          accepts.aggregatedDiscovery)
        : proto ? "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
                : "application/json";
    const auto document = described(fmt::format("{} {}", path, type), [&] {
      const auto& registry = server_.registry();
      return aggregated ? aggregatedDiscovery(registry, path, accepts.aggregatedDiscovery)
             : proto    ? openApiV2Proto(registry)
                        : descriptionAt(registry, path);
    });
    if (document) return responder->respond(200, headersFor(type), document);
    if (auto* accounts = server_.authenticator().accounts()) {
      if (path == "/.well-known/openid-configuration")
        return sendText(responder, 200, "application/json", accounts->discoveryDocument());
      if (path == "/openid/v1/jwks")
        return sendText(responder, 200, "application/jwk-set+json", accounts->keySet());
    }
    if (path == "/metrics")
      return sendText(responder, 200, "text/plain; version=0.0.4", metricsText(server_));
    if (path == "/")
      return sendText(
          responder, 200, "application/json",
          R"({"paths":["/.well-known/openid-configuration","/api","/api/v1","/apis","/healthz","/livez","/metrics","/openapi/v2","/openapi/v3","/openid/v1/jwks","/readyz","/version"]})");
    sendFailure(responder,
                Failure(ErrorCode::NotFound, "the server could not find the requested resource"));
  }

  // `audited` belongs to the responder.
  static Task<void> serve(Server* server, Call call, AuditEvent* audited, ResponderPtr responder) {
    auto serving = server->serve(std::move(call));
    auto reply = co_await serving;
    if (audited) audited->annotations = std::move(reply.auditAnnotations);
    sendReply(responder, std::move(reply));
  }

  static Task<void> log(Impl* self, Call call, ResponderPtr responder) {
    if (!self->options_.podLogs) {
      sendFailure(responder,
                  Failure(ErrorCode::NotFound,
                          fmt::format("this server has no logs of pod \"{}\"", call.request.name)),
                  call.request);
      co_return;
    }
    auto reading =
        self->options_.podLogs(call.request.namespace_, call.request.name, call.request.query);
    auto log = co_await reading;
    if (!log) {
      sendFailure(responder, std::move(log.error()), call.request);
      co_return;
    }
    if (!log->more) {
      sendText(responder, 200, "text/plain", std::move(log->text));
      co_return;
    }
    const auto closed = std::make_shared<bool>(false);
    responder->onClosed([closed] { *closed = true; });
    responder->begin(200, headersFor("text/plain"));
    std::optional<std::string> piece = std::move(log->text);
    while (piece && !*closed) {
      if (!piece->empty()) responder->write(std::make_shared<const std::string>(*std::move(piece)));
      // Waits for the log's reader.
      while (responder->queuedBytes() > kLogBacklog && !*closed) {
        auto pause = sleepFor(self->server_.executor(), kLogPause);
        co_await pause;
      }
      if (*closed) break;
      auto following = log->more();
      piece = co_await following;
    }
    if (!*closed) responder->end();
  }

  // A watch being sent to one connection.
  struct Running {
    std::unique_ptr<WatchStream> stream;
    ResponderPtr responder;
    bool begun = false;
    bool over = false;
  };

  void watch(Call call, ResponderPtr responder) {
    auto running = std::make_shared<Running>();
    running->responder = responder;
    const auto begin = [raw = running.get()] {
      if (raw->begun) return;
      raw->begun = true;
      raw->responder->begin(200, headersFor("application/json"));
    };
    LineSink sink;
    std::weak_ptr<Running> weak = running;
    sink.onLine = [this, weak, begin](const Bytes& line) {
      const auto running = weak.lock();
      if (!running || running->over) return;
      begin();
      if (running->responder->queuedBytes() > options_.watchBacklogBytes) {
        log::warn("closing a watch: its client is {} bytes behind",
                  running->responder->queuedBytes());
        running->responder->abort();
        close(running);
        return;
      }
      running->responder->write(line);
    };
    sink.behind = [weak]() -> std::size_t {
      const auto running = weak.lock();
      return running && !running->over ? running->responder->queuedBytes() : 0;
    };
    sink.onEnd = [this, weak, begin](Error) {
      const auto running = weak.lock();
      if (!running || running->over) return;
      begin();
      running->responder->end();
      close(running);
    };
    running_.insert(running);
    const auto request = call.request;
    auto stream = server_.watch(std::move(call), std::move(sink));
    if (!stream) {
      running_.erase(running);
      return sendFailure(responder, std::move(stream.error()), request);
    }
    running->stream = *std::move(stream);
    if (running->over) return close(running);
    begin();
    responder->onClosed([self = weak_from_this(), weak] {
      const auto impl = self.lock();
      const auto running = weak.lock();
      if (impl && running) impl->close(running);
    });
  }

  // The stream may be on the stack, so it is destroyed later.
  void close(const std::shared_ptr<Running>& running) {
    running->over = true;
    running_.erase(running);
    server_.executor().post([running]() mutable {
      running->stream.reset();
      running->responder.reset();
    });
  }

  Server& server_;
  HttpFrontOptions options_;
  std::set<std::shared_ptr<Running>> running_;
  std::map<std::string, Bytes> described_;  // by path and content type
  std::uint64_t describedGeneration_ = 0;   // of the registry that they describe
  TaskGroup tasks_;
};

HttpFront::HttpFront(Server& server, HttpFrontOptions options)
    : impl_(std::make_shared<Impl>(server, std::move(options))) {}

HttpFront::~HttpFront() {
  http_.reset();
}

Result<std::unique_ptr<HttpFront>> HttpFront::start(Server& server, HttpFrontOptions options) {
  std::unique_ptr<HttpFront> front(new HttpFront(server, std::move(options)));
  const auto& o = front->impl_->options();
  if (o.listen.empty()) return front;
  net::ServerOptions listen;
  listen.listen = o.listen;
  listen.tls = o.tls;
  listen.threads = o.threads;
  auto http =
      net::HttpServer::start(server.executor(), std::move(listen),
                             [impl = front->impl_](ServerRequest request, ResponderPtr responder) {
                               impl->handle(std::move(request), std::move(responder));
                             });
  if (!http) return fail(std::move(http.error()));
  front->http_ = *std::move(http);
  return front;
}

std::string HttpFront::address() const {
  return http_ ? http_->address() : "";
}

Task<void> HttpFront::shutdown(Duration grace) {
  if (!http_) co_return;
  auto ending = http_->shutdown(grace);
  co_await ending;
}

void HttpFront::setTokens(std::map<std::string, User, std::less<>> tokens) {
  impl_->setTokens(std::move(tokens));
}

void HttpFront::handle(ServerRequest request, ResponderPtr responder) {
  impl_->handle(std::move(request), std::move(responder));
}

}  // namespace koord::apiserver
