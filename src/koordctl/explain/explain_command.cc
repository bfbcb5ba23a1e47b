#include "koordctl/explain/explain_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "api/core.h"
#include "api/migration.h"
#include "api/reservation.h"
#include "base/event_loop.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "koordctl/common/active_jobs.h"
#include "koordctl/common/manifest_file.h"
#include "koordctl/common/scheduler_client.h"
#include "koordctl/explain/device_picture.h"
#include "koordctl/explain/explanation.h"
#include "koordctl/explain/layout.h"
#include "koordctl/explain/migration_text.h"
#include "koordctl/explain/node_picture.h"
#include "koordctl/explain/node_resources.h"
#include "koordctl/explain/plugin_answers.h"
#include "koordctl/explain/pod_in_file.h"
#include "koordctl/explain/recommendation_text.h"
#include "koordctl/explain/starts_text.h"
#include "kube/client.h"
#include "kube/http_api.h"

namespace koord::koordctl {

namespace {

// The namespace and name of the object.
std::string keyOf(const ExplainOptions& options) {
  const auto& name = options.name;
  return name.find('/') == std::string::npos ? options.namespace_ + "/" + name : name;
}

// The namespace of the kubeconfig's context, as kubectl uses it.
std::string contextNamespace(const KubeconfigChoice& choice) {
  const auto config = loadChoice(choice);
  return config && !config->defaultNamespace.empty() ? config->defaultNamespace : "default";
}

ExplainOptions withNamespace(ExplainOptions options, const KubeconfigChoice& choice) {
  const bool named = !options.namespace_.empty();
  if (options.about == ExplainOptions::About::Migration) {
    if (named) options.name = keyOf(options);
  } else if (!named) {
    options.namespace_ = contextNamespace(choice);
  }
  return options;
}

struct Subject {
  const char* plugin;
  std::vector<std::string> paths;  // below the plugin's; the first known one is used
};
Subject subjectOf(const ExplainOptions& options) {
  switch (options.about) {
    case ExplainOptions::About::Gang:
      return {"Coscheduling", {"diagnosis/" + keyOf(options), "gang/" + keyOf(options)}};
    case ExplainOptions::About::Quota:
      return {"ElasticQuota", {"explain/" + options.name, "quotas/" + options.name}};
    case ExplainOptions::About::Node:
      return {"NodeNUMAResource", {"nodes/" + options.name}};
    default:
      return {"Reservation", {"reservations/" + options.name}};
  }
}

class Explainer {
 public:
  Explainer(const ExplainOptions& options, Executor& executor)
      : choice_(chooseKubeconfig(options.kubeconfig)),
        options_(withNamespace(options, choice_)),
        executor_(executor),
        scheduler_(choice_, options_.scheduler, options_.dataDir, executor) {}

  const std::string& note() const { return note_; }

  Task<Result<json::value>> run() {
    if (options_.about == ExplainOptions::About::Migration) {
      auto asking = runMigration();
      auto answer = co_await asking;
      co_return answer;
    }
    if (options_.about == ExplainOptions::About::Node) {
      auto asking = runNode();
      auto answer = co_await asking;
      co_return answer;
    }
    if (options_.about == ExplainOptions::About::Recommendation) {
      auto asking = queryManager("recommendations/" + keyOf(options_));
      auto answer = co_await asking;
      co_return answer;
    }
    auto finding = scheduler_.find();
    auto found = co_await finding;
    if (!found) co_return fail(std::move(found.error()));
    if (options_.about != ExplainOptions::About::Pod) {
      auto asking = runPlugin();
      auto answer = co_await asking;
      if (answer) {
        auto adding = addStarts(*answer);
        co_await adding;
      }
      co_return answer;
    }
    auto asking = runPod();
    auto answer = co_await asking;
    if (answer && options_.file.empty()) {
      auto adding = addPlugins(*answer);
      co_await adding;
      auto addingStarts = addStarts(*answer);
      co_await addingStarts;
    }
    co_return answer;
  }

