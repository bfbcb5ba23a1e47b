#include "scheduler/services/http_service.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "net/fake_responder.h"
#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/plugins/dynamicresources/objects.h"
#include "scheduler/services/explanation_writer.h"
#include "scheduler/testing/claims.h"
#include "scheduler/testing/small_plugins.h"

namespace koord::scheduler {
namespace {

using ::testing::AllOf;
using testing::aNode;
using testing::aPod;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

struct Service : testing::SchedulerFixture {
  explicit Service(SchedulerConfiguration configuration = defaultConfiguration(),
                   bool openDebugFlags = false)
      : SchedulerFixture(std::move(configuration)) {
    observer = &metrics;
    create();
    service.emplace(*scheduler, metrics, loop,
                    ServiceState{.leading =
                                     [this] {
                                       if (whileAsked) whileAsked();
                                       return leading;
                                     },
                                 .unhealthy = [this] { return unhealthy; },
                                 .synced = [this] { return synced; },
                                 .stopping = [] { return false; },
                                 .clientMetrics = [this] { return clientMetrics(); },
                                 .page = {.build = {"v1.2.3", "", ""}},
                                 .flags = {{"v", "2"}, {"config", "/etc/config"}},
                                 .openDebugFlags = openDebugFlags});
    scheduler->start();
  }
  struct Answer {
    int status;
    std::string body;
  };
  Answer ask(std::string method, std::string target, std::string body = "") {
    auto responder = std::make_shared<net::FakeResponder>();
    service->handler()({.method = std::move(method),
                        .target = std::move(target),
                        .body = std::move(body),
                        .tls = tls},
                       responder);
    return {responder->status, responder->body};
  }
  std::string get(std::string target) { return ask("GET", std::move(target)).body; }

