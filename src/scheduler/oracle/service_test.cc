#include "scheduler/oracle/service.h"

#include <unistd.h>

#include <optional>

#include "base/event_loop.h"
#include "scheduler/oracle/oracle_fixture.h"

namespace koord::scheduler::oracle::testing {
namespace {

// Ends the run of the loop when the answer is there.
class Answer final : public net::Responder {
 public:
  explicit Answer(EventLoop& loop) : loop_(loop) {}
  int status = 0;  // 0: there is no answer yet
  net::Headers headers;
  std::string body;
  Callback closed;  // run by the test: the client is gone

  json::value document() const { return parseJson(body).value_or(json::value()); }
  std::string message() const { return std::string(textAt(document(), "message")); }

  void respond(int code, net::Headers fields, Bytes bytes) override {
    status = code;
    headers = std::move(fields);
    body = *bytes;
    loop_.stop();
  }
  void begin(int, net::Headers) override {}
  void write(Bytes) override {}
  void end() override {}
  std::size_t queuedBytes() const override { return 0; }
  void abort() override {}
  void onClosed(Callback fn) override { closed = std::move(fn); }

 private:
  EventLoop& loop_;
};

// A service with one place, before a scheduler of one node. Its threads need a loop of real time.
struct Served : Asked {
  EventLoop events;
  kube::FakeApi listing{events};
  std::set<std::string> rights{"create pods in namespace \"default\""};
  bool ready = true;
  bool hangs = false;                    // children that look for a pod
  std::function<void()> looked = [] {};  // called when the service looks for the scheduler
  std::optional<Service> service;

  explicit Served(std::size_t waiting = 0) {
    node(aNode("a"));
    listing.latency = {};
    service.emplace(
        events, listing, registry,
        [this] {
          looked();
          if (!ready) return Askable{};
          return Askable{scheduler.get(), &seam, [this](const api::ObjectKey&) {
                           while (hangs) ::pause();
                           return false;
                         }};
        },
        ServiceLimits{.atOnce = 1, .waiting = waiting});
  }

  std::shared_ptr<Answer> send(const std::string& body, const std::string& method = "POST") {
    net::ServerRequest request;
    request.method = method;
    request.target = std::string(kPath);
    request.body = body;
    auto answer = std::make_shared<Answer>(events);
    service->handle(std::move(request), answer, std::make_shared<SomeCaller>(rights));
    return answer;
  }
  void finish(const Answer& answer) {
    while (answer.status == 0) events.run();
  }
  std::shared_ptr<Answer> post(std::string_view spec) {
    auto answer = send(toJson(simulationWith(spec)));
    finish(*answer);
    return answer;
  }
};

const std::string kOnePod = "objects: [" + podText("p", "1", 1000) + "]";

TEST(SimulationService, answers_with_a_result) {
  Served s;
  const auto answer = s.post(kOnePod);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(textAt(answer->document(), "kind"), "SimulationResult");
  EXPECT_THAT(placesIn(memberOf(answer->document(), "status")), ElementsAre("p a"));
}

TEST(SimulationService, refuses_what_is_no_question) {
  Served s;
  const auto status = [&](const std::string& body, const std::string& method = "POST") {
    const auto answer = s.send(body, method);
    s.finish(*answer);
    return fmt::format("{} {}", answer->status, answer->message());
  };
  EXPECT_EQ(status("", "GET"), "405 use POST");
  EXPECT_EQ(status(std::string(kMaxQuestionBytes + 1, ' ')), "413 a question has at most 3 MiB");
  EXPECT_THAT(status("{"), HasSubstr("400 "));
  EXPECT_EQ(status(toJson(simulationWith("object: []"))), "400 spec.object: unknown field");
  EXPECT_THAT(status(toJson(simulationWith("objects: [" + podText("", "1") + "]"))),
              HasSubstr("400 spec.objects[0]: metadata.name"))
      << "by the child";
  s.ready = false;
  EXPECT_EQ(status(toJson(simulationWith(kOnePod))),
            "503 the scheduler has not read the whole cluster yet");
}

TEST(SimulationService, names_the_right_that_is_missing) {
  Served s;
  s.rights = {"create pods in namespace \"other\""};
  const auto answer = s.post(kOnePod);
  EXPECT_EQ(answer->status, 403);
  EXPECT_THAT(answer->message(),
              HasSubstr("user \"someone\" cannot create pods in namespace \"default\""));
}

TEST(SimulationService, pods_of_a_drained_node_must_be_the_callers_to_evict) {
  Served s;
  s.listing.answer = [](const kube::Request& request) -> Result<std::string> {
    EXPECT_EQ(request.query.at("fieldSelector"), "spec.nodeName=a");
    return R"({"apiVersion":"v1","kind":"PodList","metadata":{},"items":[
        {"metadata":{"name":"p","namespace":"theirs","uid":"1"},"spec":{"nodeName":"a"}}]})";
  };
  s.rights = {"patch nodes \"a\""};
  EXPECT_THAT(s.post("drainNodes: [a]")->body,
              ::testing::AllOf(HasSubstr("cannot create pods/eviction"),
                               ::testing::Not(HasSubstr("theirs"))));
  s.rights.insert("create pods/eviction in namespace \"theirs\"");
  const auto answer = s.post("drainNodes: [a]");
  EXPECT_EQ(answer->status, 200) << answer->body;
}

