#include "apiserver/webhook_caller.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/time.h"
#include "base/utf8.h"
#include "kube/request_lane.h"
#include "net/http_transport.h"

namespace koord::apiserver {
namespace {

// Calls in flight to one webhook. A burst of writes would otherwise open a connection for each of
// them, and a handshake costs more than many calls.
constexpr std::size_t kAtOnce = 64;

// The calls to one service, or one URL.
using LanePtr = std::shared_ptr<kube::RequestLane>;
using Lanes = std::map<std::string, LanePtr, std::less<>>;

// Waits for a place in the lane, then calls. The wait counts for the timeout: a webhook that hangs
// delays each of thousands of writes by its timeout, not by a multiple of it.
Task<Result<std::string>> post(net::HttpTransport* client, Executor* executor, LanePtr lane,
                               Result<net::HttpRequest> request) {
  if (!request) co_return fail(std::move(request.error()));
  const std::string url = request->url;
  const Duration timeout = request->timeout;
  const SteadyTime begun = executor->steadyNow();
  kube::RequestLane::Place place(*lane);
  co_await place;
  request->timeout =
      std::chrono::floor<std::chrono::milliseconds>(timeout - (executor->steadyNow() - begun));
  if (request->timeout <= std::chrono::milliseconds::zero())
    co_return fail(ErrorCode::Timeout,
                   fmt::format("POST {}: {} earlier calls did not end within the timeout of {}",
                               url, kAtOnce, formatDuration(timeout)));
  auto fetching = client->fetch(*executor, *std::move(request));
  auto response = co_await fetching;
  if (!response) co_return fail(std::move(response.error()));
  if (response->status != 200)
    co_return fail(ErrorCode::Unavailable,
                   fmt::format("POST {}: the response has status {}: {}", url, response->status,
                               shortened(response->body, 200)));
  co_return std::move(response->body);
}

Result<net::HttpRequest> prepare(const ServiceResolver& resolver, WebhookRequest in) {
  net::HttpRequest out;
  out.method = "POST";
  auto tls = std::make_shared<net::TlsConfig>();
  tls->caPem = in.caPem;
  out.url = in.url;
  if (out.url.empty()) {
    if (!resolver)
      return fail(ErrorCode::Unavailable, fmt::format("this server cannot reach service {}/{}",
                                                      in.service.namespace_, in.service.name));
    auto origin = resolver(in.service);
    if (!origin) return fail(std::move(origin.error()));
    out.url = *origin + (in.service.path.starts_with('/') ? "" : "/") + in.service.path;
    tls->serverName = fmt::format("{}.{}.svc", in.service.name, in.service.namespace_);
  }
  out.url += out.url.find('?') == std::string::npos ? '?' : '&';
  out.url += fmt::format("timeout={}s", in.timeout.count() / 1000);
  out.tls = std::move(tls);
  // With HTTP/2 libcurl looks at all running calls whenever one moves. Calls are short, so a
  // connection carries one after the other.
  out.http2 = false;
  out.timeout = in.timeout;
  out.body = std::move(in.body);
  out.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  out.maxResponseBytes = 8 << 20;
  return out;
}

}  // namespace

WebhookCaller makeWebhookCaller(net::HttpTransport& client, Executor& executor,
                                ServiceResolver resolver) {
  return [client = &client, executor = &executor, resolver = std::move(resolver),
          lanes = std::make_shared<Lanes>()](WebhookRequest request) {
    const auto& service = request.service;
    auto name = request.url.empty() ? service.namespace_ + "/" + service.name : request.url;
    LanePtr& lane = (*lanes)[std::move(name)];
    if (!lane)
      lane = std::make_shared<kube::RequestLane>(*executor, kube::RateLimit(0, 1), kAtOnce);
    return post(client, executor, lane, prepare(resolver, std::move(request)));
  };
}

}  // namespace koord::apiserver
