#include "apiserver/webhook_caller.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "net/http_client.h"

namespace koord::apiserver {
namespace {

Task<Result<std::string>> post(net::HttpClient* client, Executor* executor,
                               Result<net::HttpRequest> request) {
  if (!request) co_return fail(std::move(request.error()));
  const std::string url = request->url;
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
  out.timeout = in.timeout;
  out.body = std::move(in.body);
  out.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  out.maxResponseBytes = 8 << 20;
  return out;
}

}  // namespace

WebhookCaller makeWebhookCaller(net::HttpClient& client, Executor& executor,
                                ServiceResolver resolver) {
  return [client = &client, executor = &executor,
          resolver = std::move(resolver)](WebhookRequest request) {
    return post(client, executor, prepare(resolver, std::move(request)));
  };
}

}  // namespace koord::apiserver
