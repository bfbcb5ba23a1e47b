#include "scheduler/services/http_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/codec.h"
#include "base/log.h"
#include "scheduler/services/explain.h"

namespace koord::scheduler {

namespace {

using Answer = HttpService::Answer;

Answer jsonAnswer(const json::value& value, int status = 200) {
  return {status, "application/json", toJson(value) + "\n"};
}

Answer resultAnswer(const Result<json::value>& result) {
  if (result) return jsonAnswer(*result);
  return jsonAnswer(json::object{{"message", result.error().message}}, httpStatusOf(result.error().code));
}

// strconv.ParseBool
std::optional<bool> parseFlag(const std::string& text) {
  for (const char* yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return true;
  for (const char* no : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return false;
  return std::nullopt;
}

json::value configz(const SchedulerConfiguration& configuration) {
  json::array profiles;
  for (const auto& profile : configuration.profiles)
    profiles.push_back(json::object{{"SchedulerName", profile.schedulerName}});
  return json::object{
      {"componentconfig",
       json::object{{"Parallelism", configuration.parallelism},
                    {"PercentageOfNodesToScore", configuration.percentageOfNodesToScore},
                    {"PodInitialBackoffSeconds", configuration.podInitialBackoffSeconds},
                    {"PodMaxBackoffSeconds", configuration.podMaxBackoffSeconds},
                    {"Profiles", std::move(profiles)},
                    {"LeaderElection",
                     json::object{{"LeaderElect", configuration.leaderElection.leaderElect},
                                  {"ResourceName", configuration.leaderElection.resourceName},
                                  {"ResourceNamespace", configuration.leaderElection.resourceNamespace}}}}}};
}

}  // namespace

void HttpService::handle(net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
  const auto target = net::parseTarget(request.target);
  const Answer reply = target ? answer(request.method, *target, request.body)
                              : Answer{400, "text/plain; charset=utf-8", target.error().message + "\n"};
  responder->respond(reply.status,
                     {{"Content-Type", reply.contentType},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cache-Control", "no-cache, private"}},
                     reply.body);
}

Answer HttpService::answer(const std::string& method, const net::Target& target, const std::string& body) {
  const std::string_view path = target.path;
  const auto under = [&](std::string_view prefix) {
    return path == prefix || (path.starts_with(prefix) && path[prefix.size()] == '/');
  };
  if (under("/healthz") || under("/livez") || under("/readyz")) return health(path);
  if (path == "/metrics") return {200, "text/plain; version=0.0.4", metrics_.text(scheduler_)};
  if (path == "/configz") return jsonAnswer(configz(scheduler_.configuration()));
  if (under("/debug/flags") && scheduler_.configuration().enableProfiling) {
    const std::string_view rest = path.substr(std::string_view("/debug/flags").size());
    return debugFlag(method, rest.empty() ? rest : rest.substr(1), body);
  }
  if (path.starts_with("/apis/v1/")) return service(method, path, body);
  return {404, "text/plain; charset=utf-8", "404 page not found\n"};
}

Answer HttpService::health(std::string_view path) const {
  const bool live = path.starts_with("/livez") || state_.healthy();
  if (!live) return {500, "text/plain; charset=utf-8", "[-]leaderElection failed: lease not renewed\n"};
  if (path.starts_with("/readyz") && !state_.synced())
    return {500, "text/plain; charset=utf-8", "[-]sched-handler-sync failed: waiting for handlers to sync\n"};
  return {200, "text/plain; charset=utf-8", "ok"};
}

Answer HttpService::debugFlag(const std::string& method, std::string_view flag, const std::string& body) {
  if (method == "GET" && flag.empty()) {
    return {200, "text/html; charset=utf-8",
            "<html><body><h1>/debug/flags</h1><ul><li>v</li><li>s</li><li>f</li><li>d</li><li>db</li></ul>"
            "</body></html>\n"};
  }
  const auto text = [](int status, std::string message) {
    return Answer{status, "text/plain; charset=utf-8", std::move(message) + "\n"};
  };
  if (method != "PUT") return text(406, "unsupported http method");
  int number = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), number);
  const bool isNumber = error == std::errc{} && end == body.data() + body.size();
  if (flag == "v") {
    if (!isNumber || number < 0) return text(400, fmt::format("strconv.ParseUint: parsing \"{}\": invalid syntax", body));
    log::setVerbosity(number);
    return text(200, fmt::format("successfully set klog.logging.verbosity to {}", body));
  }
  if (flag == "s") {
    if (!isNumber) {
      return text(400, fmt::format("failed set debugTopNScores {}: strconv.Atoi: parsing \"{}\": invalid syntax",
                                   body, body));
    }
    scheduler_.debug().topScores = number;
    return text(200, fmt::format("successfully set debugTopNScores to {}", body));
  }
  if (flag == "f" || flag == "d" || flag == "db") {
    const auto value = parseFlag(body);
    if (!value) {
      return text(400, fmt::format("failed set debugFilterFailure {}: strconv.ParseBool: parsing \"{}\": "
                                   "invalid syntax",
                                   body, body));
    }
    (flag == "f" ? scheduler_.debug().filterFailures : scheduler_.debug().diagnosis) = *value;
    return text(200, fmt::format("successfully set debugFilterFailure to {}", *value));
  }
  return text(404, "404 page not found");
}

Answer HttpService::service(const std::string& method, std::string_view path, const std::string& body) {
  if (!state_.leading()) return jsonAnswer(json::object{{"message", "the instance is not leader"}}, 503);
  constexpr std::string_view kNodes = "/apis/v1/nodes/";
  constexpr std::string_view kExplain = "/apis/v1/explain/pods";
  if (method == "POST" && path == kExplain) {
    auto pod = api::decodeText<api::Pod>(body);
    if (!pod) return resultAnswer(fail(pod.error()));
    if (pod->spec.schedulerName.empty()) pod->spec.schedulerName = "default-scheduler";
    return resultAnswer(explainPodObject(scheduler_, std::make_shared<const api::Pod>(*std::move(pod))));
  }
  if (method != "GET") return {405, "text/plain; charset=utf-8", "method not allowed\n"};
  if (path == "/apis/v1/__services__") {
    return jsonAnswer(json::object{
        {"GET", json::array{"/apis/v1/__services__", "/apis/v1/explain/pods/:namespace/:name",
                            "/apis/v1/nodes/:nodeName"}},
        {"POST", json::array{"/apis/v1/explain/pods"}}});
  }
  if (path.starts_with(kNodes)) return resultAnswer(describeNode(scheduler_, std::string(path.substr(kNodes.size()))));
  if (path.starts_with(kExplain) && path.size() > kExplain.size()) {
    const std::string_view rest = path.substr(kExplain.size() + 1);
    const auto slash = rest.find('/');
    if (slash != std::string_view::npos) {
      return resultAnswer(explainPod(
          scheduler_, {std::string(rest.substr(0, slash)), std::string(rest.substr(slash + 1))}));
    }
  }
  return {404, "text/plain; charset=utf-8", "404 page not found\n"};
}

}  // namespace koord::scheduler