 private:
  Task<Result<json::value>> runMigration() {
    auto config = loadChoice(choice_);
    if (!config) co_return fail(explainFailure(choice_, std::move(config.error())));
    kube::HttpApi api(scheduler_.http(), executor_, *std::move(config));
    auto finding = findMigration(api);
    auto job = co_await finding;
    if (!job) co_return fail(explainFailure(choice_, std::move(job.error())));
    const std::string uid(textAt(*job, "metadata", "uid"));
    const std::string name(textAt(*job, "spec", "reservationOptions", "reservationRef", "name"));
    json::object answer{{"job", *std::move(job)}, {"reservation", nullptr}};
    if (!name.empty()) {
      const api::ObjectKey key{"", name};
      auto reading = kube::getObject(api, api::Reservation::kType, key);
      auto reservation = co_await reading;
      if (reservation) answer["reservation"] = *std::move(reservation);
    }
    const std::string about = "involvedObject.uid=" + uid;
    auto listing = kube::listObjects(api, api::Event::kType, "", "", about);
    auto events = co_await listing;
    const json::value* items = events ? find(*events, "items") : nullptr;
    answer["events"] = items ? *items : json::value(json::array());
    co_return json::value(std::move(answer));
  }

  // The migration by its name, or the latest one of a pod.
  Task<Result<json::value>> findMigration(kube::Api& api) {
    const auto slash = options_.name.find('/');
    if (slash == std::string::npos) {
      const api::ObjectKey key{"", options_.name};
      auto reading = kube::getObject(api, api::PodMigrationJob::kType, key);
      auto job = co_await reading;
      co_return job;
    }
    auto listing = kube::listObjects(api, api::PodMigrationJob::kType, "", "", "");
    auto jobs = co_await listing;
    if (!jobs) co_return fail(std::move(jobs.error()));
    const json::value* latest = nullptr;
    for (const json::value& job : arrayAt(*jobs, "items")) {
      if (textAt(job, "spec", "podRef", "namespace") != options_.name.substr(0, slash) ||
          textAt(job, "spec", "podRef", "name") != options_.name.substr(slash + 1))
        continue;
      if (!latest || textAt(*latest, "metadata", "creationTimestamp") <=
                         textAt(job, "metadata", "creationTimestamp"))
        latest = &job;
    }
    if (!latest)
      co_return fail(ErrorCode::NotFound,
                     fmt::format("no PodMigrationJob names pod {}", options_.name));
    co_return *latest;
  }

  Task<Result<json::value>> runPod() {
    net::HttpRequest request;
    request.url = scheduler_.url() + "/apis/v1/explain/pods";
    if (options_.file.empty()) {
      request.url += "/" + keyOf(options_);
    } else {
      auto reading = podToExplain();
      auto pod = co_await reading;
      if (!pod) co_return fail(std::move(pod.error()));
      request.method = "POST";
      request.headers = {{"Content-Type", "application/json"}};
      request.body = toJson(*pod);
    }
    auto asking = ask(std::move(request));
    auto answer = co_await asking;
    co_return answer;
  }

  // koord-scheduler knows its CPUs and devices, koord-manager its batch and mid resources; one
  // answer is enough.
  Task<Result<json::value>> runNode() {
    auto finding = scheduler_.find();
    auto scheduler = co_await finding;
    Result<json::value> cpus = fail(ErrorCode::NotFound, "");
    if (scheduler) {
      auto asking = runPlugin();
      cpus = co_await asking;
      auto askingDevices = queryPlugin("DeviceShare", "nodeDeviceSummaries/" + options_.name);
      auto devices = co_await askingDevices;
      if (devices && !cpus) cpus = json::value(json::object{{"name", options_.name}});
      if (devices && cpus->is_object()) cpus->get_object()["devices"] = *std::move(devices);
    } else {
      cpus = fail(std::move(scheduler.error()));
    }
    auto askingManager = queryManager("nodes/" + options_.name);
    auto resources = co_await askingManager;
    if (!resources) {
      if (!cpus) co_return fail(std::move(resources.error()));
      note_ = "no batch and mid resources: " + resources.error().message;
      co_return cpus;
    }
    if (!cpus) co_return resources;
    json::object both = cpus->is_object() ? cpus->get_object() : json::object();
    if (!resources->is_object()) co_return json::value(std::move(both));
    for (const auto& member : resources->get_object()) both[member.key()] = member.value();
    co_return json::value(std::move(both));
  }

