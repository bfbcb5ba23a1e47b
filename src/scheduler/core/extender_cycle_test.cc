// Scheduling with extenders: their requests, and the effect of their answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

SchedulerConfiguration withExtenders(const std::string& extenders) {
  auto read = parseConfiguration(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders: [" +
      extenders + "]");
  EXPECT_TRUE(read) << read.error().message;
  return *read;
}

// Extenders at http://host/one and http://host/two, answering from a table.
struct ExtendedFixture : testing::SchedulerFixture {
  explicit ExtendedFixture(const std::string& extenders)
      : SchedulerFixture(withExtenders(extenders)) {
    network.listen([this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
      const auto body = parseJson(request.body);
      asked.push_back(request.target);
      last = body ? *body : json::value();
      const auto answer = answers.find(request.target);
      if (answer == answers.end()) return responder->respond(500, {}, std::string());
      const std::string text = answer->second(last);
      responder->respond(200, {{"Content-Type", "application/json"}}, text);
    });
  }
  void says(const std::string& target, std::string answer) {
    answers[target] = [answer = std::move(answer)](const json::value&) { return answer; };
  }

  std::map<std::string, std::function<std::string(const json::value&)>> answers;
  std::vector<std::string> asked;
  json::value last;
};

const std::string kByName =
    "{urlPrefix: 'http://host/one/', filterVerb: filter, nodeCacheCapable: true}";

TEST(Extenders, whose_scores_cannot_be_read_have_none) {
  ExtendedFixture f(
      "{urlPrefix: 'http://host/one/', prioritizeVerb: rank, weight: 1, nodeCacheCapable: true}");
  for (const char* name : {"a", "b"}) f.node(aNode(name));
  f.says("/one/rank", R"([{"Host": "a", "Score": 7.5}])");
  f.scheduler->start();
  f.create(aPod("p").request("cpu", "1"));
  f.run();
  EXPECT_THAT(f.asked, Contains("/one/rank"));
  EXPECT_NE(f.nodeOf("p"), "");
}

TEST(Extenders, filter_the_nodes_that_pass_the_plugins) {
  ExtendedFixture f(kByName);
  for (const char* name : {"a", "b", "c"}) f.node(aNode(name));
  f.node(aNode("tainted").taint("gpu"));
  f.says("/one/filter", R"({"NodeNames": ["b"], "FailedNodes": {"a": "busy", "c": "busy"}})");
  f.scheduler->start();
  f.create(aPod("p").request("cpu", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "b");
  EXPECT_EQ(textAt(f.last, "Pod", "metadata", "name"), "p");
  EXPECT_TRUE(at(f.last, "Nodes")->is_null());
  EXPECT_EQ(at(f.last, "NodeNames")->get_array().size(), 3u);
}

TEST(Extenders, get_whole_nodes_unless_they_have_them) {
  ExtendedFixture f("{urlPrefix: 'http://host/one', filterVerb: filter}");
  f.node(aNode("a"));
  f.node(aNode("b"));
  f.says("/one/filter", R"({"nodes": {"items": [{"metadata": {"name": "a"}}]}})");
  f.scheduler->start();
  f.create(aPod("p"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "a");
  EXPECT_TRUE(at(f.last, "NodeNames")->is_null());
  EXPECT_EQ(at(f.last, "Nodes", "items")->get_array().size(), 2u);
}

TEST(Extenders, are_among_the_reasons_and_any_event_brings_the_pod_back) {
  ExtendedFixture f(kByName);
  for (const char* name : {"a", "b", "c"}) f.node(aNode(name));
  f.says("/one/filter", R"({"NodeNames": [], "FailedNodes": {"a": "busy", "b": "busy"},
      "FailedAndUnresolvableNodes": {"b": "no license"}})");
  f.scheduler->start();
  f.create(aPod("p").priority(10));
  f.create(aPod("running").nodeName("b"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "");
  EXPECT_THAT(f.conditions,
              Contains("p Unschedulable: 0/3 nodes are available: 1 busy, 1 no license. no new "
                       "claims to deallocate, preemption: "
                       "0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 "
                       "Preemption is not helpful for scheduling."));
  f.says("/one/filter", R"({"NodeNames": ["c"]})");
  f.remove("running");
  f.run(10s);
  EXPECT_EQ(f.nodeOf("p"), "c");
}

TEST(Extenders, that_fail_fail_the_pod_unless_they_may_be_ignored) {
  struct Row {
    const char* extender;
    const char* answer;
    const char* condition;
  };
  for (const Row& row : {
           Row{"", "", "failed filter with extender at URL http://host/one/filter, code 500"},
           Row{"", R"({"Error": "out of order"})", "p SchedulerError: out of order"},
           Row{"", R"({"NodeNames": ["z"]})",
               "extender \"http://host/one/\" claims a filtered node \"z\" which is not found in "
               "the input "
               "node list"},
           Row{", ignorable: true", "", ""},
       }) {
    ExtendedFixture f("{urlPrefix: 'http://host/one/', filterVerb: filter, nodeCacheCapable: true" +
                      std::string(row.extender) + "}");
    f.node(aNode("a"));
    f.node(aNode("b"));
    if (*row.answer) f.says("/one/filter", row.answer);
    f.scheduler->start();
    f.create(aPod("p"));
    f.run(500ms);
    if (*row.condition) {
      EXPECT_THAT(f.conditions, ElementsAre(HasSubstr(row.condition)));
    } else {
      EXPECT_NE(f.nodeOf("p"), "");
    }
  }
}

TEST(Extenders, that_fail_end_a_nomination) {
  ExtendedFixture f(kByName);
  f.node(aNode("a"));
  f.says("/one/filter", R"({"Error": "out of order"})");
  f.scheduler->start();
  f.create(aPod("p").nominated("a"));
  f.run(500ms);
  EXPECT_TRUE(std::ranges::any_of(f.api.calls, [](const kube::Request& call) {
    return call.subresource == "status" &&
           call.body.find(R"("nominatedNodeName":null)") != std::string::npos;
  }));
}

TEST(Extenders, that_hang_fail_after_their_timeout) {
  ExtendedFixture f("{urlPrefix: 'http://host/one', filterVerb: filter, httpTimeout: 2s}");
  f.node(aNode("a"));
  f.network.faults.swallow = 1;
  f.scheduler->start();
  f.create(aPod("p"));
  f.run(1900ms);
  EXPECT_THAT(f.conditions, ElementsAre());
  f.run(200ms);
  EXPECT_THAT(f.conditions, ElementsAre(HasSubstr("SchedulerError")));
}

TEST(Extenders, add_their_weighted_scores_to_those_of_the_plugins) {
  ExtendedFixture f(
      "{urlPrefix: 'http://host/one', prioritizeVerb: rank, weight: 5},"
      "{urlPrefix: 'http://host/two', prioritizeVerb: rank, weight: 1, nodeCacheCapable: true}");
  f.node(aNode("empty"));
  f.node(aNode("full"));
  f.says("/two/rank", R"([{"Host": "empty", "Score": 10}])");
  f.says("/one/rank", R"([{"Host": "full", "Score": 10}, {"Host": "empty", "Score": 0}])");
  f.scheduler->start();
  f.create(aPod("running").nodeName("full").request("cpu", "2"));
  f.run();
  f.create(aPod("p").request("cpu", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "full");
  f.answers.erase("/one/rank");  // its failure only loses its scores
  f.create(aPod("q").request("cpu", "100m"));
  f.run();
  EXPECT_EQ(f.nodeOf("q"), "empty");
}

TEST(Extenders, bind_the_pods_that_concern_them) {
  ExtendedFixture f(
      "{urlPrefix: 'http://host/one', bindVerb: bind, managedResources: [{name: example.com/gpu, "
      "ignoredByScheduler: true}]}");
  f.node(aNode("a"));
  f.answers["/one/bind"] = [&f](const json::value& body) -> std::string {
    auto bound = std::make_shared<api::Pod>(*f.pods.at(std::string(textAt(body, "PodName"))));
    bound->spec.nodeName = textAt(body, "Node");
    bound->metadata.resourceVersion += "0";
    f.replace(bound);
    return "{}";
  };
  f.scheduler->start();
  f.create(aPod("gpu").request("example.com/gpu", "1"));  // no node has it
  f.create(aPod("plain"));
  f.run();
  EXPECT_EQ(f.nodeOf("gpu"), "a");
  EXPECT_EQ(f.nodeOf("plain"), "a");
  EXPECT_THAT(f.asked, ElementsAre("/one/bind"));
  EXPECT_EQ(f.bindings.count("gpu"), 0u);
  EXPECT_EQ(textAt(f.last, "PodUID"), "uid-default-gpu");

  f.says("/one/bind", R"({"Error": "no lease"})");
  f.create(aPod("refused").request("example.com/gpu", "1"));
  f.run(500ms);
  EXPECT_EQ(f.nodeOf("refused"), "");
  EXPECT_THAT(f.conditions, Contains("refused SchedulerError: no lease"));
}

TEST(Extenders, choose_among_the_victims_of_preemption) {
  for (const bool cached : {false, true}) {
    ExtendedFixture f("{urlPrefix: 'http://host/one', preemptVerb: preempt, nodeCacheCapable: " +
                      std::string(cached ? "true" : "false") + "}");
    f.node(aNode("a"));
    f.node(aNode("b"));
    f.scheduler->start();
    f.create(aPod("low").nodeName("a").request("cpu", "3").priority(1));
    f.create(aPod("middle").nodeName("b").request("cpu", "3").priority(5));
    f.run();
    f.says("/one/preempt",
           R"({"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": "uid-default-middle"}],
        "NumPDBViolations": 0}}})");
    f.create(aPod("p").request("cpu", "3").priority(10));
    f.run(10s);
    EXPECT_THAT(f.deletions, ElementsAre("middle"));
    EXPECT_EQ(f.nodeOf("p"), "b");
    EXPECT_EQ(at(f.last, cached ? "NodeNameToVictims" : "NodeNameToMetaVictims")->is_null(), true);
    const auto* victims =
        at(f.last, cached ? "NodeNameToMetaVictims" : "NodeNameToVictims", "a", "Pods");
    ASSERT_TRUE(victims);
    EXPECT_EQ(cached ? textAt(victims->get_array()[0], "UID")
                     : textAt(victims->get_array()[0], "metadata", "uid"),
              "uid-default-low");
  }
}

TEST(Extenders, may_forbid_preemption_altogether) {
  ExtendedFixture f("{urlPrefix: 'http://host/one', preemptVerb: preempt}");
  f.node(aNode("a"));
  f.scheduler->start();
  f.create(aPod("low").nodeName("a").request("cpu", "3").priority(1));
  f.run();
  f.says("/one/preempt", R"({"NodeNameToMetaVictims": {}})");
  f.create(aPod("p").request("cpu", "3").priority(10));
  f.run(500ms);
  EXPECT_THAT(f.deletions, ElementsAre());
  EXPECT_THAT(f.conditions,
              Contains("p Unschedulable: 0/1 nodes are available: 1 Insufficient cpu. no new "
                       "claims to deallocate, preemption: no "
                       "candidate node for preemption"));
}

TEST(Extenders, nobody_leaves_for_a_pod_that_is_deleted_while_they_are_asked) {
  ExtendedFixture f("{urlPrefix: 'http://host/one', preemptVerb: preempt, nodeCacheCapable: true}");
  f.node(aNode("a"));
  f.scheduler->start();
  f.create(aPod("low").nodeName("a").request("cpu", "3").priority(1));
  f.run();
  f.network.faults.minDelay = f.network.faults.maxDelay = 1s;
  f.says("/one/preempt",
         R"({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-default-low"}]}}})");
  f.create(aPod("p").request("cpu", "3").priority(10));
  f.run(500ms);
  f.remove("p");
  f.run(1min);
  EXPECT_THAT(f.asked, Contains("/one/preempt"));
  EXPECT_THAT(f.deletions, ElementsAre());
}

