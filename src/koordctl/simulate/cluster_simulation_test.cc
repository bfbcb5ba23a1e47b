#include "koordctl/simulate/cluster_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "kube/fake_api.h"

namespace koord::koordctl {
namespace {

using ::testing::ElementsAre;

// A koord-scheduler that answers with these statuses, the last one again and again.
struct FakeScheduler {
  VirtualLoop loop;
  std::vector<net::HttpResponse> replies;
  std::vector<net::HttpRequest> requests;
  std::optional<Result<json::value>> answer;

  static Task<Result<net::HttpResponse>> reply(net::HttpResponse response) { co_return response; }
  static Task<void> askInto(FakeScheduler* self, const Fetch* fetch) {
    auto asking = postSimulation(self->loop, *fetch, "https://s:1",
                                 json::object{{"drainNodes", json::array{"a"}}});
    self->answer = co_await asking;
  }
  Result<json::value> ask() {
    const Fetch fetch = [this](net::HttpRequest request) {
      requests.push_back(std::move(request));
      return reply(replies[std::min(requests.size(), replies.size()) - 1]);
    };
    TaskGroup tasks;
    tasks.spawn(askInto(this, &fetch));
    loop.advance(std::chrono::minutes(1));
    return answer.value_or(fail(ErrorCode::Timeout, "no answer"));
  }
};

TEST(ClusterSimulation, a_question_is_posted_as_a_simulation) {
  FakeScheduler scheduler;
  scheduler.replies = {{200, {}, R"({"status":{"placed":1}})"}};
  const auto answer = scheduler.ask();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(toJson(*answer), R"({"status":{"placed":1}})");
  ASSERT_EQ(scheduler.requests.size(), 1u);
  EXPECT_EQ(scheduler.requests[0].url, "https://s:1/apis/v1/simulations");
  EXPECT_EQ(*parseJson(scheduler.requests[0].body), *parseYaml(R"(
apiVersion: simulation.koordinator.sh/v1alpha1
kind: Simulation
spec: {drainNodes: [a]})"));
}

TEST(ClusterSimulation, a_busy_scheduler_is_asked_again) {
  FakeScheduler scheduler;
  scheduler.replies = {{429, {}, ""}, {429, {}, ""}, {200, {}, "{}"}};
  EXPECT_TRUE(scheduler.ask());
  EXPECT_EQ(scheduler.requests.size(), 3u);
}

TEST(ClusterSimulation, a_scheduler_that_stays_busy_is_an_error_after_ten_requests) {
  FakeScheduler scheduler;
  scheduler.replies = {{429, {}, R"({"message":"at most 4 simulations run at once"})"}};
  const auto answer = scheduler.ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::TooManyRequests);
  EXPECT_EQ(answer.error().message,
            "koord-scheduler: at most 4 simulations run at once (status 429)");
  EXPECT_EQ(scheduler.requests.size(), 10u);
}

TEST(ClusterSimulation, the_code_of_an_error_is_that_of_the_status) {
  for (const auto& [status, code] : {std::pair{400, ErrorCode::BadRequest},
                                     {403, ErrorCode::Forbidden},
                                     {404, ErrorCode::NotFound},
                                     {413, ErrorCode::RequestEntityTooLarge},
                                     {503, ErrorCode::Unavailable},
                                     {504, ErrorCode::Timeout}}) {
    FakeScheduler scheduler;
    scheduler.replies = {{status, {}, "not JSON"}};
    const auto answer = scheduler.ask();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, code) << status;
    EXPECT_THAT(answer.error().message, ::testing::HasSubstr("not JSON"));
  }
}

Task<void> completeInto(kube::Api* api, json::array* objects, std::vector<std::string>* notes) {
  auto completing = completePods(*api, *objects);
  *notes = co_await completing;
}

TEST(ClusterSimulation, pods_get_what_a_dry_run_adds_and_a_failed_one_is_noted) {
  VirtualLoop loop;
  kube::FakeApi api(loop);
  api.answer = [](const kube::Request& request) -> Result<std::string> {
    auto pod = parseJson(request.body);
    if (textAt(*pod, "metadata", "name") != "a") return fail(ErrorCode::Forbidden, "no right");
    pod->get_object()["spec"].get_object()["priority"] = 9;
    return toJson(*pod);
  };
  json::array objects = parseYaml(R"([
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}, spec: {}},
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: x}},
{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: x}, spec: {template: {spec: {}}}}])")
                            ->get_array();
  std::vector<std::string> notes;
  TaskGroup tasks;
  tasks.spawn(completeInto(&api, &objects, &notes));
  loop.advance(std::chrono::seconds(1));
  EXPECT_EQ(*at(objects[0], "spec", "priority"), json::value(9));
  EXPECT_THAT(notes, ElementsAre("Job j: without the cluster's defaults, because the dry run "
                                 "failed: no right"));
  ASSERT_EQ(api.calls.size(), 2u);
  for (const auto& call : api.calls) EXPECT_EQ(call.query.at("dryRun"), "All");
}

Task<void> completeJobsInto(kube::Api* api, json::array* objects, std::vector<std::string>* notes) {
  auto completing = completeJobs(*api, *objects);
  *notes = co_await completing;
}

TEST(ClusterSimulation, jobs_that_exist_get_their_uid_and_status) {
  VirtualLoop loop;
  kube::FakeApi api(loop);
  api.answer = [](const kube::Request& request) -> Result<std::string> {
    if (request.name == "new") return fail(ErrorCode::NotFound, "not found");
    if (request.name == "secret") return fail(ErrorCode::Forbidden, "no right");
    return R"({"metadata":{"name":"old","uid":"u"},"status":{"succeeded":3}})";
  };
  json::array objects = parseYaml(R"([
{apiVersion: batch/v1, kind: Job, metadata: {name: old, namespace: x}},
{apiVersion: batch/v1, kind: Job, metadata: {name: new, namespace: x}},
{apiVersion: batch/v1, kind: Job, metadata: {name: secret, namespace: x}},
{apiVersion: batch/v1, kind: Job, metadata: {name: given, namespace: x, uid: g}},
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: x}}])")
                            ->get_array();
  std::vector<std::string> notes;
  TaskGroup tasks;
  tasks.spawn(completeJobsInto(&api, &objects, &notes));
  loop.advance(std::chrono::seconds(1));
  EXPECT_EQ(textAt(objects[0], "metadata", "uid"), "u");
  EXPECT_EQ(*at(objects[0], "status", "succeeded"), json::value(3));
  EXPECT_EQ(textAt(objects[1], "metadata", "uid"), "");
  EXPECT_EQ(textAt(objects[3], "metadata", "uid"), "g");
  EXPECT_THAT(notes,
              ElementsAre("Job x/secret: counts as new, because it cannot be read: no right"));
  EXPECT_EQ(api.calls.size(), 3u);
}

}  // namespace
}  // namespace koord::koordctl
