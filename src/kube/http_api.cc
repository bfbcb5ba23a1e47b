#include "kube/http_api.h"

#include <fmt/format.h>

#include <utility>

#include "api/names.h"
#include "base/log.h"
#include "kube/http_status.h"
#include "kube/http_watch.h"
#include "kube/request_lane.h"
#include "net/http_transport.h"
#include "net/tls.h"
#include "net/url.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

// A server that wants us to wait longer than this is not waited for.
constexpr std::chrono::seconds kMaxRetryAfter = 60s;
// Requests under way in one lane: enough to keep a server busy that takes milliseconds for each.
// Without HTTP/2 each needs a connection, which costs some 100 KiB.
constexpr std::size_t kAtOnce = 32;

std::string methodOf(Verb verb) {
  switch (verb) {
    case Verb::Create:
      return "POST";
    case Verb::Update:
      return "PUT";
    case Verb::Patch:
      return "PATCH";
    case Verb::Delete:
    case Verb::DeleteCollection:
      return "DELETE";
    case Verb::Get:
    case Verb::List:
    case Verb::Watch:
      return "GET";
  }
  return "GET";
}

bool isGood(int status) {
  return status >= 200 && status < 300;
}

constexpr std::string_view kJson = "application/json";

// For callers who can read protobuf.
std::string acceptOf(const ContentTypes& types) {
  const auto& accepted = types.accepted.empty() ? types.sent : types.accepted;
  if (!accepted.contains(api::kProtobufType)) return std::string(kJson);
  return accepted.contains(kJson) ? accepted : fmt::format("{},{}", accepted, kJson);
}

template <class T>
Task<Result<T>> refused(Error error) {
  co_return fail(std::move(error));
}

// "." and ".." would leave the path's folder: the DELETE of a pod with the name ".." would delete
// its namespace.
Result<> checkPath(const Request& request) {
  for (const auto& [what, text] :
       {std::pair{"namespace", &request.namespace_}, std::pair{"resource name", &request.name},
        std::pair{"subresource", &request.subresource}})
    if (const auto wrong = api::checkPathSegment(*text); !wrong.empty())
      return fail(ErrorCode::BadRequest,
                  fmt::format("invalid {} \"{}\": [{}]", what, *text, wrong));
  return {};
}

}  // namespace

std::string pathOf(const Request& request) {
  std::string path = request.group.empty()
                         ? "/api/" + request.version
                         : "/apis/" + net::percentEncode(request.group) + "/" + request.version;
  if (!request.namespace_.empty()) {
    path += "/namespaces/" + net::percentEncode(request.namespace_);
  }
  path += "/" + net::percentEncode(request.resource);
  if (!request.name.empty()) path += "/" + net::percentEncode(request.name);
  if (!request.subresource.empty()) path += "/" + net::percentEncode(request.subresource);
  net::QueryParams query(request.query.begin(), request.query.end());
  if (request.verb == Verb::Watch) query.emplace_back("watch", "true");
  if (!query.empty()) path += "?" + net::encodeQuery(query);
  return path;
}

class HttpApi::Impl {
 public:
  Impl(net::HttpTransport& transport, Executor& executor, ClientConfig config,
       HttpApiOptions options)
      : transport_(transport),
        executor_(executor),
        config_(std::move(config)),
        options_(std::move(options)),
        accept_(acceptOf(options_.contentTypes)),
        leases_(executor, RateLimit(options_.qps, options_.burst), kAtOnce),
        events_(executor, RateLimit(options_.qps, options_.burst), kAtOnce),
        others_(executor, RateLimit(options_.qps, options_.burst), kAtOnce) {
    if (const auto url = net::parseUrl(config_.server))
      host_ = fmt::format("{}:{}", url->host, url->port);
  }

  Executor& executor() { return executor_; }
  net::HttpTransport& transport() { return transport_; }
  const HttpApiOptions& options() const { return options_; }

