#include "kube/http_api.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/log.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "net/url.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

// Servers end a watch within the ten minutes that reflectors ask for; one that is silent for longer hangs
// on a connection that is dead without knowing it.
constexpr auto kIdleWatch = 11min;

std::string methodOf(Verb verb) {
  switch (verb) {
    case Verb::Get:
    case Verb::List:
    case Verb::Watch:
      return "GET";
    case Verb::Create:
      return "POST";
    case Verb::Update:
      return "PUT";
    case Verb::Patch:
      return "PATCH";
    case Verb::Delete:
    case Verb::DeleteCollection:
      return "DELETE";
  }
  return "GET";
}

// What a reply with a status of 400 or more means. The body is a Status object, or text from a proxy.
Error errorOf(const std::string& what, int status, const net::Headers& headers, std::string_view body) {
  Error error;
  if (const auto parsed = api::decodeText<api::Status>(body); parsed && parsed->status == "Failure") {
    error.code = codeOfReason(parsed->reason, status);
    error.message = parsed->message;
    if (parsed->details && parsed->details->retryAfterSeconds > 0)
      error.retryAfter = std::chrono::seconds(parsed->details->retryAfterSeconds);
  } else {
    error.code = codeOfHttpStatus(status);
    error.message = fmt::format("{}: HTTP {}: {}", what, status, body.substr(0, 200));
  }
  // A header wins: it is what a proxy or priority-and-fairness asks for.
  const std::string_view after = net::headerOf(headers, "Retry-After");
  int seconds = 0;
  for (const char digit : after.substr(0, 6)) {
    if (digit < '0' || digit > '9') break;
    seconds = seconds * 10 + (digit - '0');
  }
  if (seconds > 0) error.retryAfter = std::chrono::seconds(seconds);
  return error;
}

// client-go's token bucket: `burst` at once, then `qps` a second.
class RateLimit {
 public:
  RateLimit(double qps, int burst) : qps_(qps), burst_(std::max(burst, 1)), tokens_(burst_) {}

  // How long the next request has to wait; it counts as made.
  Duration reserve(SteadyTime now) {
    if (qps_ <= 0) return Duration::zero();
    const double passed = std::chrono::duration<double>(now - refilled_).count();
    tokens_ = std::min<double>(burst_, tokens_ + passed * qps_) - 1;
    refilled_ = now;
    if (tokens_ >= 0) return Duration::zero();
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens_ / qps_));
  }

 private:
  double qps_;
  int burst_;
  double tokens_;
  SteadyTime refilled_{};
};

}  // namespace

class HttpApi::Impl {
 public:
  Impl(net::HttpClient& client, Executor& executor, ClientConfig config, HttpApiOptions options)
      : client(client), executor(executor), config(std::move(config)), options(std::move(options)),
        limit(this->options.qps, this->options.burst) {}

  net::HttpClient& client;
  Executor& executor;
  const ClientConfig config;
  const HttpApiOptions options;
  RateLimit limit;

  // A request with everything but the method and the body; fails when no token can be had.
  Task<Result<net::HttpRequest>> prepare(std::string path) {
    net::HttpRequest http;
    http.url = config.server + path;
    http.tls = config.tls;
    http.proxy = config.proxyUrl;
    http.headers.push_back({"User-Agent", options.userAgent});
    http.headers.push_back({"Accept", "application/json"});
    if (config.token) {
      auto asking = config.token->token(executor);
      auto token = co_await asking;
      if (!token) co_return fail(std::move(token.error()));
      http.headers.push_back({"Authorization", "Bearer " + *token});
    } else if (!config.basicUser.empty()) {
      http.headers.push_back(
          {"Authorization", "Basic " + net::base64Encode(config.basicUser + ":" + config.basicPassword)});
    }
    if (!config.impersonate.user.empty()) {
      http.headers.push_back({"Impersonate-User", config.impersonate.user});
      if (!config.impersonate.uid.empty())
        http.headers.push_back({"Impersonate-Uid", config.impersonate.uid});
      for (const auto& group : config.impersonate.groups)
        http.headers.push_back({"Impersonate-Group", group});
    }
    co_return http;
  }

  // Sends, and sends again what the server put off (429) or refused for its token (401, once).
  Task<Result<std::string>> send(std::string method, std::string path, std::string contentType,
                                 std::string body) {
    const std::string what = method + " " + path;
    bool tokenRenewed = false;
    for (int attempt = 0;; ++attempt) {
      if (const Duration wait = limit.reserve(executor.steadyNow()); wait > Duration::zero()) {
        auto pause = sleepFor(executor, wait);
        co_await pause;
      }
      auto preparing = prepare(path);
      auto http = co_await preparing;
      if (!http) co_return fail(std::move(http.error()));
      http->method = method;
      http->timeout = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout);
      if (!body.empty()) {
        http->headers.push_back({"Content-Type", contentType});
        http->body = body;
      }
      auto fetching = client.fetch(executor, *std::move(http));
      auto reply = co_await fetching;
      if (!reply) co_return fail(std::move(reply.error()));
      if (reply->status < 400) co_return std::move(reply->body);
      Error error = errorOf(what, reply->status, reply->headers, reply->body);
      if (reply->status == 401 && config.token && !tokenRenewed) {
        tokenRenewed = true;
        config.token->refused();
        continue;
      }
      const bool askedToWait = error.retryAfter.count() > 0 &&
                               (reply->status == 429 || reply->status == 503) &&
                               attempt < options.retries429;
      // An eviction that a budget forbids is the caller's to repeat.
      if (!askedToWait || path.ends_with("/eviction")) co_return fail(std::move(error));
      log::v(3, "{}: asked to wait for {} ms", what, error.retryAfter.count());
      auto pause = sleepFor(executor, error.retryAfter);
      co_await pause;
    }
  }
};

