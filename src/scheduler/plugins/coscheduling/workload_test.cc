// Gangs of Kubernetes' own PodGroups (scheduling.k8s.io).

#include "api/codec.h"
#include "scheduler/plugins/coscheduling/gang_fixture.h"

namespace koord::scheduler {
namespace {

using ::testing::AllOf;
using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using testing::GangFixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodBuilder;
using ::testing::SizeIs;
using namespace std::chrono_literals;

struct WorkloadFixture : GangFixture {
  Store<api::WorkloadPodGroup>& workloads() {
    return scheduler->stores().of<api::WorkloadPodGroup>();
  }
  // `spec` in JSON.
  void workload(const std::string& name, const std::string& spec) {
    auto group = api::decodeText<api::WorkloadPodGroup>(
        R"({"metadata": {"namespace": "default", "name": ")" + name + R"(", "uid": "u-)" + name +
        R"(", "resourceVersion": "7", "generation": 3}, "spec": )" + spec + "}");
    ASSERT_TRUE(group) << group.error().message;
    workloads().set(std::make_shared<api::WorkloadPodGroup>(*std::move(group)));
  }
  void gangOf(const std::string& name, int minimum) {
    workload(name,
             R"({"schedulingPolicy": {"gang": {"minCount": )" + std::to_string(minimum) + "}}}");
  }
  PodBuilder grouped(const std::string& name, const std::string& group, const char* cpu = "1") {
    PodBuilder pod = aPod(name).request("cpu", cpu);
    pod.object().spec.schedulingGroup = api::PodSchedulingGroup{group};
    return pod;
  }
};

TEST(Workload, members_wait_for_their_group_and_for_its_minimum) {
  WorkloadFixture f;
  f.node(aNode("n1"));
  f.create(f.grouped("a", "g"));
  f.create(f.grouped("b", "g"));
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  f.gangOf("g", 3);
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  f.create(f.grouped("c", "g"));
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(3));
  f.expectSound();
}

TEST(Workload, all_of_the_minimum_get_a_node_or_nobody) {
  WorkloadFixture f;
  f.node(aNode("n1"));
  f.gangOf("g", 3);
  for (const char* name : {"a", "b", "c"}) f.create(f.grouped(name, "g", "1500m"));
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_THAT(f.lastCondition("a"), HasSubstr("scheduling.k8s.io/default/g"));
  f.node(aNode("n2"));
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(3));
}

TEST(Workload, members_beyond_the_minimum_come_later) {
  WorkloadFixture f;
  f.node(aNode("n1"));
  f.gangOf("g", 2);
  f.create(f.grouped("a", "g"));
  f.create(f.grouped("b", "g"));
  f.run();
  f.create(f.grouped("c", "g"));
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(3));
}

// As in kube-scheduler: minCount counts the pods that exist.
TEST(Workload, a_replaced_member_waits_with_an_event_when_most_of_the_others_have_finished) {
  WorkloadFixture f;
  f.node(aNode("n1"));
  f.gangOf("g", 3);
  for (const char* name : {"a", "b", "c"}) f.create(f.grouped(name, "g"));
  f.run();
  ASSERT_THAT(f.placed(), SizeIs(3));
  for (const char* finished : {"a", "b"}) f.remove(finished);  // informers leave finished pods out
  f.remove("c");
  f.create(f.grouped("d", "g"));
  f.run(30s);
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_THAT(f.events, ::testing::Contains(HasSubstr("minCount: 3 pods are required, 1 exist")));
  f.gangOf("g", 1);
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("d"));
}

TEST(Workload, of_a_basic_group_each_is_placed_by_itself) {
  WorkloadFixture f;
  f.node(aNode("n1"));
  f.workload("g", R"({"schedulingPolicy": {"basic": {}}})");
  f.create(f.grouped("small", "g"));
  f.create(f.grouped("huge", "g", "900"));
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("small"));
}

TEST(Workload, the_two_kinds_of_groups_do_not_share_their_names) {
  WorkloadFixture f;
  f.node(aNode("n1"));
  f.gang("g", 2);
  f.gangOf("g", 2);
  f.create(f.grouped("a", "g"));
  f.create(f.member("b", "g"));
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  f.create(f.grouped("c", "g"));
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("a", "c"));
}

TEST(Workload, labels_of_a_pod_have_the_word_over_its_scheduling_group) {
  WorkloadFixture f;
  f.node(aNode("n1"));
  f.gang("labelled", 1);
  PodBuilder pod = f.member("a", "labelled");
  pod.object().spec.schedulingGroup = api::PodSchedulingGroup{"there-is-none"};
  f.create(std::move(pod));
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("a"));
}