  net::HttpRequest httpRequestOf(Request request) const {
    net::HttpRequest http = httpGet(pathOf(request), request.protobuf ? accept_ : kJson);
    http.method = methodOf(request.verb);
    if (!request.body.empty()) {
      const auto type = request.verb == Verb::Patch         ? contentTypeOf(request.patchType)
                        : api::isProtobufBody(request.body) ? api::kProtobufType
                                                            : kJson;
      http.headers.push_back({"Content-Type", std::string(type)});
      http.body = std::move(request.body);
    }
    return http;
  }

  net::HttpRequest httpGet(const std::string& path, std::string_view accept = kJson) const {
    net::HttpRequest http;
    http.url = config_.server + path;
    http.proxy = config_.proxyUrl;
    http.gzip = config_.gzip;
    http.timeout = std::chrono::ceil<std::chrono::milliseconds>(options_.timeout);
    http.headers = {{"User-Agent", options_.userAgent}, {"Accept", std::string(accept)}};
    if (!config_.basicUser.empty()) {
      http.headers.push_back(
          {"Authorization",
           "Basic " + net::base64Encode(config_.basicUser + ":" + config_.basicPassword)});
    }
    const auto& as = config_.impersonate;
    if (!as.user.empty()) http.headers.push_back({"Impersonate-User", as.user});
    if (!as.uid.empty()) http.headers.push_back({"Impersonate-Uid", as.uid});
    for (const auto& group : as.groups) http.headers.push_back({"Impersonate-Group", group});
    for (const auto& [key, value] : as.extra) {
      http.headers.push_back({"Impersonate-Extra-" + net::percentEncode(key), value});
    }
    return http;
  }

  // A backlog of writes must not hold up the renewal of a lease, nor events the writes: users of
  // client-go have a client for each.
  RequestLane& laneOf(const Request& request) {
    if (request.resource == "leases") return leases_;
    return request.resource == "events" ? events_ : others_;
  }
  RequestLane& others() { return others_; }

  // Waits for its turn under the limit, then adds the credentials of this moment.
  static Task<Result<net::HttpRequest>> admit(std::shared_ptr<Impl> self, RequestLane& lane,
                                              net::HttpRequest http) {
    const Duration wait = lane.reserve();
    if (wait > 1s) {
      log::v(3, "{} {} waits {} ms for the client-side rate limit", http.method, http.url,
             wait / 1ms);
    }
    if (auto& metrics = self->options_.metrics)
      metrics->rateLimited(http.method, self->host_, wait);
    if (wait > Duration::zero()) {
      auto pause = sleepFor(self->executor_, wait);
      co_await pause;
    }
    http.tls = self->config_.tls;
    if (self->config_.credentials) {
      auto asking = self->config_.credentials->credentials(self->executor_);
      auto given = co_await asking;
      if (!given) co_return fail(std::move(given.error()));
      if (!given->token.empty()) {
        http.headers.push_back({"Authorization", "Bearer " + given->token});
      }
      if (given->tls) http.tls = std::move(given->tls);
    }
    co_return std::move(http);
  }

  // waits: how often a server that says when to come back is asked again.
  static Task<Result<std::string>> send(std::shared_ptr<Impl> self, RequestLane& lane,
                                        net::HttpRequest http, int waits) {
    const std::string asked = http.method + " " + http.url;
    const std::string method = http.method;
    const bool onlyReads = method == "GET";
    bool refused = false;
    for (;;) {
      auto admission = admit(self, lane, http);
      auto admitted = co_await admission;
      if (!admitted) co_return fail(std::move(admitted.error()));
      std::optional<RequestLane::Place> place(std::in_place, lane);
      RequestLane::Place& turn = *place;
      co_await turn;
      const SteadyTime began = self->executor_.steadyNow();
      const std::size_t sent = admitted->body.size();
      auto fetching = self->transport_.fetch(self->executor_, *std::move(admitted));
      auto response = co_await fetching;
      place.reset();
      self->answered(method, response ? response->status : 0, self->executor_.steadyNow() - began);
      if (!response) co_return fail(std::move(response.error()));
      if (auto& metrics = self->options_.metrics)
        metrics->requestSized(method, self->host_, sent, response->body.size());
      log::v(6, "{} {} in {} ms", asked, response->status,
             (self->executor_.steadyNow() - began) / 1ms);
      if (isGood(response->status)) co_return self->bodyOf(*std::move(response), asked);
      if (response->status == 401 && self->config_.credentials && !refused) {
        refused = true;  // once: fresh credentials may do
        self->config_.credentials->refused();
        continue;
      }
      // 429 and 503: overloaded or starting; the request was not carried out. After other failures
      // it may have been.
      const auto after = retryAfterOf(*response);
      const bool refusedAsBusy = response->status == 429 || response->status == 503;
      const bool failedToRead = response->status >= 500 && onlyReads;
      if ((refusedAsBusy || failedToRead) && after > 0s && after <= kMaxRetryAfter && waits > 0) {
        --waits;
        if (auto& metrics = self->options_.metrics)
          metrics->requestRepeated(method, self->host_, response->status);
        auto pause = sleepFor(self->executor_, after);
        co_await pause;
        continue;
      }
      co_return fail(errorOf(*response, asked));
    }
  }

