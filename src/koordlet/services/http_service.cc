#include "koordlet/services/http_service.h"

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
  router->add("", "/", [](const net::RoutedRequest&, const ResponderPtr& to) {
    net::sendText(*to, 404,
                  "not found; there are /metrics, /internal-metrics, /external-metrics, /healthz, "
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