TEST(Extenders, a_question_that_is_answered_while_they_are_asked_changes_no_reasons) {
  ExtendedFixture f("{urlPrefix: 'http://host/one', preemptVerb: preempt, nodeCacheCapable: true}");
  f.node(aNode("a"));
  f.scheduler->start();
  f.create(aPod("low").nodeName("a").request("cpu", "3").priority(1));
  f.run();
  const auto onlyOnA = [](testing::PodBuilder pod) {
    api::NodeSelectorTerm term;
    term.matchFields.push_back({"metadata.name", "In", {"a"}});
    return pod.requireNode(term);
  };
  f.answers["/one/preempt"] = [&](const json::value&) {
    CycleState state;
    const PodPtr other =
        f.scheduler->describe(onlyOnA(aPod("q").request("memory", "100Gi")).build());
    (void)f.scheduler->profiles().begin()->second->search().find(state, other);
    return R"({"NodeNameToMetaVictims": {}})";
  };
  f.create(onlyOnA(aPod("p").request("cpu", "3").priority(10)));
  f.run(500ms);
  EXPECT_THAT(f.conditions, Contains(HasSubstr("p Unschedulable: 0/1 nodes are available: 1 "
                                               "Insufficient cpu. no new claims to deallocate, "
                                               "preemption: no candidate")));
}