  bool takesProtobuf() const {
    return answersProtobuf_ && options_.contentTypes.sent == api::kProtobufType;
  }

  // Of a watch: its head, or that there is none.
  void watchAnswered(int status, SteadyTime began) {
    answered("GET", status, executor_.steadyNow() - began);
    if (status == 401 && config_.credentials) config_.credentials->refused();
  }

 private:
  // What the header says and what came must agree: who reads it goes by its first bytes.
  Result<std::string> bodyOf(net::HttpResponse response, const std::string& asked) {
    const auto type = net::headerOf(response.headers, "Content-Type");
    const bool protobuf = api::isProtobufBody(response.body);
    if (type.starts_with(api::kProtobufType) != protobuf && !response.body.empty())
      return fail(ErrorCode::Unavailable,
                  fmt::format("{}: the response is not valid {}", asked, type));
    answersProtobuf_ = answersProtobuf_ || protobuf;
    return std::move(response.body);
  }

  void answered(const std::string& method, int status, Duration took) {
    if (options_.metrics) options_.metrics->requestDone(method, host_, status, took);
  }

  net::HttpTransport& transport_;
  Executor& executor_;
  const ClientConfig config_;
  const HttpApiOptions options_;
  const std::string accept_;
  bool answersProtobuf_ = false;
  RequestLane leases_;
  RequestLane events_;
  RequestLane others_;
  std::string host_;  // "127.0.0.1:6443", for metrics
};

HttpApi::HttpApi(net::HttpTransport& transport, Executor& executor, ClientConfig config,
                 HttpApiOptions options)
    : impl_(std::make_shared<Impl>(transport, executor, std::move(config), std::move(options))) {}

HttpApi::~HttpApi() = default;

Task<Result<std::string>> HttpApi::call(Request request) {
  if (auto good = checkPath(request); !good) return refused<std::string>(std::move(good.error()));
  // An eviction that a budget forbids is the caller's to repeat.
  const int waits = request.subresource == "eviction" ? 0 : impl_->options().retries429;
  RequestLane& lane = impl_->laneOf(request);
  return Impl::send(impl_, lane, impl_->httpRequestOf(std::move(request)), waits);
}

bool HttpApi::takesProtobuf() const {
  return impl_->takesProtobuf();
}

Task<Result<std::string>> HttpApi::getPath(std::string path) {
  return Impl::send(impl_, impl_->others(), impl_->httpGet(path), impl_->options().retries429);
}

std::unique_ptr<Watch> HttpApi::watch(Request request, WatchSink sink) {
  request.verb = Verb::Watch;
  RequestLane& lane = impl_->laneOf(request);
  auto good = checkPath(request);
  net::HttpRequest http = impl_->httpRequestOf(std::move(request));
  const std::string asked = http.method + " " + http.url;
  return std::make_unique<HttpWatch>(
      impl_->transport(), impl_->executor(),
      good ? Impl::admit(impl_, lane, std::move(http))
           : refused<net::HttpRequest>(std::move(good.error())),
      asked, std::move(sink), [impl = impl_, began = impl_->executor().steadyNow()](int status) {
        impl->watchAnswered(status, began);
      });
}

}  // namespace koord::kube
