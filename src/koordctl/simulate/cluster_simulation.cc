#include "koordctl/simulate/cluster_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/core.h"
#include "api/workloads.h"
#include "koordctl/common/active_jobs.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "scheduler/oracle/question.h"

namespace koord::koordctl {

namespace {

constexpr int kMaxTries = 10;  // a second apart

// Gives the pods of the object the defaults and changes that they get in the cluster; the note of a
// dry run that failed, else "".
Task<std::string> completeObject(kube::Api& api, json::value& object) {
  const json::value pod = podOf(object);
  if (pod.is_null()) co_return std::string();
  auto request = kube::makeRequest(kube::Verb::Create, api::Pod::kType,
                                   {std::string(textAt(pod, "metadata", "namespace")), ""});
  request.query["dryRun"] = "All";
  request.body = toJson(pod);
  auto creating = api.call(std::move(request));
  const auto created = co_await creating;
  const auto stored = created ? parseJson(*created) : Result<json::value>(fail(created.error()));
  if (!stored)
    co_return fmt::format("{} {}: without the cluster's defaults, because the dry run failed: {}",
                          textAt(object, "kind"), textAt(object, "metadata", "name"),
                          stored.error().message);
  takePod(object, *stored);
  co_return std::string();
}

}  // namespace

ClusterSimulation::ClusterSimulation(KubeconfigChoice choice, std::string scheduler,
                                     std::string dataDir, Executor& executor)
    : choice_(std::move(choice)),
      executor_(executor),
      scheduler_(choice_, std::move(scheduler), std::move(dataDir), executor) {}

Result<> ClusterSimulation::open() {
  auto config = loadChoice(choice_);
  if (!config) return fail(explainFailure(choice_, std::move(config.error())));
  config_ = *std::move(config);
  return {};
}

Task<Result<SimulationAnswer>> ClusterSimulation::ask(json::object spec) {
  SimulationAnswer answer;
  kube::HttpApi api(scheduler_.http(), executor_, *config_);
  if (json::value& objects = spec["objects"]; objects.is_array()) {
    auto completing = completePods(api, objects.get_array());
    answer.notes = co_await completing;
    auto reading = completeJobs(api, objects.get_array());
    auto unread = co_await reading;
    std::ranges::move(unread, std::back_inserter(answer.notes));
  }
  if (json::value* when = spec.if_contains("when"); when && when->is_object()) {
    std::string space = defaultNamespace();
    auto listing = activeJobs(api, std::move(space));
    auto jobs = co_await listing;
    when->get_object().insert_or_assign("jobs", std::move(jobs));
  }
  auto finding = scheduler_.find();
  auto found = co_await finding;
  if (!found) co_return fail(std::move(found.error()));
  const Fetch fetch = [this](net::HttpRequest request) {
    return scheduler_.fetch(std::move(request));
  };
  auto posting = postSimulation(executor_, fetch, scheduler_.url(), std::move(spec));
  auto result = co_await posting;
  if (!result) co_return fail(std::move(result.error()));
  answer.result = *std::move(result);
  co_return answer;
}

Task<std::vector<std::string>> completePods(kube::Api& api, json::array& objects) {
  std::vector<std::string> notes;
  for (json::value& object : objects) {
    auto completing = completeObject(api, object);
    std::string note = co_await completing;
    if (!note.empty()) notes.push_back(std::move(note));
  }
  co_return notes;
}

Task<std::vector<std::string>> completeJobs(kube::Api& api, json::array& objects) {
  std::vector<std::string> notes;
  for (json::value& object : objects) {
    const auto key = jobIn(object);
    if (!key) continue;
    auto reading = api.call(kube::makeRequest(kube::Verb::Get, api::Job::kType, *key));
    const auto read = co_await reading;
    if (!read && read.error().code == ErrorCode::NotFound) continue;
    const auto job = read ? parseJson(*read) : Result<json::value>(fail(read.error()));
    if (job) {
      takeJob(object, *job);
    } else {
      notes.push_back(fmt::format("Job {}: counts as new, because it cannot be read: {}",
                                  key->toString(), job.error().message));
    }
  }
  co_return notes;
}

Task<Result<json::value>> postSimulation(Executor& executor, const Fetch& fetch,
                                         std::string scheduler, json::object spec) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = scheduler + "/apis/v1/simulations";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = toJson(scheduler::oracle::simulationOf(std::move(spec)));
  Result<net::HttpResponse> reply;
  for (int left = kMaxTries; left > 0; --left) {
    auto fetching = fetch(request);
    reply = co_await fetching;
    if (!reply) co_return fail(std::move(reply.error()));
    if (reply->status != 429 || left == 1) break;
    auto pause = sleepFor(executor, std::chrono::seconds(1));
    co_await pause;
  }
  auto answer = parseJson(reply->body);
  if (reply->status == 200) co_return answer;
  const std::string_view message = answer ? textAt(*answer, "message") : std::string_view();
  co_return fail(
      codeOfHttpStatus(reply->status),
      fmt::format("koord-scheduler: {} (status {})",
                  message.empty() ? std::string_view(reply->body) : message, reply->status));
}

}  // namespace koord::koordctl