TEST(SimulationService, hides_the_names_of_victims_that_the_caller_may_not_read) {
  Served s;
  s.runs(aPod("secret").request("cpu", "4").priority(1), "a");
  const auto hidden = s.post(kOnePod);
  EXPECT_EQ(hidden->status, 200) << hidden->body;
  EXPECT_EQ(memberOf(memberOf(hidden->document(), "status"), "hiddenVictims"), json::value(1));
  EXPECT_THAT(hidden->body, ::testing::Not(HasSubstr("secret")));
  s.rights.insert("list pods");
  EXPECT_THAT(s.post(kOnePod)->body, HasSubstr("secret"));
}

TEST(SimulationService, a_client_that_is_gone_ends_its_simulation_and_frees_the_place) {
  Served s;
  s.hangs = true;
  const std::string question = toJson(simulationWith(kOnePod));
  const auto first = s.send(question);
  const auto second = s.send(question);
  s.finish(*second);
  EXPECT_EQ(second->status, 429);
  EXPECT_EQ(second->message(), "at most 1 simulations run at once, and 0 wait");
  EXPECT_EQ(net::headerOf(second->headers, "Retry-After"), "1");
  EXPECT_EQ(first->status, 0);
  // It looks before it checks rights, and before it forks.
  s.looked = [&, times = 0]() mutable {
    if (++times == 2) s.events.post([&] { first->closed(); });
  };
  s.finish(*first);
  EXPECT_EQ(first->status, 503) << first->body;
  s.hangs = false;
  EXPECT_EQ(s.post(kOnePod)->status, 200);
}

TEST(SimulationService, who_asks_when_a_pod_starts_must_be_allowed_to_read_it) {
  Served s;
  s.runs(aPod("secret", "theirs").request("cpu", "4"), "a");
  s.create(aPod("waits").request("cpu", "4"));
  s.run();
  const std::string question = "when: {pods: [default/waits]}";
  const auto refused = s.post(question);
  EXPECT_EQ(refused->status, 403);
  EXPECT_THAT(refused->message(), HasSubstr("cannot get pods \"waits\" in namespace \"default\""));
  s.rights.insert("get pods \"waits\" in namespace \"default\"");
  const auto answer = s.post(question);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_THAT(answer->body, HasSubstr(R"("unknownPods":1)"));
  EXPECT_THAT(answer->body, HasSubstr(R"("hiddenUnknown":1)"));
  EXPECT_THAT(answer->body, ::testing::Not(HasSubstr("secret")));
  s.rights.insert("list pods");
  EXPECT_THAT(s.post(question)->body, HasSubstr("secret"));
  EXPECT_THAT(s.post("when: {gangs: [theirs/g]}")->message(), HasSubstr("cannot list pods in"));
  EXPECT_THAT(s.post("when: {quotas: [q]}")->message(), HasSubstr("cannot list elasticquotas"));
}

TEST(SimulationService, questions_that_come_together_wait_for_the_one_child_that_may_run) {
  Served s(3);
  const std::string question = toJson(simulationWith(kOnePod));
  std::vector<std::shared_ptr<Answer>> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(s.send(question));
  std::vector<int> statuses;
  for (const auto& answer : answers) {
    s.finish(*answer);
    statuses.push_back(answer->status);
  }
  EXPECT_THAT(statuses, ElementsAre(200, 200, 200, 200, 429));
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
