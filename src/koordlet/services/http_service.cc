#include "koordlet/services/http_service.h"

#include <fmt/format.h>

#include "base/split.h"
#include "koordlet/system/small_file.h"
#include "net/router.h"
#include "net/serving.h"

namespace koord::koordlet {
namespace {

constexpr std::size_t kAuditLimit = 256;

constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

using ResponderPtr = std::shared_ptr<net::Responder>;

void sendAudit(const ServiceViews& views, const net::Target& target, net::Responder& to) {
  std::size_t limit = kAuditLimit;
  if (target.has("limit")) {
    const auto given = parseInt(target.param("limit"));
    if (!given || *given <= 0) return net::sendText(to, 400, "limit: must be a positive number\n");
    limit = static_cast<std::size_t>(*given);
  }
  net::sendJson(to, 200, views.audit(limit, target.param("cgroup")));
}

// Returns true if the Accept header accepts the media type of JSON.
bool wantsJson(std::string_view accept) {
  while (!accept.empty()) {
    const auto comma = accept.find(',');
    const auto range = accept.substr(0, comma);
    if (trim(range.substr(0, range.find(';'))) == "application/json")
      return range.find("q=0") == std::string_view::npos ||
             range.find("q=0.") != std::string_view::npos;
    accept = comma == std::string_view::npos ? "" : accept.substr(comma + 1);
  }
  return false;
}

void sendEvents(const ServiceViews& views, const net::RoutedRequest& request, net::Responder& to) {
  const auto parameter = [&](const char* name) {
    return request.target.has(name) ? std::string(request.target.param(name)) : std::string();
  };
  EventPage page = views.events(parameter("size"), parameter("pageToken"));
  if (page.status != 200) return net::sendText(to, page.status, page.error + "\n");
  const std::string lines = fmt::format("{}", fmt::join(page.events, "\n"));
  if (wantsJson(net::headerOf(request.request.headers, "accept"))) {
    // The events are JSON already.
    std::string body = fmt::format(R"({{"NextPageToken":"{}","Events":[{}]}})", page.nextToken,
                                   fmt::join(page.events, ","));
    to.respond(200, {{"content-type", "application/json; charset=utf-8"}},
               std::make_shared<const std::string>(std::move(body)));
    return;
  }
  net::Headers headers{{"content-type", "text/plain; charset=utf-8"}};
  if (!page.nextToken.empty()) headers.emplace_back("next-page-token", page.nextToken);
  to.respond(200, std::move(headers),
             std::make_shared<const std::string>(lines.empty() ? "" : lines + "\n"));
}

}  // namespace

net::HttpServer::Handler makeHandler(ServiceViews given) {
  const auto router = std::make_shared<net::Router>();
  const auto views = std::make_shared<const ServiceViews>(std::move(given));
  const auto internal = [views] {
    return views->internalMetrics() + (views->clientMetrics ? views->clientMetrics() : "");
  };
  net::StandardEndpoints standard;
  standard.readyz.add("koordlet", views->notReady);
  standard.metrics = [views, internal] { return internal() + views->externalMetrics(); };
  standard.configz = views->configz;
  standard.debugFlags = true;
  addStandardEndpoints(*router, std::move(standard));

  const auto get = [&](const char* path, auto send) {
    router->add("GET", path,
                [views, send](const net::RoutedRequest& request, const ResponderPtr& to) {
                  send(*views, request.target, *to);
                });
  };
  get("/internal-metrics", [internal](const auto&, const auto&, auto& to) {
    net::sendText(to, 200, internal(), kMetricsType);
  });
  get("/external-metrics", [](const auto& views, const auto&, auto& to) {
    net::sendText(to, 200, views.externalMetrics(), kMetricsType);
  });
  get("/apis/v1/qos",
      [](const auto& views, const auto&, auto& to) { net::sendJson(to, 200, views.qos()); });
  get("/apis/v1/audit", sendAudit);
  if (views->events)
    router->add("GET", "/events",
                [views](const net::RoutedRequest& request, const ResponderPtr& to) {
                  sendEvents(*views, request, *to);
                });
  router->add("", "/", [](const net::RoutedRequest&, const ResponderPtr& to) {
    net::sendText(
        *to, 404,
        "not found; the paths are /metrics, /internal-metrics, /external-metrics, /healthz, "
        "/livez, /readyz, /configz, /version, /apis/v1/qos and /apis/v1/audit\n");
  });
  return [router](net::ServerRequest request, ResponderPtr responder) {
    router->handle(std::move(request), std::move(responder));
  };
}

json::object viewOf(const CpuSuppress::Status& status) {
  return {{"rounds", status.rounds},
          {"enabled", status.enabled},
          {"policy", status.policy},
          {"nodeMilli", status.nodeMilli},
          {"thresholdPercent", status.thresholdPercent},
          {"lsUsedMilli", status.lsUsedMilli},
          {"systemUsedMilli", status.systemUsedMilli},
          {"budgetMilli", status.budgetMilli},
          {"beCpuset", status.beCpuset},
          {"beQuotaUs", status.beQuotaUs},
          {"reason", status.reason}};
}

json::object viewOf(const MemoryEvict::Status& status) {
  return {{"enabled", status.enabled},
          {"usedPercent", status.usedPercent},
          {"thresholdPercent", status.thresholdPercent},
          {"lowerPercent", status.lowerPercent},
          {"lastEviction", status.lastEviction},
          {"reason", status.reason}};
}

}  // namespace koord::koordlet