  Task<Result<json::value>> queryManager(std::string subject) {
    auto manager = componentUrlOf("koord-manager", options_.manager, options_.dataDir, choice_);
    if (!manager) co_return fail(std::move(manager.error()));
    net::HttpRequest request;
    request.url = fmt::format("{}/apis/v1/explain/{}", *manager, subject);
    auto asking = ask(std::move(request));
    auto answer = co_await asking;
    co_return answer;
  }

  Task<Result<json::value>> runPlugin() {
    const Subject subject = subjectOf(options_);
    Result<json::value> answer;
    for (const std::string& path : subject.paths) {
      auto asking = queryPlugin(subject.plugin, path);
      answer = co_await asking;
      if (answer || !unknownPath_) co_return answer;
    }
    co_return fail(ErrorCode::NotFound,
                   fmt::format("koord-scheduler at {} cannot explain this: the plugin {} is not in "
                               "its configuration, or its version differs",
                               scheduler_.url(), subject.plugin));
  }

  // Adds the answers of plugins. A scheduler without them has no answer, which is not an error.
  Task<void> addPlugins(json::value& answer) {
    auto* into = answer.if_object();
    if (!into) co_return;
    const std::string key = keyOf(options_);
    auto asking = queryPlugin("Coscheduling", "explain/" + key);
    auto gang = co_await asking;
    if (gang) into->insert_or_assign("gang", *std::move(gang));
    auto askingNext = queryPlugin("Reservation", "explain/" + key);
    auto reservations = co_await askingNext;
    if (reservations) into->insert_or_assign("reservations", *std::move(reservations));
    const std::string quota(textAt(answer, "plugins", "ElasticQuota", "quota"));
    if (quota.empty()) co_return;
    auto askingLast = queryPlugin("ElasticQuota", "explain/" + quota);
    auto levels = co_await askingLast;
    if (levels) into->insert_or_assign("quota", *std::move(levels));
  }

  // Adds the estimate of when the pod, the gang or the quota's pods start, if they wait.
  Task<void> addStarts(json::value& answer) {
    std::string kind, name;
    switch (options_.about) {
      case ExplainOptions::About::Pod:
        if (textAt(answer, "node").empty()) kind = "pods";
        name = keyOf(options_);
        break;
      case ExplainOptions::About::Gang:
        if (const json::value& pending = memberOf(answer, "pendingChildren");
            pending.is_object() && !pending.get_object().empty())
          kind = "gangs";
        name = keyOf(options_);
        break;
      case ExplainOptions::About::Quota:
        if (countAt(memberOf(answer, "pods"), "waiting") > 0) kind = "quotas";
        name = options_.name;
        break;
      default:
        break;
    }
    if (kind.empty() || !answer.is_object()) co_return;
    json::array jobs;
    if (auto config = loadChoice(choice_)) {
      kube::HttpApi api(scheduler_.http(), executor_, *std::move(config));
      std::string space = options_.namespace_;
      auto listing = activeJobs(api, std::move(space));
      jobs = co_await listing;
    }
    net::HttpRequest request;
    request.method = "POST";
    request.url = scheduler_.url() + "/apis/v1/simulations";
    request.headers = {{"Content-Type", "application/json"}};
    request.body = toJson(startsQuestion(kind, name, std::move(jobs)));
    auto asking = ask(std::move(request));
    auto found = co_await asking;
    json::value estimate =
        found ? estimateIn(*found)
              : json::value(json::object{{"state", "none"}, {"message", found.error().message}});
    if (!estimate.is_null()) answer.get_object().insert_or_assign("starts", std::move(estimate));
  }

  Task<Result<json::value>> queryPlugin(std::string plugin, std::string path) {
    net::HttpRequest request;
    request.url = fmt::format("{}/apis/v1/plugins/{}/{}", scheduler_.url(), plugin, path);
    auto asking = ask(std::move(request));
    auto answer = co_await asking;
    co_return answer;
  }