  Metrics metrics;
  std::optional<HttpService> service;
  bool tls = true;  // how requests arrive
  std::function<std::string()> clientMetrics = [] { return "rest_client_requests_total 7\n"; };
  std::function<void()> whileAsked;  // called while the service engine makes an answer
  bool leading = true;
  bool synced = true;
  std::string unhealthy;
};

TEST(HttpService, says_whether_it_lives_and_is_ready) {
  Service s;
  EXPECT_EQ(s.get("/healthz"), "ok");
  EXPECT_EQ(s.get("/readyz?verbose"),
            "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check "
            "passed\n");
  s.synced = false;
  EXPECT_EQ(s.ask("GET", "/readyz").status, 500);
  EXPECT_EQ(s.get("/readyz/sched-handler-sync"),
            "internal server error: waiting for handlers to sync\n");
  s.unhealthy = "failed election to renew leadership on lease kube-scheduler";
  EXPECT_EQ(s.ask("GET", "/healthz").status, 500);
  EXPECT_EQ(s.get("/livez"), "ok");
}

TEST(HttpService, has_no_check_of_a_lease_that_it_does_not_ask_for) {
  auto configuration = defaultConfiguration();
  configuration.leaderElection.leaderElect = false;
  Service s(configuration);
  EXPECT_EQ(s.get("/healthz?verbose"), "[+]ping ok\nhealthz check passed\n");
  EXPECT_EQ(s.get("/readyz?verbose"),
            "[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n");
}

TEST(HttpService, counts_what_the_scheduler_does) {
  Service s;
  s.node(aNode("a"));
  s.create(aPod("p").request("cpu", "1"));
  s.create(aPod("large").request("cpu", "64"));
  s.run();
  s.node(aNode("b"));
  const std::string text = s.get("/metrics");
  for (const char* line : {
           "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} "
           "1",
           "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result="
           "\"unschedulable\"} 1",
           "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"Filter\","
           "profile=\"default-scheduler\",status=\"Success\"} 2",
           "scheduler_framework_extension_point_duration_seconds_count{extension_point="
           "\"PostFilter\","
           "profile=\"default-scheduler\",status=\"Unschedulable\"} 1",
           "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"Bind\","
           "profile=\"default-scheduler\",status=\"Success\"} 1",
           "scheduler_plugin_execution_duration_seconds_count{extension_point=\"Filter\","
           "plugin=\"NodeResourcesFit\",status=\"Success\"} 1",
           "scheduler_plugin_evaluation_total{extension_point=\"Filter\",plugin="
           "\"NodeResourcesFit\","
           "profile=\"default-scheduler\"} 2",
           "scheduler_event_handling_duration_seconds_count{event=\"NodeAdd\"} 2",
           "scheduler_queue_incoming_pods_total{event=\"UnschedulablePodAdd\",queue=\"active\"} 2",
           "scheduler_queueing_hint_execution_duration_seconds_count{event=\"NodeAdd\",hint="
           "\"QueueSkip\",plugin=\"NodeResourcesFit\"} 1",
           "scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"}"
           " 1",
           "scheduler_pending_pods{queue=\"unschedulable\"} 1",
           "scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"1\"} 1",
           "scheduler_preemption_attempts_total 1",
           "rest_client_requests_total 7",
           "scheduler_framework_extension_point_duration_seconds_count{extension_point="
           "\"PreEnqueue\",profile=\"default-scheduler\",status=\"Success\"}",
           "scheduler_event_handling_duration_seconds_count{event=\"UnschedulablePodAdd\"}",
           "scheduler_plugin_execution_duration_seconds_bucket{extension_point=\"PreFilter\","
           "plugin="
           "\"VolumeRestrictions\",status=\"Skip\",le=\"1.5000000000000002e-05\"}",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_EQ(s.ask("DELETE", "/metrics").body, "metrics reset\n");
  EXPECT_THAT(s.get("/metrics"), Not(HasSubstr("scheduler_schedule_attempts_total{")));
}

TEST(HttpService, tells_what_pods_ask_for) {
  Service s;
  s.node(aNode("a"));
  s.create(aPod("p").request("cpu", "1500m").request("memory", "1Gi").priority(5));
  s.create(aPod("large").request("cpu", "64"));
  s.run();
  EXPECT_THAT(
      s.get("/metrics/resources"),
      AllOf(
          HasSubstr("kube_pod_resource_request{namespace=\"default\",node=\"a\",pod=\"p\",priority="
                    "\"5\",resource=\"cpu\",scheduler=\"default-scheduler\",unit=\"cores\"} 1.5\n"),
          HasSubstr("resource=\"memory\",scheduler=\"default-scheduler\",unit=\"bytes\"} "
                    "1.073741824e+09\n"),
          HasSubstr("node=\"\",pod=\"large\",priority=\"\",resource=\"cpu\",scheduler="
                    "\"default-scheduler\",unit=\"cores\"} 64\n")));
  s.leading = false;
  EXPECT_EQ(s.ask("GET", "/metrics/resources").status, 200);
  EXPECT_EQ(s.get("/metrics/resources"), "");
}

TEST(HttpService, shows_its_configuration) {
  Service s;
  const auto config = parseJson(s.get("/configz"));
  ASSERT_TRUE(config);
  EXPECT_EQ(textAt(*config, "componentconfig", "kind"), "KubeSchedulerConfiguration");
  EXPECT_EQ(textAt(*config, "componentconfig", "leaderElection", "leaseDuration"), "15s");
  const auto& profile = at(*config, "componentconfig", "profiles")->get_array()[0];
  EXPECT_EQ(textAt(profile, "schedulerName"), "default-scheduler");
  const auto& plugins = at(profile, "plugins", "multiPoint", "enabled")->get_array();
  EXPECT_EQ(toJson(plugins[4]), R"({"name":"TaintToleration","weight":3})");
}

TEST(HttpService, tells_what_it_is_and_how_it_was_started) {
  Service s;
  s.run(3723s);
  EXPECT_THAT(s.get("/statusz"), AllOf(HasSubstr("\nkoord-scheduler statusz\nWarning: "),
                                       HasSubstr("\nUp= 1 hr 02 min 03 sec\n"),
                                       HasSubstr("\nBinary version= 1.2.3\n")));
  EXPECT_THAT(s.get("/flagz"), HasSubstr("\nconfig=/etc/config\nv=2\n"));
}

TEST(HttpService, takes_debug_flags) {
  Service s;
  struct Row {
    const char* flag;
    const char* body;
    int status;
    const char* answer;
  };
  const int before = log::verbosity();
  for (const Row& row : {
           Row{"v", "5", 200, "successfully set klog.logging.verbosity to 5\n"},
           Row{"v", "much", 400, "strconv.ParseUint: parsing \"much\": invalid syntax\n"},
           Row{"s", "3", 200, "successfully set debugTopNScores to 3\n"},
           Row{"s", "x", 400,
               "failed set debugTopNScores x: strconv.Atoi: parsing \"x\": invalid syntax\n"},
           Row{"s", "3\n", 400,
               "failed set debugTopNScores 3\n: strconv.Atoi: parsing \"3\\n\": invalid syntax\n"},
           Row{"s", "99999999999999999999", 400,
               "failed set debugTopNScores 99999999999999999999: strconv.Atoi: parsing "
               "\"99999999999999999999\": value out of range\n"},
           Row{"s", "+-3", 400,
               "failed set debugTopNScores +-3: strconv.Atoi: parsing \"+-3\": invalid syntax\n"},
           Row{"s", "-1", 200, "successfully set debugTopNScores to -1\n"},
           Row{"s", "+3", 200, "successfully set debugTopNScores to +3\n"},
           Row{"f", "1", 200, "successfully set debugFilterFailure to 1\n"},
           Row{"d", "T", 200, "successfully set debugFilterFailure to T\n"},
           Row{"db", "true", 200, "successfully set debugFilterFailure to true\n"},
           Row{"db", "maybe", 400,
               "failed set debugFilterFailure maybe: strconv.ParseBool: parsing \"maybe\": "
               "invalid "
               "syntax\n"},
       }) {
    const auto answer = s.ask("PUT", std::string("/debug/flags/") + row.flag, row.body);
    EXPECT_EQ(answer.status, row.status) << row.flag;
    EXPECT_EQ(answer.body, row.answer);
  }
  EXPECT_EQ(s.ask("POST", "/debug/flags/s").status, 406);
  EXPECT_EQ(s.ask("GET", "/debug/flags/db").status, 406);
  EXPECT_THAT(s.get("/debug/flags"), HasSubstr("<tr>db<br>"));
  EXPECT_EQ(s.get("/debug/flags/"), s.get("/debug/flags"));
  EXPECT_EQ(s.scheduler->debug().topScores, 3);
  EXPECT_TRUE(s.scheduler->debug().filterFailures);
  EXPECT_TRUE(s.scheduler->debug().diagnosis);
  EXPECT_TRUE(s.scheduler->debug().diagnosisAtOnce);
  EXPECT_EQ(log::verbosity(), 5);
  log::setVerbosity(before);
}

TEST(HttpService, who_comes_without_tls_changes_nothing_and_has_nothing_worked_out) {
  Service s;
  s.node(aNode("a"));
  s.create(aPod("p").request("cpu", "64"));
  s.run();
  const std::string pod = toJson(api::encodeObject(*aPod("new").build()));
  struct Row {
    const char* method;
    const char* target;
    std::string body;
  };
  const Row closed[] = {{"PUT", "/debug/flags/s", "3"},
                        {"PUT", "/debug/flags/v", "5"},
                        {"DELETE", "/metrics", ""},
                        {"POST", "/apis/v1/whatif/pods", R"({"pods": []})"},
                        {"POST", "/apis/v1/explain/pods", pod},
                        {"GET", "/apis/v1/explain/pods/default/p", ""},
                        {"GET", "/apis/v1/%65xplain/pods/default/p", ""},
                        {"GET", "/apis/v1/diagnosis/default/p", ""},
                        {"GET", "/apis/v1/scheduleexplanations/default/p", ""},
                        {"GET", "/apis/v1/nodes/a?includePods=true", ""}};
  s.tls = false;
  for (const Row& row : closed) {
    const auto answer = s.ask(row.method, row.target, row.body);
    EXPECT_EQ(answer.status, 403) << row.method << ' ' << row.target;
    EXPECT_THAT(answer.body, HasSubstr("over --secure-port only"));
  }
  for (const char* open :
       {"/healthz", "/readyz", "/livez", "/metrics", "/metrics/resources", "/configz", "/version",
        "/debug/flags", "/apis/v1/__services__", "/apis/v1/nodes/a"})
    EXPECT_EQ(s.ask("GET", open).status, 200) << open;
  EXPECT_EQ(s.ask("GET", "/nowhere").status, 404);
  EXPECT_EQ(s.scheduler->debug().topScores, 0);
  s.tls = true;
  for (const Row& row : closed)
    EXPECT_NE(s.ask(row.method, row.target, row.body).status, 403) << row.target;
}

TEST(HttpService, metrics_that_take_long_are_told_again_for_a_while) {
  Service s;
  int made = 0;
  s.clientMetrics = [&] {
    s.loop.advance(100ms);
    return fmt::format("made_total {}\n", ++made);
  };
  s.tls = false;
  EXPECT_THAT(s.get("/metrics"), HasSubstr("made_total 1\n"));
  EXPECT_THAT(s.get("/metrics"), HasSubstr("made_total 1\n"));
  s.loop.advance(900ms);
  EXPECT_THAT(s.get("/metrics"), HasSubstr("made_total 2\n"));
}

TEST(HttpService, debug_flags_can_be_opened_for_everybody) {
  Service s(defaultConfiguration(), true);
  s.tls = false;
  EXPECT_EQ(s.ask("PUT", "/debug/flags/s", "3").status, 200);
  EXPECT_EQ(s.scheduler->debug().topScores, 3);
  EXPECT_EQ(s.ask("DELETE", "/metrics").status, 403);
}

TEST(HttpService, answers_without_tls_take_no_more_than_a_tenth_of_the_time) {
  Service s;
  s.node(aNode("a"));
  s.whileAsked = [&] { s.loop.advance(100ms); };
  s.tls = false;
  EXPECT_EQ(s.ask("GET", "/apis/v1/nodes/a").status, 200);
  EXPECT_EQ(s.ask("GET", "/apis/v1/nodes/a").status, 429);
  EXPECT_EQ(s.ask("GET", "/healthz").status, 200);
  s.tls = true;
  EXPECT_EQ(s.ask("GET", "/apis/v1/nodes/a").status, 200);
  s.tls = false;
  s.loop.advance(900ms);
  EXPECT_EQ(s.ask("GET", "/apis/v1/nodes/a").status, 200);
}

TEST(HttpService, nobody_who_asks_for_much_keeps_others_from_metrics) {
  Service s;
  s.node(aNode("a"));
  s.create(aPod("p").request("cpu", "1"));
  s.run();
  s.whileAsked = [&] { s.loop.advance(100ms); };
  s.tls = false;
  for (const char* greedy : {"/metrics/resources", "/apis/v1/nodes/a"}) {
    s.ask("GET", greedy);
    EXPECT_THAT(s.get("/metrics/resources"), HasSubstr("pod=\"p\"")) << greedy;
    EXPECT_EQ(s.ask("GET", "/metrics").status, 200) << greedy;
  }
}

TEST(HttpService, diagnoses_pods_that_wait) {
  Service s;
  s.node(aNode("a"));
  s.node(aNode("b").taint("gpu"));
  s.create(aPod("p").request("cpu", "1"));
  s.run();
  const auto diagnosis = parseJson(s.get("/apis/v1/diagnosis/default/p"));
  EXPECT_FALSE(at(*diagnosis, "scheduleDiagnosis")) << "it runs";
  EXPECT_EQ(s.ask("GET", "/apis/v1/diagnosis/default/p").status, 404);
  EXPECT_EQ(s.ask("GET", "/apis/v1/diagnosis/default").status, 404);

  s.create(aPod("more").request("cpu", "3500m"));
  s.run();
  const auto waiting = parseJson(s.get("/apis/v1/diagnosis/default/more"));
  ASSERT_TRUE(waiting);
  EXPECT_EQ(textAt(*waiting, "questionedKey"), "default/more");
  EXPECT_EQ(toJson(*at(*waiting, "scheduleDiagnosis", "nodeFailedDetails")),
            R"x([{"failedPlugin":"NodeResourcesFit","reason":"Insufficient cpu",)x"
            R"x("preemptMightHelp":true,"failedNodes":["a"]},)x"
            R"x({"failedPlugin":"TaintToleration","reason":"node(s) had untolerated taint(s)",)x"
            R"x("preemptMightHelp":false,"failedNodes":["b"]}])x");

  const auto explanation = parseJson(s.get("/apis/v1/scheduleexplanations/default/more"));
  ASSERT_TRUE(explanation);
  EXPECT_EQ(textAt(*explanation, "kind"), "ScheduleExplanation");
  EXPECT_EQ(textAt(*explanation, "spec", "questionObjectKey"), "default/more");
  EXPECT_EQ(toJson(*at(*explanation, "status", "schedulable")), "false");
  EXPECT_THAT(textAt(*explanation, "status", "failedMessage"),
              HasSubstr("0/2 nodes are available: 1 Insufficient cpu"));
  const json::value& domain = at(*explanation, "status", "detailedExplanation")->get_array()[0];
  EXPECT_EQ(at(domain, "scheduleExplanation", "nodeFailedDetails")->get_array().size(), 2u);
}

// Another process may have observed a node that had it.
TEST(HttpService, shows_requests_for_a_resource_that_no_node_has) {
  Service s;
  s.node(aNode("a"));
  s.create(aPod("p").request("example.com/thing", "2").nodeName("a"));
  s.run();
  EXPECT_THAT(s.get("/apis/v1/nodes/a"),
              HasSubstr(R"("ScalarResources":{"example.com/thing":2}})"));
}

TEST(HttpService, devices_that_back_a_resource_are_not_missing) {
  Service s;
  auto backing = std::make_shared<api::DeviceClass>(*testing::gpuClass());
  backing->spec.extendedResourceName = "example.com/gpu";
  s.scheduler->stores().of<api::DeviceClass>().set(backing);
  s.scheduler->stores().of<api::ResourceSlice>().set(testing::gpuSlice("a", 1));
  s.node(aNode("a"));
  s.create(aPod("p").request("cpu", "5").request("example.com/gpu", "1"));
  s.run();
  const auto pending = parseJson(s.get("/apis/v1/explain/pods/default/p"));
  ASSERT_TRUE(pending);
  EXPECT_EQ(toJson(*at(*pending, "nearestMiss")), R"({"node":"a","missing":{"cpu":"1"}})");
}

TEST(HttpService, describes_nodes_and_explains_pods_on_the_leader) {
  Service s;
  s.node(aNode("a"));
  s.node(aNode("b").taint("gpu"));
  s.create(aPod("p").request("cpu", "1").hostPort(80));
  s.create(aPod("large").request("cpu", "3500m"));
  s.run();
  EXPECT_THAT(s.get("/apis/v1/__services__"), HasSubstr("/apis/v1/nodes/:nodeName"));
  EXPECT_THAT(
      s.get("/apis/v1/nodes/a"),
      AllOf(HasSubstr("{\"node\":{\"metadata\":{\"name\":\"a\""),
            HasSubstr("\"pods\":[{\"Pod\":{\"metadata\":{\"name\":\"p\""),
            HasSubstr("\"usedPorts\":{\"0.0.0.0\":[{\"Protocol\":\"TCP\",\"Port\":80}]}"),
            HasSubstr("\"requested\":{\"MilliCPU\":1000,\"Memory\":0,\"EphemeralStorage\":0,"
                      "\"AllowedPodNumber\":0,\"ScalarResources\":null}"),
            Not(HasSubstr("podsWithAffinity")), HasSubstr("\"generation\":")));
  EXPECT_EQ(s.ask("GET", "/apis/v1/nodes/z").status, 404);
  testing::PodBuilder apart = aPod("apart").apart("zone", "app", "web");
  api::Volume& volume = apart.object().spec.volumes.emplace_back();
  volume.persistentVolumeClaim.emplace().claimName = "data";
  apart.object().spec.nodeName = "a";
  s.create(apart);
  s.run();
  EXPECT_THAT(s.get("/apis/v1/nodes/a"),
              AllOf(HasSubstr("\"podsWithAffinity\":[{\"Pod\":{\"metadata\":{\"name\":\"apart\""),
                    HasSubstr("\"podsWithRequiredAntiAffinity\":[{\"Pod\":"),
                    HasSubstr("\"pvcRefCounts\":{\"default/data\":1}")));

  const auto pending = parseJson(s.get("/apis/v1/explain/pods/default/large"));
  ASSERT_TRUE(pending);
  EXPECT_EQ(textAt(*pending, "state"), "unschedulable");
  std::string rejections;
  for (const auto& entry : at(*pending, "rejections")->get_array()) {
    rejections += fmt::format("{} {} {} {}\n", toJson(*at(entry, "count")), textAt(entry, "plugin"),
                              toJson(*at(entry, "nodes")), toJson(*at(entry, "reasons")));
  }
  EXPECT_EQ(rejections,
            "1 TaintToleration [\"b\"] [\"node(s) had untolerated taint(s)\"]\n"
            "1 NodeResourcesFit [\"a\"] [\"Insufficient cpu\"]\n");
  EXPECT_EQ(toJson(*at(*pending, "nearestMiss", "missing")), "{\"cpu\":\"500m\"}");
  std::string nearly;
  for (const auto& entry : at(*pending, "butForOne")->get_array()) {
    nearly += fmt::format("{} {}: {}\n", textAt(entry, "plugin"), toJson(*at(entry, "nodes")),
                          textAt(entry, "change"));
  }
  EXPECT_EQ(nearly,
            "TaintToleration [\"b\"]: tolerate gpu:NoSchedule\n"
            "NodeResourcesFit [\"a\"]: 500m cpu less, or as much freed on the node\n");
  EXPECT_EQ(s.ask("GET", "/apis/v1/explain/pods/default/none").status, 404);

  const auto asked =
      s.ask("POST", "/apis/v1/explain/pods", toJson(api::encodeObject(*aPod("new").build())));
  EXPECT_EQ(asked.status, 200);
  EXPECT_THAT(asked.body,
              AllOf(HasSubstr("\"feasibleNodes\":1"), HasSubstr("\"bestNodes\":[{\"node\":\"a\"")));
  s.leading = false;
  EXPECT_EQ(s.ask("GET", "/apis/v1/__services__").status, 503);
}

TEST(HttpService, plugins_answer_below_their_names_and_say_what_would_help) {
  SchedulerConfiguration configuration = defaultConfiguration();
  configuration.profiles.front().plugins["multiPoint"].enabled.push_back(
      {std::string(testing::Slots::kName), 0});
  struct WithSlots : Service {
    explicit WithSlots(SchedulerConfiguration configuration) {
      registry[std::string(testing::Slots::kName)] = [](Fields&, Handle& handle) {
        return std::make_unique<testing::Slots>(handle);
      };
      configuration_ = std::move(configuration);
      service.reset();
      create();
      service.emplace(*scheduler, metrics, loop,
                      ServiceState{.leading = [this] { return leading; },
                                   .unhealthy = [this] { return unhealthy; },
                                   .synced = [this] { return synced; },
                                   .stopping = [] { return false; },
                                   .clientMetrics = [] { return ""; }});
      scheduler->start();
    }
  } s(std::move(configuration));
  auto node = aNode("n1");
  node.object().metadata.annotations[testing::Slots::kSlots] = "0-2";
  s.node(node);
  EXPECT_THAT(s.get("/apis/v1/__services__"), HasSubstr("/apis/v1/plugins/Slots/nodes/:nodeName"));
  EXPECT_THAT(s.get("/apis/v1/plugins/Slots/nodes/n1"), HasSubstr(R"("free":"0-2")"));
  EXPECT_EQ(s.ask("GET", "/apis/v1/plugins/Slots/nodes/n2").status, 404);
  auto pod = aPod("p");
  pod.object().metadata.annotations[testing::Slots::kWants] = "5";
  s.create(pod);
  s.run();
  EXPECT_THAT(s.get("/apis/v1/explain/pods/default/p"), HasSubstr("2 slots fewer"));
  s.leading = false;
  EXPECT_EQ(s.ask("GET", "/apis/v1/plugins/Slots/nodes/n1").status, 503);
}

TEST(ExplanationWriter, does_not_rest_for_as_long_as_the_network_takes) {
  testing::SchedulerFixture f;
  f.api.latency = 1s;
  int answered = 0;
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    if (request.verb == kube::Verb::Patch) ++answered;
    if (request.verb == kube::Verb::Patch) return "{}";
    return R"({"items": [{"metadata": {"namespace": "default", "name": "a"}},
                         {"metadata": {"namespace": "default", "name": "b"}},
                         {"metadata": {"namespace": "default", "name": "c"}}]})";
  };
  ExplanationWriter writer(*f.scheduler, f.api, f.loop);
  writer.start();
  f.run(5s);
  EXPECT_EQ(answered, 3);
}

}  // namespace
}  // namespace koord::scheduler
