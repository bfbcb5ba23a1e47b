#include "net/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>

#include "base/log.h"
#include "base/utf8.h"

namespace koord::net {
namespace {

constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

using ResponderPtr = std::shared_ptr<Responder>;

// The results of the checks so far, by endpoint and name.
class HealthRecord {
 public:
  void add(const std::string& endpoint, const std::string& check, bool good) {
    Outcome& outcome = outcomes_[{endpoint, check}];
    outcome.good = good;
    ++(good ? outcome.successes : outcome.errors);
  }

  std::string text() const {
    std::string last =
        "# HELP kubernetes_healthcheck [STABLE] Result of the last run of a health check: 1 = "
        "passed, 0 = failed\n# TYPE kubernetes_healthcheck gauge\n";
    std::string total =
        "# HELP kubernetes_healthchecks_total [STABLE] Runs of a health check, by status\n# TYPE "
        "kubernetes_healthchecks_total counter\n";
    for (const auto& [key, outcome] : outcomes_) {
      const auto& [endpoint, check] = key;
      last += fmt::format("kubernetes_healthcheck{{name=\"{}\",type=\"{}\"}} {}\n", check, endpoint,
                          outcome.good ? 1 : 0);
      for (const auto& [status, count] :
           {std::pair{"error", outcome.errors}, std::pair{"success", outcome.successes}}) {
        if (count == 0) continue;
        total += fmt::format(
            "kubernetes_healthchecks_total{{name=\"{}\",status=\"{}\",type=\"{}\"}} {}\n", check,
            status, endpoint, count);
      }
    }
    return outcomes_.empty() ? std::string() : last + total;
  }

 private:
  struct Outcome {
    bool good = false;
    std::uint64_t successes = 0;
    std::uint64_t errors = 0;
  };
  std::map<std::pair<std::string, std::string>, Outcome> outcomes_;
};

// One endpoint, such as /healthz.
struct HealthEndpoint {
  std::string name;
  HealthChecks checks;
  std::shared_ptr<HealthRecord> record;

  std::string ask(const std::string& check, const HealthChecks::Check& answer) const {
    std::string wrong = answer();
    record->add(name, check, wrong.empty());
    if (!wrong.empty()) log::v(2, "{} check {} failed: {}", name, check, wrong);
    return wrong;
  }
  void send(const Target& target, Responder& responder) const;
  void sendOne(const std::string& check, Responder& responder) const;
};

// "ok" if all checks pass and the request is not verbose, else one line per check. Every client may
// ask, so the reasons of failures are withheld here.
void HealthEndpoint::send(const Target& target, Responder& responder) const {
  std::set<std::string, std::less<>> excluded;
  for (const auto& [key, value] : target.query)
    if (key == "exclude") excluded.insert(value);
  std::string lines;
  bool healthy = true;
  for (const auto& [check, answer] : checks.all()) {
    if (excluded.erase(check) > 0) {
      lines += fmt::format("[+]{} excluded: ok\n", check);
      continue;
    }
    const bool good = ask(check, answer).empty();
    healthy = healthy && good;
    lines += good ? fmt::format("[+]{} ok\n", check)
                  : fmt::format("[-]{} failed: reason withheld\n", check);
  }
  std::vector<std::string> unmatched;
  for (const auto& check : excluded) unmatched.push_back(fmt::format("\"{}\"", check));
  if (!unmatched.empty()) {
    lines += fmt::format("warn: some health checks cannot be excluded: no matches for {}\n",
                         fmt::join(unmatched, ","));
  }
  if (!healthy) return sendText(responder, 500, fmt::format("{}{} check failed\n", lines, name));
  if (!target.has("verbose")) return sendText(responder, 200, "ok");
  sendText(responder, 200, fmt::format("{}{} check passed\n", lines, name));
}

void HealthEndpoint::sendOne(const std::string& check, Responder& responder) const {
  for (const auto& [known, answer] : checks.all()) {
    if (known != check) continue;
    const std::string wrong = ask(check, answer);
    if (wrong.empty()) return sendText(responder, 200, "ok");
    return sendText(responder, 500, fmt::format("internal server error: {}\n", wrong));
  }
  sendText(responder, 404, "404 page not found\n");
}

void addHealth(Router& router, HealthEndpoint endpoint) {
  const auto shared = std::make_shared<const HealthEndpoint>(std::move(endpoint));
  router.add("", "/" + shared->name,
             [shared](const RoutedRequest& request, const ResponderPtr& to) {
               shared->send(request.target, *to);
             });
  router.add("", "/" + shared->name + "/",
             [shared](const RoutedRequest& request, const ResponderPtr& to) {
               shared->sendOne(request.rest, *to);
             });
}

// Returns true if the request may change something; otherwise it has answered.
bool mayChange(const RoutedRequest& request, const ResponderPtr& to) {
  if (isTrusted(request.request)) return true;
  sendText(*to, 403, "this setting can be changed only over TLS or from the local machine\n");
  return false;
}

void setVerbosity(const RoutedRequest& request, const ResponderPtr& to) {
  const auto answer = [&](int status, std::string text) {
    sendText(*to, status, text + "\n", "text/plain");
  };
  if (request.request.method == "GET") return answer(200, std::to_string(log::verbosity()));
  if (request.request.method != "PUT") return answer(406, "unsupported http method");
  if (!mayChange(request, to)) return;
  const std::string& body = request.request.body;
  std::uint32_t verbosity = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), verbosity);
  const bool number = error != std::errc::invalid_argument && end == body.data() + body.size();
  if (!number || error != std::errc()) {
    // In the words of Go's strconv.
    return answer(400, fmt::format("strconv.ParseUint: parsing {:?}: {}", shortened(body, 100),
                                   number ? "value out of range" : "invalid syntax"));
  }
  log::setVerbosity(static_cast<int>(std::min<std::uint32_t>(verbosity, INT_MAX)));
  answer(200, "successfully set klog.logging.verbosity to " + body);
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
  const auto record = std::make_shared<HealthRecord>();
  addHealth(router, {"healthz", std::move(endpoints.healthz), record});
  addHealth(router, {"livez", std::move(endpoints.livez), record});
  addHealth(router, {"readyz", std::move(endpoints.readyz), record});
  router.add("GET", "/metrics/slis", [record](const RoutedRequest&, const ResponderPtr& to) {
    sendText(*to, 200, record->text(), kMetricsType);
  });
  if (endpoints.metrics) {
    router.add("GET", "/metrics",
               [text = std::move(endpoints.metrics),
                page = MetricsPage{endpoints.build, std::move(endpoints.features),
                                   std::move(endpoints.disabledMetrics)}](const RoutedRequest&,
                                                                          const ResponderPtr& to) {
                 sendText(*to, 200, page.complete(text()), kMetricsType);
               });
  }
  if (endpoints.resetMetrics) {
    router.add("DELETE", "/metrics",
               [reset = std::move(endpoints.resetMetrics)](const RoutedRequest& in,
                                                           const ResponderPtr& to) {
                 if (!mayChange(in, to)) return;
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

bool isTrusted(const ServerRequest& request) {
  std::string_view from = request.remote;
  if (request.tls || from.empty() || from == "unix") return true;
  if (from.starts_with('[')) from.remove_prefix(1);
  if (from.starts_with("::ffff:")) from.remove_prefix(7);
  return from.starts_with("127.") || from.starts_with("::1]");
}

std::string listenAddress(std::string address, bool inPod) {
  if (!address.starts_with(':') || inPod) return address;
  return "127.0.0.1" + address;
}

bool runsInPod() {
  return std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
}

}  // namespace koord::net
