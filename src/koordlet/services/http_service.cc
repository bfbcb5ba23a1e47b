#include "koordlet/services/http_service.h"

#include "koordlet/system/small_file.h"
#include "net/url.h"

namespace koord::koordlet {
namespace {

constexpr std::size_t kAuditLimit = 256;

struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

Answer jsonAnswer(const json::value& value) {
  return {200, "application/json", toJson(value) + "\n"};
}

Answer audit(const ServiceViews& views, const net::Target& target) {
  std::size_t limit = kAuditLimit;
  if (target.has("limit")) {
    const auto given = parseInt(target.param("limit"));
    if (!given || *given <= 0)
      return {400, "text/plain; charset=utf-8", "limit: must be a positive number\n"};
    limit = static_cast<std::size_t>(*given);
  }
  return jsonAnswer(views.audit(limit, target.param("cgroup")));
}

Answer answerTo(const ServiceViews& views, const net::Target& target) {
  constexpr auto kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
  if (target.path == "/metrics")
    return {200, kMetricsType, views.internalMetrics() + views.externalMetrics()};
  if (target.path == "/internal-metrics") return {200, kMetricsType, views.internalMetrics()};
  if (target.path == "/external-metrics") return {200, kMetricsType, views.externalMetrics()};
  if (target.path == "/healthz" || target.path == "/livez") return {.body = "ok"};
  if (target.path == "/readyz") {
    const std::string why = views.notReady();
    if (why.empty()) return {.body = "ok"};
    return {.status = 503, .body = why + "\n"};
  }
  if (target.path == "/apis/v1/qos") return jsonAnswer(views.qos());
  if (target.path == "/apis/v1/audit") return audit(views, target);
  return {
      .status = 404,
      .body =
          "not found; there are /metrics, /internal-metrics, /external-metrics, /healthz, /livez, "
          "/readyz, /apis/v1/qos and /apis/v1/audit\n"};
}

}  // namespace

net::HttpServer::Handler makeHandler(ServiceViews views) {
  return [views = std::move(views)](net::ServerRequest request,
                                    std::shared_ptr<net::Responder> responder) {
    Answer answer;
    const auto target = net::parseTarget(request.target);
    if (request.method != "GET" && request.method != "HEAD") {
      answer = {.status = 405, .body = "only GET is served here\n"};
    } else if (!target) {
      answer = {.status = 400, .body = target.error().message + "\n"};
    } else {
      answer = answerTo(views, *target);
    }
    responder->respond(answer.status, {{"Content-Type", answer.type}}, std::move(answer.body));
  };
}

json::object viewOf(const CpuSuppress::Status& status) {
  return {{"rounds", status.rounds},
          {"enabled", status.enabled},         {"policy", status.policy},
          {"nodeMilli", status.nodeMilli},     {"thresholdPercent", status.thresholdPercent},
          {"lsUsedMilli", status.lsUsedMilli}, {"systemUsedMilli", status.systemUsedMilli},
          {"budgetMilli", status.budgetMilli}, {"beCpuset", status.beCpuset},
          {"beQuotaUs", status.beQuotaUs},     {"reason", status.reason}};
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