TEST(Extenders, hold_up_the_pods_behind_but_not_what_happens_to_the_cluster) {
  ExtendedFixture f(kByName);
  f.network.faults.minDelay = f.network.faults.maxDelay = 1s;
  f.node(aNode("a"));
  f.node(aNode("b"));
  f.answers["/one/filter"] = [](const json::value& body) {
    return toJson(json::object{{"NodeNames", *at(body, "NodeNames")}});
  };
  f.scheduler->start();
  f.create(aPod("first"));
  f.create(aPod("second"));
  f.create(aPod("deleted"));
  f.run(1s);
  f.scheduler->nodeDeleted(aNode("a").build());
  f.run(1500ms);
  EXPECT_EQ(f.nodeOf("first"), "b");  // the extender was asked about a, which is gone
  EXPECT_EQ(f.asked.size(), 1u);
  EXPECT_EQ(f.nodeOf("second"), "");
  f.run(2s);
  f.remove("deleted");  // during the request
  f.run();
  EXPECT_EQ(f.nodeOf("second"), "b");
  EXPECT_EQ(f.bindings.count("deleted"), 0u);
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 0u);
}

TEST(Extenders, are_asked_about_a_nominated_node_first) {
  ExtendedFixture f(kByName);
  f.node(aNode("a"));
  f.node(aNode("b"));
  f.answers["/one/filter"] = [](const json::value& body) {
    return toJson(json::object{{"NodeNames", *at(body, "NodeNames")}});
  };
  f.scheduler->start();
  f.create(aPod("p").nominated("b"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "b");
  EXPECT_EQ(toJson(*at(f.last, "NodeNames")), R"(["b"])");
}

TEST(Extenders, are_not_asked_about_nodes_that_went_while_they_thought) {
  ExtendedFixture f(kByName);
  for (const char* name : {"a", "b", "c"}) f.node(aNode(name));
  bool gone = false;
  f.answers["/one/filter"] = [&](const json::value& body) {
    if (std::exchange(gone, true))
      return toJson(json::object{{"NodeNames", *at(body, "NodeNames")}});
    f.scheduler->nodeDeleted(aNode("c").build());
    return std::string(R"({"NodeNames": [], "FailedNodes": {"b": "busy"}})");
  };
  f.scheduler->start();
  f.create(aPod("p").nominated("b"));
  f.run();
  EXPECT_EQ(toJson(*at(f.last, "NodeNames")), R"(["a","b"])");
  EXPECT_NE(f.nodeOf("p"), "");
}

}  // namespace
}  // namespace koord::scheduler
