#include "cluster/explain/explain_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "api/core.h"
#include "base/event_loop.h"
#include "base/file.h"
#include "base/log.h"
#include "base/yaml.h"
#include "cluster/explain/explanation.h"
#include "cluster/explain/pod_in_file.h"
#include "cluster/up/components.h"
#include "cluster/up/kubeconfig_choice.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "net/http_client.h"
#include "net/url.h"

namespace koord::cluster {

namespace {

Result<std::string> schedulerUrl(const ExplainOptions& options, const KubeconfigChoice& choice) {
  if (!options.scheduler.empty()) return options.scheduler;
  for (const auto& file : choice.files) {
    const auto folder = std::filesystem::absolute(file).parent_path();
    if (const auto url = componentUrl(folder.string(), "koord-scheduler"); !url.empty()) return url;
  }
  return fail(
      ErrorCode::NotFound,
      fmt::format("--scheduler: there is no 'koordctl up' {} whose koord-scheduler could be asked: "
                  "give its address, for one in a cluster by way of kubectl port-forward",
                  choice.files.empty()
                      ? std::string("running on its default data folder")
                      : fmt::format("that runs beside kubeconfig {}", choice.files.front())));
}

class Explainer {
 public:
  Explainer(const ExplainOptions& options, EventLoop& loop) : options_(options), loop_(loop) {}

  Task<Result<json::value>> run() {
    auto url = schedulerUrl(options_, choice_);
    if (!url) co_return fail(std::move(url.error()));
    while (url->ends_with('/')) url->pop_back();
    net::HttpRequest request;
    request.url = *url + "/apis/v1/explain/pods";
    if (options_.file.empty()) {
      const auto slash = options_.pod.find('/');
      const std::string key = slash == std::string::npos ? "default/" + options_.pod : options_.pod;
      request.url += "/" + key;
    } else {
      auto reading = podToAskAbout();
      auto pod = co_await reading;
      if (!pod) co_return fail(std::move(pod.error()));
      request.method = "POST";
      request.headers = {{"Content-Type", "application/json"}};
      request.body = toJson(*pod);
    }
    const std::string target = request.url;
    auto fetching = http_.fetch(loop_, std::move(request));
    auto reply = co_await fetching;
    if (!reply) {
      Error error = std::move(reply.error()).within("koord-scheduler");
      co_return fail(options_.scheduler.empty() ? explainFailure(choice_, std::move(error))
                                                : std::move(error));
    }
    if (reply->status != 200) {
      const auto answer = parseJson(reply->body);
      const std::string said(answer ? textAt(*answer, "message") : std::string_view(reply->body));
      co_return fail(reply->status == 404 ? ErrorCode::NotFound : ErrorCode::Internal,
                     fmt::format("{}: {} (status {})", target, said, reply->status));
    }
    co_return parseJson(reply->body);
  }

 private:
  // As it would be stored: with defaults and what webhooks change, which the API server tells in a
  // dry run.
  Task<Result<json::value>> podToAskAbout() {
    auto text = readFile(options_.file);
    if (!text) co_return fail(std::move(text.error()));
    auto pod = podInFile(*text);
    if (!pod) co_return fail(std::move(pod.error()).within(options_.file));
    auto config = loadChoice(choice_);
    if (!config) {
      std::fprintf(stderr, "koordctl: no API server to ask what webhooks would change: %s\n",
                   explainFailure(choice_, config.error()).message.c_str());
      co_return pod;
    }
    kube::HttpApi api(http_, loop_, *std::move(config));
    auto request = kube::makeRequest(kube::Verb::Create, api::Pod::kType,
                                     {std::string(textAt(*pod, "metadata", "namespace")), ""});
    request.query["dryRun"] = "All";
    request.body = toJson(*pod);
    auto creating = api.call(std::move(request));
    auto created = co_await creating;
    if (!created)
      co_return fail(explainFailure(choice_, std::move(created.error()).within("dry run")));
    co_return parseJson(*created);
  }

  const ExplainOptions& options_;
  const KubeconfigChoice choice_ = chooseKubeconfig(options_.kubeconfig);
  EventLoop& loop_;
  net::HttpClient http_{{.userAgent = "koordctl"}};
};

Task<void> explain(Explainer* explainer, Result<json::value>* result, EventLoop* loop) {
  auto asking = explainer->run();
  *result = co_await asking;
  loop->stop();
}

}  // namespace

int runExplain(const ExplainOptions& options) {
  log::setup({.program = "koordctl"});
  EventLoop loop;
  Result<json::value> result;
  {
    Explainer explainer(options, loop);
    TaskGroup tasks;
    tasks.spawn(explain(&explainer, &result, &loop));
    loop.run();
  }
  if (!result) {
    std::fprintf(stderr, "koordctl: %s\n", result.error().message.c_str());
    return 1;
  }
  const std::string text = options.json ? toPrettyJson(*result) + "\n" : explanationText(*result);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace koord::cluster
