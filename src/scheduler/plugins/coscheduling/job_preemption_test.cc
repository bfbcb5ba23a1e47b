// Preemption for whole gangs (enablePreemption), in a whole scheduler.

#include "scheduler/plugins/coscheduling/gang_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::GangFixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

TEST(JobPreemption, a_job_preempts_for_all_of_its_members_at_once) {
  GangFixture f(json::object{{"enablePreemption", true}});
  for (const char* node : {"n1", "n2"}) f.node(aNode(node));
  for (const char* low : {"low-1", "low-2"}) f.create(aPod(low).request("cpu", "4").priority(1));
  f.run();
  ASSERT_THAT(f.placed(), SizeIs(2));
  f.gang("g", 2);
  for (int i = 0; i < 2; ++i) f.create(f.member("g-" + std::to_string(i), "g", "3").priority(10));
  f.run(1s);
  EXPECT_THAT(f.deletions, SizeIs(2));
  f.run(20s);
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-1"));
  EXPECT_THAT(f.conditions, Contains(HasSubstr("preempt success, alreadyWaitingForBound: 2/2")));
}

// Where extenders judge nodes, members are placed one after the other only.
TEST(JobPreemption, a_job_for_which_nobody_has_to_leave_comes_back_for_its_promises) {
  GangFixture f(json::object{{"enablePreemption", true}});
  const auto withExtender = parseConfiguration(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "extenders: [{urlPrefix: 'http://host/', prioritizeVerb: rank, weight: 1}]");
  ASSERT_TRUE(withExtender);
  f.configuration_.extenders = withExtender->extenders;
  f.network.listen([](net::ServerRequest, std::shared_ptr<net::Responder> responder) {
    responder->respond(200, {{"Content-Type", "application/json"}}, std::string("[]"));
  });
  f.restart();
  f.api.answer = [&](const kube::Request& request) {
    const auto body = parseJson(request.body);
    const auto node = body ? textAt(*body, "status", "nominatedNodeName") : "";
    if (request.subresource == "status" && !node.empty()) {
      auto nominated = std::make_shared<api::Pod>(*f.pods.at(request.name));
      nominated->status.nominatedNodeName = node;
      nominated->metadata.resourceVersion += "0";
      f.replace(nominated);
    }
    return f.answer(request);
  };
  f.membersOfTwoSizes();
  f.run(900ms);
  EXPECT_THAT(f.conditions, Contains(HasSubstr("preemption: no victims are needed")));
  EXPECT_EQ(f.attemptsOf("g-2"), 1u) << "it would find the same again";
  f.run(2s);
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-1", "g-2", "low-1", "low-2"));
  EXPECT_THAT(f.deletions, IsEmpty());
  f.expectSound();
}

TEST(JobPreemption, a_job_whose_eviction_is_refused_is_not_tried_again_at_once) {
  GangFixture f(json::object{{"enablePreemption", true}});
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    if (request.verb == kube::Verb::Delete) return fail(ErrorCode::Forbidden, "not this one");
    return f.answer(request);
  };
  f.node(aNode("n1"));
  f.create(aPod("low").request("cpu", "4").priority(1));
  f.run();
  f.gang("g", 2);
  for (int i = 0; i < 2; ++i) f.create(f.member("g-" + std::to_string(i), "g", "2").priority(10));
  f.run(10s);
  EXPECT_GE(f.attemptsOf("g-0"), 2u);
  EXPECT_LE(f.attemptsOf("g-0"), 12u);
  EXPECT_EQ(f.nodeOf("low"), "n1");
}

TEST(JobPreemption, a_job_whose_members_would_not_all_fit_preempts_nobody) {
  GangFixture f(json::object{{"enablePreemption", true}});
  f.node(aNode("n1"));
  f.create(aPod("low").request("cpu", "4").priority(1));
  f.run();
  f.gang("g", 2);
  for (int i = 0; i < 2; ++i)
    f.create(f.member("g-" + std::to_string(i), "g", "2500m").priority(10));
  f.run(20s);
  EXPECT_THAT(f.deletions, IsEmpty());
}

}  // namespace
}  // namespace koord::scheduler