namespace {

// One watch: starts the stream once there is a token, cuts what arrives into lines.
class HttpWatch final : public Watch {
 public:
  using Prepare = std::function<Task<Result<net::HttpRequest>>()>;

  HttpWatch(net::HttpClient& client, Executor& executor, std::string what, Prepare prepare, WatchSink sink)
      : client_(client), executor_(executor), what_(std::move(what)), prepare_(std::move(prepare)),
        sink_(std::move(sink)) {
    tasks_.spawn(open());
  }

 private:
  Task<void> open() {
    // The caller does not have the Watch yet: nothing may be reported before it does.
    auto yield = sleepFor(executor_, 0ns);
    co_await yield;
    auto preparing = prepare_();
    auto request = co_await preparing;
    if (!request) {
      // Not from inside this task: the Watch may be destroyed by what it is told.
      const std::weak_ptr<bool> alive = alive_;
      executor_.post([this, alive, error = std::move(request.error())]() mutable {
        if (!alive.expired()) close(std::move(error));
      });
      co_return;
    }
    request->http2 = false;
    request->timeout = 0ms;
    request->idleTimeout = kIdleWatch;
    stream_ = client_.stream(executor_, *std::move(request),
                             {.onHead = [this](net::HttpResponse head) { onHead(std::move(head)); },
                              .onChunk = [this](std::string chunk) { onChunk(std::move(chunk)); },
                              .onClosed = [this](Result<> end) { onClosed(std::move(end)); }});
  }

  void onHead(net::HttpResponse head) { head_ = std::move(head); }

  void onChunk(std::string chunk) {
    if (head_.status >= 400) {
      if (rest_.size() < (64 << 10)) rest_ += chunk;
      return;
    }
    std::string_view text = chunk;
    const std::weak_ptr<bool> alive = alive_;  // a callback may destroy this object
    for (;;) {
      const auto newline = text.find('\n');
      if (newline == std::string_view::npos) break;
      std::string_view line = text.substr(0, newline);
      text.remove_prefix(newline + 1);
      std::string whole;
      if (!rest_.empty()) {
        rest_ += line;
        whole = std::exchange(rest_, {});
        line = whole;
      }
      if (!line.empty()) sink_.onEvent(line);
      if (alive.expired()) return;
    }
    rest_ += text;
  }

  void onClosed(Result<> end) {
    if (head_.status >= 400) return close(errorOf(what_, head_.status, head_.headers, rest_));
    if (!end) return close(std::move(end.error()));
    close({});
  }

  void close(Error error) {
    const auto onClosed = sink_.onClosed;  // it may destroy this object
    onClosed(std::move(error));
  }

  net::HttpClient& client_;
  Executor& executor_;
  std::string what_;
  Prepare prepare_;
  WatchSink sink_;
  net::HttpResponse head_;
  std::string rest_;  // of a line whose end has not come; or the body of an error
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<net::Stream> stream_;
  TaskGroup tasks_;
};

}  // namespace

std::string pathOf(const Request& request) {
  std::string path = request.group.empty() ? "/api/" + request.version
                                           : "/apis/" + request.group + "/" + request.version;
  if (!request.namespace_.empty()) path += "/namespaces/" + net::percentEncode(request.namespace_);
  path += "/" + request.resource;
  if (!request.name.empty()) path += "/" + net::percentEncode(request.name);
  if (!request.subresource.empty()) path += "/" + request.subresource;
  net::QueryParams query(request.query.begin(), request.query.end());
  if (request.verb == Verb::Watch) query.emplace_back("watch", "true");
  if (!query.empty()) path += "?" + net::encodeQuery(query);
  return path;
}

HttpApi::HttpApi(net::HttpClient& client, Executor& executor, ClientConfig config, HttpApiOptions options)
    : impl_(std::make_shared<Impl>(client, executor, std::move(config), std::move(options))) {}

HttpApi::~HttpApi() = default;

Task<Result<std::string>> HttpApi::call(Request request) {
  std::string type(request.verb == Verb::Patch ? contentTypeOf(request.patchType) : "application/json");
  return impl_->send(methodOf(request.verb), pathOf(request), std::move(type), std::move(request.body));
}

Task<Result<std::string>> HttpApi::getPath(std::string path) {
  return impl_->send("GET", std::move(path), {}, {});
}

std::unique_ptr<Watch> HttpApi::watch(Request request, WatchSink sink) {
  request.verb = Verb::Watch;
  std::string path = pathOf(request);
  std::string what = "watch " + path;
  auto impl = impl_;
  return std::make_unique<HttpWatch>(
      impl_->client, impl_->executor, std::move(what),
      [impl, path = std::move(path)] { return impl->prepare(path); }, std::move(sink));
}

}  // namespace koord::kube