  // Sets unknownPath_.
  Task<Result<json::value>> ask(net::HttpRequest request) {
    const std::string target = request.url;
    unknownPath_ = false;
    auto fetching = scheduler_.fetch(std::move(request));
    auto reply = co_await fetching;
    if (!reply) co_return fail(std::move(reply.error()));
    if (reply->status != 200) {
      const auto answer = parseJson(reply->body);
      const std::string_view message = answer ? textAt(*answer, "message") : std::string_view();
      // A server that knows the path, but not the object, returns a message.
      unknownPath_ = reply->status == 404 && message.empty();
      const std::string said(answer ? message : std::string_view(reply->body));
      co_return fail(reply->status == 404 ? ErrorCode::NotFound : ErrorCode::Internal,
                     fmt::format("{}: {} (status {})", target, said, reply->status));
    }
    co_return parseJson(reply->body);
  }

  // The pod as it would be stored, with defaults and the changes of webhooks, from a dry run in the
  // API server.
  Task<Result<json::value>> podToExplain() {
    const std::string file = options_.file == "-" ? "standard input" : options_.file;
    auto text = readManifestFile(options_.file);
    if (!text) co_return fail(std::move(text.error()));
    auto pod = podInFile(*text, options_.namespace_);
    if (!pod) co_return fail(std::move(pod.error()).within(file));
    auto config = loadChoice(choice_);
    if (!config) {
      note_ = "the changes by webhooks are unknown without an API server: " +
              explainFailure(choice_, config.error()).message;
      co_return pod;
    }
    kube::HttpApi api(scheduler_.http(), executor_, *std::move(config));
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

  const KubeconfigChoice choice_;
  const ExplainOptions options_;
  Executor& executor_;
  std::string note_;          // about parts of the answer that are missing
  bool unknownPath_ = false;  // the last answer was 404 without a message
  SchedulerClient scheduler_;
};

Task<void> explain(Explainer* explainer, Result<json::value>* result, EventLoop* loop) {
  auto asking = explainer->run();
  *result = co_await asking;
  loop->stop();
}

std::string textOf(const ExplainOptions& options, const json::value& answer) {
  switch (options.about) {
    case ExplainOptions::About::Gang:
      return gangText(answer);
    case ExplainOptions::About::Quota:
      return quotaText(answer);
    case ExplainOptions::About::Node:
      return nodeResourcesText(answer) +
             (at(answer, "cpuTopology") ? nodePicture(answer) : std::string()) +
             devicePicture(answer);
    case ExplainOptions::About::Recommendation:
      return recommendationText(answer);
    case ExplainOptions::About::Reservation:
      return reservationText(answer);
    case ExplainOptions::About::Migration:
      return migrationText(answer);
    default:
      return explanationText(answer);
  }
}

}  // namespace

Task<Result<std::string>> explanationOf(ExplainOptions options, Executor* executor) {
  Explainer explainer(options, *executor);
  auto asking = explainer.run();
  auto answer = co_await asking;
  if (!answer) co_return fail(std::move(answer.error()));
  const std::string note = explainer.note().empty() ? "" : "note: " + explainer.note() + "\n";
  co_return note + textOf(options, *answer);
}

int runExplain(const ExplainOptions& options) {
  log::setup({.program = "koordctl"});
  EventLoop loop;
  Result<json::value> result;
  {
    Explainer explainer(options, loop);
    TaskGroup tasks;
    tasks.spawn(explain(&explainer, &result, &loop));
    loop.run();
    if (!explainer.note().empty()) std::fprintf(stderr, "koordctl: %s\n", explainer.note().c_str());
  }
  if (!result) {
    std::fprintf(stderr, "koordctl: %s\n", result.error().message.c_str());
    return 1;
  }
  using Format = ExplainOptions::Format;
  const std::string text = options.format == Format::Json   ? toPrettyJson(*result) + "\n"
                           : options.format == Format::Yaml ? toYaml(*result)
                                                            : textOf(options, *result);
  std::fputs(printable(text).c_str(), stdout);
  return 0;
}

}  // namespace koord::koordctl
