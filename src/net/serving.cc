#include "net/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>

#include "base/log.h"

namespace koord::net {
namespace {

constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

using ResponderPtr = std::shared_ptr<Responder>;

// "ok" when all is well and nobody wants to know more, else one line per check.
void sendHealth(const HealthChecks& checks, std::string_view endpoint, const Target& target,
                Responder& responder) {
  std::set<std::string, std::less<>> excluded;
  for (const auto& [key, value] : target.query)
    if (key == "exclude") excluded.insert(value);
  std::string lines;
  bool healthy = true;
  for (const auto& [name, check] : checks.all()) {
    if (excluded.erase(name) > 0) {
      lines += fmt::format("[+]{} excluded: ok\n", name);
      continue;
    }
    const std::string wrong = check();
    healthy = healthy && wrong.empty();
    lines += wrong.empty() ? fmt::format("[+]{} ok\n", name)
                           : fmt::format("[-]{} failed: {}\n", name, wrong);
  }
  for (const auto& name : excluded) {
    lines += fmt::format("warn: no check \"{}\" to exclude\n", name);
  }
  if (!healthy)
    return sendText(responder, 500, fmt::format("{}{} check failed\n", lines, endpoint));
  if (!target.has("verbose")) return sendText(responder, 200, "ok");
  sendText(responder, 200, fmt::format("{}{} check passed\n", lines, endpoint));
}

void sendOneCheck(const HealthChecks& checks, const std::string& name, Responder& responder) {
  for (const auto& [known, check] : checks.all()) {
    if (known != name) continue;
    const std::string wrong = check();
    if (wrong.empty()) return sendText(responder, 200, "ok");
    return sendText(responder, 500, wrong + "\n");
  }
  sendText(responder, 404, fmt::format("there is no check \"{}\"\n", name));
}

void addHealth(Router& router, const std::string& endpoint, HealthChecks checks) {
  const auto shared = std::make_shared<const HealthChecks>(std::move(checks));
  router.add("GET", "/" + endpoint,
             [shared, endpoint](const RoutedRequest& request, const ResponderPtr& to) {
               sendHealth(*shared, endpoint, request.target, *to);
             });
  router.add("GET", "/" + endpoint + "/",
             [shared](const RoutedRequest& request, const ResponderPtr& to) {
               sendOneCheck(*shared, request.rest, *to);
             });
}

// What Kubernetes components tell about their checks: 1 = good.
std::string sliText(const std::vector<std::pair<std::string, HealthChecks>>& endpoints) {
  std::string text =
      "# HELP kubernetes_healthcheck Whether a health check passes: 1, or 0\n"
      "# TYPE kubernetes_healthcheck gauge\n";
  for (const auto& [type, checks] : endpoints)
    for (const auto& [name, check] : checks.all())
      text += fmt::format("kubernetes_healthcheck{{name=\"{}\",type=\"{}\"}} {}\n", name, type,
                          check().empty() ? 1 : 0);
  return text;
}

void setVerbosity(const RoutedRequest& request, const ResponderPtr& to) {
  if (request.request.method != "PUT") return sendText(*to, 406, "unsupported http method\n");
  const std::string& body = request.request.body;
  int verbosity = -1;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), verbosity);
  if (error != std::errc() || end != body.data() + body.size() || verbosity < 0) {
    return sendText(*to, 400,
                    fmt::format("failed set klog.logging.verbosity {}: must be a number from 0\n",
                                std::string_view(body).substr(0, 100)));
  }
  log::setVerbosity(verbosity);
  sendText(*to, 200, fmt::format("successfully set klog.logging.verbosity to {}\n", verbosity));
}

json::value describe(const BuildInfo& build) {
  std::string_view version = build.version;
  if (version.starts_with('v')) version.remove_prefix(1);
  const auto dot = version.find('.');
  const auto minor = dot == version.npos ? std::string_view() : version.substr(dot + 1);
  return json::object{
      {"major", version.substr(0, dot)}, {"minor", minor.substr(0, minor.find('.'))},
      {"gitVersion", build.version},     {"gitCommit", build.commit},
      {"buildDate", build.date},         {"compiler", __VERSION__}};
}

}  // namespace

void addStandardEndpoints(Router& router, StandardEndpoints endpoints) {
  router.add("GET", "/metrics/slis",
             [all = std::vector<std::pair<std::string, HealthChecks>>{
                  {"healthz", endpoints.healthz},
                  {"livez", endpoints.livez},
                  {"readyz", endpoints.readyz}}](const RoutedRequest&, const ResponderPtr& to) {
               sendText(*to, 200, sliText(all), kMetricsType);
             });
  addHealth(router, "healthz", std::move(endpoints.healthz));
  addHealth(router, "livez", std::move(endpoints.livez));
  addHealth(router, "readyz", std::move(endpoints.readyz));
  if (endpoints.metrics) {
    router.add("GET", "/metrics",
               [text = std::move(endpoints.metrics)](const RoutedRequest&, const ResponderPtr& to) {
                 sendText(*to, 200, text(), kMetricsType);
               });
  }
  if (endpoints.resetMetrics) {
    router.add(
        "DELETE", "/metrics",
        [reset = std::move(endpoints.resetMetrics)](const RoutedRequest&, const ResponderPtr& to) {
          reset();
          sendText(*to, 200, "metrics reset\n");
        });
  }
  if (endpoints.configz) {
    router.add("GET", "/configz",
               [config = std::move(endpoints.configz)](
                   const RoutedRequest&, const ResponderPtr& to) { sendJson(*to, 200, config()); });
  }
  router.add("GET", "/version",
             [build = describe(endpoints.build)](const RoutedRequest&, const ResponderPtr& to) {
               sendJson(*to, 200, build);
             });
  if (endpoints.debugFlags) router.add("", "/debug/flags/v", setVerbosity);
}

std::string listenAddress(std::string address, bool inPod) {
  if (!address.starts_with(':') || inPod) return address;
  return "127.0.0.1" + address;
}

bool runsInPod() {
  return std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
}

}  // namespace koord::net