// Racks r1 with one node, and r2 with two: three members of 2 CPUs fit r2 alone.
struct Racks : WorkloadFixture {
  Racks() {
    node(aNode("n1").label("rack", "r1"));
    node(aNode("n2").label("rack", "r2"));
    node(aNode("n3").label("rack", "r2"));
    node(aNode("n4"));
    workload("g", R"({"schedulingPolicy": {"gang": {"minCount": 3}},
                      "schedulingConstraints": {"topology": [{"key": "rack"}]}})");
  }
};

TEST(Workload, a_gang_is_placed_within_one_topology_domain) {
  Racks f;
  for (const char* name : {"a", "b", "c"}) f.create(f.grouped(name, "g", "2"));
  f.run();
  ASSERT_THAT(f.placed(), SizeIs(3));
  for (const char* name : {"a", "b", "c"}) EXPECT_NE(f.nodeOf(name), "n1") << name;
  for (const char* name : {"a", "b", "c"}) EXPECT_NE(f.nodeOf(name), "n4") << name;
}

TEST(Workload, a_later_member_stays_in_the_domain_of_the_others) {
  Racks f;
  for (const char* name : {"a", "b", "c", "d"}) f.create(f.grouped(name, "g", "2"));
  f.run();
  ASSERT_THAT(f.placed(), SizeIs(4));
  f.create(f.grouped("e", "g", "2"));
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(4)) << "r2 is full, and n1 and n4 are elsewhere";
}

TEST(Workload, without_a_domain_that_has_room_nobody_is_placed) {
  Racks f;
  for (const char* name : {"a", "b", "c"}) f.create(f.grouped(name, "g", "3"));
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
}

TEST(Workload, a_minimum_that_is_not_above_zero_is_named) {
  const auto group = api::decodeText<api::WorkloadPodGroup>(
      R"({"metadata": {"namespace": "default", "name": "g"},
          "spec": {"schedulingPolicy": {"gang": {"minCount": 0}},
                   "schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}}})");
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_THAT(gangSpecOf(*group, {}).problems,
              ElementsAre(HasSubstr("spec.schedulingPolicy.gang.minCount: Invalid value: 0"),
                          HasSubstr("spec.schedulingConstraints.topology: Too many: 2")));
  api::WorkloadPodGroup none;
  EXPECT_THAT(gangSpecOf(none, {}).problems,
              ElementsAre(HasSubstr("spec.schedulingPolicy: Required value")));
}

// An API that accepts writes of status.
struct StatusTest : ::testing::Test {
  WorkloadFixture f;
  std::vector<std::string> patches;

  StatusTest() {
    f.api.answer = [this](const kube::Request& request) { return answer(request); };
    f.restart();
    f.node(aNode("n1"));
    f.gangOf("g", 2);
  }
  Result<std::string> answer(const kube::Request& request) {
    if (request.resource == "podgroups" && request.group == "scheduling.k8s.io") {
      EXPECT_EQ(request.subresource, "status");
      patches.push_back(request.body);
      const auto patch = parseJson(request.body);
      auto group = std::make_shared<api::WorkloadPodGroup>(
          *f.workloads().get({request.namespace_, request.name}));
      group->status = *api::decode<api::WorkloadPodGroupStatus>(*find(*patch, "status"));
      f.loop.post([this, group] { f.workloads().set(group); });
      return std::string("{}");
    }
    if (request.verb == kube::Verb::List)
      return std::string(R"({"metadata": {"resourceVersion": "1"}, "items": []})");
    return f.SchedulerFixture::answer(request);
  }
};

TEST_F(StatusTest, says_why_the_group_waits_and_that_it_is_scheduled_for_good) {
  f.create(f.grouped("a", "g", "3"));
  f.create(f.grouped("b", "g", "3"));
  f.run(30s);
  ASSERT_THAT(patches, SizeIs(1));
  EXPECT_THAT(patches[0],
              AllOf(HasSubstr(R"("type":"PodGroupScheduled")"), HasSubstr(R"("status":"False")"),
                    HasSubstr(R"("reason":"Unschedulable")"),
                    HasSubstr(R"("observedGeneration":3)"), HasSubstr(R"("resourceVersion":"7")")));
  f.node(aNode("n2"));
  f.run(30s);
  ASSERT_THAT(patches, SizeIs(2));
  EXPECT_THAT(patches[1],
              AllOf(HasSubstr(R"("status":"True")"), HasSubstr(R"("reason":"Scheduled")")));
  f.remove("a");
  f.create(f.grouped("c", "g", "900"));
  f.run(30s);
  EXPECT_THAT(patches, SizeIs(2));
}

}  // namespace
}  // namespace koord::scheduler
