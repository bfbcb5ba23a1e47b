#include "scheduler/services/http_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>

#include "api/codec.h"
#include "base/flags/go_values.h"
#include "net/profiling.h"
#include "net/serving.h"
#include "net/zpages.h"
#include "scheduler/engine/run_guarded.h"
#include "scheduler/framework/services.h"
#include "scheduler/services/diagnose.h"
#include "scheduler/services/explain.h"
#include "scheduler/services/pod_resources.h"
#include "scheduler/services/what_if.h"

namespace koord::scheduler {

namespace {

using ResponderPtr = std::shared_ptr<net::Responder>;

constexpr std::string_view kServices = "/apis/v1/";
// After an answer that grows with the cluster, the plain port pauses for so many times its
// duration.
constexpr int kRestPerWork = 9;

void send(net::Responder& to, const Result<json::value>& result) {
  if (result) return net::sendJson(to, 200, *result);
  net::sendJson(to, httpStatusOf(result.error().code),
                json::object{{"message", result.error().message}});
}

constexpr const char* kDebugFlagsPage =
    "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\n"
    "flags:<br>\n<table>\n<tr>d<br>\n<tr>db<br>\n<tr>f<br>\n<tr>s<br>\n<tr>v<br>\n</table>\n<br>\n"
    "full flags configurable<br>\n</body>\n</html>\n";

// strconv.Atoi
Result<std::int64_t> parseNumber(const std::string& text) {
  std::int64_t number = 0;
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(begin, last, number);
  const bool signs = text.starts_with("+-") || text.starts_with("++");
  if (error != std::errc::invalid_argument && end == last && !signs) {
    if (error == std::errc{}) return number;
    return fail(ErrorCode::Invalid,
                fmt::format("strconv.Atoi: parsing {}: value out of range", flags::quoted(text)));
  }
  return fail(ErrorCode::Invalid,
              fmt::format("strconv.Atoi: parsing {}: invalid syntax", flags::quoted(text)));
}

}  // namespace

HttpService::HttpService(Scheduler& scheduler, Metrics& metrics, Executor& executor,
                         ServiceState state)
    : scheduler_(scheduler), metrics_(metrics), executor_(executor), state_(std::move(state)) {
  net::StandardEndpoints standard;
  if (scheduler.configuration().leaderElection.leaderElect) {
    standard.healthz.add("leaderElection", state_.unhealthy);
    standard.readyz.add("leaderElection", state_.unhealthy);
  }
  standard.readyz.add("shutdown",
                      [this] { return state_.stopping() ? "process is shutting down" : ""; });
  standard.readyz.add("sched-handler-sync",
                      [this] { return state_.synced() ? "" : "waiting for handlers to sync"; });
  standard.metrics = [this] {
    return *metricsPage_.of(executor_, [this] {
      return metrics_.text(scheduler_) + state_.auditMetrics() + state_.shadowMetrics() +
             state_.clientMetrics();
    });
  };
  standard.build = state_.page.build;
  standard.features = state_.page.features;
  standard.disabledMetrics = state_.page.disabled;
  standard.resetMetrics = [this] {
    metrics_.reset();
    state_.resetAudit();
    metricsPage_.forget();
  };
  standard.configz = [this] {
    return json::object{
        {"componentconfig", configurationDocument(scheduler_.configuration(), Secrets::LeftOut)}};
  };
  standard.debugFlags = scheduler.configuration().enableProfiling;
  addStandardEndpoints(router_, std::move(standard));
  addZPages(router_,
            {"koord-scheduler",
             state_.page.build.version,
             state_.flags,
             {"/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz",
              "/apis/v1/__services__"}},
            executor);
  // Metrics of pods; only the leader knows them reliably.
  router_.add("GET", "/metrics/resources",
              [this](const net::RoutedRequest&, const ResponderPtr& to) {
                const auto make = [this] { return podResourceMetrics(scheduler_); };
                to->respond(200,
                            {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"},
                             {"X-Content-Type-Options", "nosniff"},
                             {"Cache-Control", "no-cache, private"}},
                            state_.leading() ? podResourcesPage_.of(executor_, make)
                                             : std::make_shared<const std::string>());
              });
  if (scheduler.configuration().enableProfiling) {
    net::addProfiling(router_, executor);
    addDebugFlags();
  }
  addServices();
}

HttpService::Page::Bytes HttpService::Page::of(Executor& executor,
                                               const std::function<std::string()>& make) {
  const SteadyTime since = executor.steadyNow();
  if (text_ && since < keepUntil_) return text_;
  text_ = std::make_shared<const std::string>(make());
  const SteadyTime now = executor.steadyNow();
  keepUntil_ = now + kRestPerWork * (now - since);
  return text_;
}

void HttpService::addDebugFlags() {
  for (const char* path : {"/debug/flags", "/debug/flags/"}) {
    router_.add("GET", path, [](const net::RoutedRequest&, const ResponderPtr& to) {
      net::sendText(*to, 200, kDebugFlagsPage, "text/html; charset=utf-8");
    });
  }
  // set: sets the flag from the body, or returns an error.
  const auto add = [this](const char* flag, const char* name,
                          std::function<Result<>(const std::string& body)> set) {
    router_.add("", std::string("/debug/flags/") + flag,
                [name, set = std::move(set)](const net::RoutedRequest& in, const ResponderPtr& to) {
                  const auto answer = [&](int status, std::string text) {
                    net::sendText(*to, status, text + "\n", "text/plain");
                  };
                  if (in.request.method != "PUT") return answer(406, "unsupported http method");
                  const std::string& body = in.request.body;
                  if (const auto done = set(body); !done)
                    return answer(
                        400, fmt::format("failed set {} {}: {}", name, body, done.error().message));
                  answer(200, fmt::format("successfully set {} to {}", name, body));
                });
  };
  add("s", "debugTopNScores", [this](const std::string& body) -> Result<> {
    const auto number = parseNumber(body);
    if (!number) return fail(number.error());
    scheduler_.debug().topScores = static_cast<int>(std::clamp<std::int64_t>(*number, 0, INT_MAX));
    return {};
  });
  // Upstream answers for all three in the words of f.
  const auto addSwitch = [&](const char* flag, bool Scheduler::Debug::* value) {
    add(flag, "debugFilterFailure", [this, value](const std::string& body) -> Result<> {
      const auto on = flags::parseBool(body);
      if (!on) return fail(on.error());
      scheduler_.debug().*value = *on;
      return {};
    });
  };
  addSwitch("f", &Scheduler::Debug::filterFailures);
  addSwitch("d", &Scheduler::Debug::diagnosis);
  addSwitch("db", &Scheduler::Debug::diagnosisAtOnce);
}

net::HttpServer::Handler HttpService::handler() const {
  return [this, route = router_.handler()](net::ServerRequest request, ResponderPtr to) {
    if (request.tls) return route(std::move(request), std::move(to));
    answerPlain(route, std::move(request), std::move(to));
  };
}

bool HttpService::isOpen(std::string_view path) const {
  if (open_.contains(path)) return true;
  for (auto slash = path.rfind('/'); slash != path.npos && slash > 0;
       slash = path.rfind('/', slash - 1))
    if (open_.contains(path.substr(0, slash + 1))) return true;
  return false;
}

std::string HttpService::refusalFor(const std::string& method, const net::Target& target) const {
  if (method != "GET" && method != "HEAD") {
    const bool flag = method == "PUT" && target.path.starts_with("/debug/flags/");
    return flag && state_.openDebugFlags ? "" : "methods other than GET are allowed";
  }
  if (!target.path.starts_with(kServices)) return "";
  if (!isOpen(target.path)) return "this path is served";
  const bool walks = std::ranges::any_of(target.query, [](const auto& entry) {
    return entry.first == "includePods" && entry.second == "true";
  });
  return walks ? "the pods of quotas are listed" : "";
}

void HttpService::answerPlain(const net::HttpServer::Handler& route, net::ServerRequest request,
                              ResponderPtr to) const {
  const auto target = net::parseTarget(request.target);
  if (!target) return route(std::move(request), std::move(to));  // it reports the error
  if (const std::string closed = refusalFor(request.method, *target); !closed.empty())
    return net::sendText(*to, 403, closed + " over --secure-port only\n");
  if (!target->path.starts_with(kServices)) return route(std::move(request), std::move(to));
  const SteadyTime since = executor_.steadyNow();
  if (since < restUntil_) {
    const auto wait = std::chrono::ceil<std::chrono::seconds>(restUntil_ - since);
    return to->respond(429,
                       {{"Content-Type", "text/plain; charset=utf-8"},
                        {"Retry-After", std::to_string(wait.count())}},
                       std::string("the last responses took too much time\n"));
  }
  route(std::move(request), std::move(to));
  const SteadyTime now = executor_.steadyNow();
  restUntil_ = now + kRestPerWork * (now - since);
}

void HttpService::addAnswer(const char* method, const std::string& path, For whom, Answer answer) {
  if (whom == For::Anybody) open_.insert(path);
  router_.add(
      method, path,
      [this, answer = std::move(answer)](const net::RoutedRequest& in, const ResponderPtr& to) {
        if (state_.leading()) {
          Result<json::value> said =
              fail(ErrorCode::Internal, "a plugin failed; the log has the reason");
          runGuarded("a plugin", in.target.path, [&] { said = answer(in); });
          return send(*to, said);
        }
        net::sendJson(*to, 503, json::object{{"message", "the instance is not leader"}});
      });
}

std::set<std::string> HttpService::addPluginRoutes() {
  std::set<std::string> shown{"/apis/v1/__services__", "/apis/v1/diagnosis/:namespace/:pod",
                              "/apis/v1/explain/pods/:namespace/:name", "/apis/v1/nodes/:nodeName",
                              "/apis/v1/scheduleexplanations/:namespace/:pod"};
  // Profiles share their plugins' services: the first profile that has the plugin answers.
  for (const auto& [name, runtime] : scheduler_.profiles()) {
    for (const auto& plugin : runtime->profile().plugins) {
      auto* service = dynamic_cast<ServicePlugin*>(plugin.get());
      if (!service) continue;
      const std::string base = fmt::format("/apis/v1/plugins/{}/", plugin->name());
      for (auto& route : service->routes()) {
        if (!shown.insert(base + route.shown).second) continue;
        const Answer answers = [answer = std::move(route.answer),
                                ask = std::move(route.ask)](const net::RoutedRequest& in) {
          if (!ask) return answer(in.rest);
          api::StringMap query;
          for (const auto& [key, value] : in.target.query) query[key] = value;
          return ask(in.rest, query);
        };
        const For whom = route.open ? For::Anybody : For::Guarded;
        addAnswer("GET", base + route.path, whom, answers);
        if (!route.formerPath.empty())
          addAnswer("GET", "/apis/v1/plugins/" + route.formerPath, whom, answers);
      }
    }
  }
  return shown;
}

void HttpService::addServices() {
  const auto shown = addPluginRoutes();
  json::array paths;
  for (const std::string& path : shown) paths.push_back(json::string(path));
  addAnswer("GET", "/apis/v1/__services__", For::Anybody, [paths](const net::RoutedRequest&) {
    return json::value(json::object{
        {"GET", paths},
        {"POST",
         json::array{"/apis/v1/explain/pods", "/apis/v1/simulations", "/apis/v1/whatif/pods"}}});
  });
  addAnswer("GET", "/apis/v1/nodes/", For::Anybody,
            [this](const net::RoutedRequest& in) { return describeNode(scheduler_, in.rest); });
  // About the pod NAMESPACE/NAME at the end of the path.
  const auto addPods = [&](const char* path,
                           std::function<Result<json::value>(const api::ObjectKey&)> answer) {
    addAnswer(
        "GET", path, For::Guarded,
        [path, answer = std::move(answer)](const net::RoutedRequest& in) -> Result<json::value> {
          const auto slash = in.rest.find('/');
          if (slash == std::string::npos)
            return fail(ErrorCode::NotFound, fmt::format("expected {}NAMESPACE/NAME", path));
          return answer({in.rest.substr(0, slash), in.rest.substr(slash + 1)});
        });
  };
  addPods("/apis/v1/explain/pods/",
          [this](const api::ObjectKey& key) { return explainPod(scheduler_, key); });
  addPods("/apis/v1/diagnosis/", [this](const api::ObjectKey& key) {
    return diagnosePod(scheduler_, key, executor_.wallNow());
  });
  addPods("/apis/v1/scheduleexplanations/", [this](const api::ObjectKey& key) {
    return explainSchedule(scheduler_, key, executor_.wallNow());
  });
  if (state_.shadowReport)
    addAnswer(
        "GET", "/apis/v1/shadow", For::Guarded,
        [this](const net::RoutedRequest&) -> Result<json::value> { return state_.shadowReport(); });
  addAnswer("POST", "/apis/v1/explain/pods", For::Guarded,
            [this](const net::RoutedRequest& in) -> Result<json::value> {
              auto pod = api::decodeText<api::Pod>(in.request.body);
              if (!pod) return fail(std::move(pod.error()));
              if (pod->spec.schedulerName.empty()) pod->spec.schedulerName = "default-scheduler";
              transformPod(*pod, scheduler_.podTransforms());
              return explainPodObject(scheduler_,
                                      std::make_shared<const api::Pod>(*std::move(pod)));
            });
  addAnswer("POST", "/apis/v1/whatif/pods", For::Guarded,
            [this](const net::RoutedRequest& in) -> Result<json::value> {
              const auto moves = readWhatIf(scheduler_, in.request.body);
              if (!moves) return fail(Error(moves.error()));
              return whatIfJson(*moves, whatIf(scheduler_, *moves));
            });
}

}  // namespace koord::scheduler
