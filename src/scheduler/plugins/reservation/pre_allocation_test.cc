#include "scheduler/plugins/reservation/pre_allocation.h"

#include <gmock/gmock.h>

#include "scheduler/plugins/reservation/fixture.h"
#include "scheduler/plugins/reservation/operating_pod.h"
#include "scheduler/plugins/reservation/unit_kind.h"

namespace koord::scheduler {
namespace {

using testing::aPod;
using testing::aReservation;
using ::testing::ElementsAre;
using testing::forWeb;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ReservationBuilder;
using testing::ReservationWorld;
using testing::webPod;

// A reservation that may take pods over.
ReservationBuilder taking(const char* name, const char* cpu) {
  auto builder = forWeb(name, cpu).policy("Restricted");
  builder.object().spec.preAllocation = true;
  return builder;
}
ReservationBuilder demanding(ReservationBuilder builder) {
  return builder.label("scheduling.koordinator.sh/pre-allocation-required", "true");
}

struct PreAllocations : ::testing::Test, ReservationWorld {
  explicit PreAllocations(const char* yaml = testing::kWithReservations)
      : ReservationWorld(makeRegistry(), yaml) {}
  PodPtr unit(const std::string& name) {
    return makePodInfo(cluster(), index().named(name)->unit, &index().kind());
  }
  // Its node, or the reason of the failure.
  std::string place(const ReservationBuilder& builder) {
    set(builder);
    const PodPtr pod = unit(builder.build()->metadata.name);
    CycleState state;
    const SearchResult found = world.search().find(state, pod, {});
    if (!found.status.ok())
      return found.status.rejected() ? found.diagnosis.message() : found.status.message();
    const std::string taken = take(state, pod, found.node);
    if (!cluster().findPod(pod->uid())) return taken;
    for (const auto& [uid, share] : index().ledger().promises())
      if (share.reservation == pod->uid()) who.push_back(uid);
    return taken;
  }
  std::vector<std::string> who;  // the pods that were taken over
};

TEST_F(PreAllocations, are_counted_with_whom_they_take_over_and_not_beside_him) {
  node("n", "4");
  running(webPod("web", "3"), "n", "");
  EXPECT_EQ(place(taking("r", "3")), "n");
  EXPECT_THAT(who, ElementsAre("uid-default-web"));
  EXPECT_EQ(used("n"), 3000);
  expectSound();
  EXPECT_TRUE(cluster().forget("uid-r"));
  EXPECT_EQ(used("n"), 3000) << "an attempt that fails leaves him as he was";
}

TEST_F(PreAllocations, hold_on_to_whom_they_have_until_it_is_written_down) {
  node("n", "8");
  running(webPod("web", "3"), "n", "");
  EXPECT_EQ(place(taking("r", "3")), "n");
  running(webPod("web", "3"), "n", "");  // seen again, without the annotation
  EXPECT_EQ(used("n"), 3000);
  running(webPod("web", "3"), "n", "r");
  EXPECT_THAT(index().ledger().promises(), IsEmpty());
  EXPECT_EQ(used("n"), 3000);
  expectSound();
}

TEST_F(PreAllocations, begin_with_whom_they_took_over_before_they_failed) {
  node("n", "8");
  running(webPod("fuller", "3"), "n", "");
  running(webPod("told", "2"), "n", "r");
  EXPECT_EQ(place(taking("r", "3")), "n");
  EXPECT_THAT(who, IsEmpty()) << "it says so already";
  EXPECT_EQ(used("n"), 6000);
  expectSound();
}

TEST_F(PreAllocations, take_nobody_over_twice) {
  node("n", "8");
  running(webPod("web", "3"), "n", "");
  EXPECT_EQ(place(taking("r", "3")), "n");
  EXPECT_THAT(place(demanding(taking("q", "3"))),
              HasSubstr("no pod match reservation with pre allocation required"));
}

TEST_F(PreAllocations, go_to_free_room_where_there_is_nobody) {
  node("n", "8");
  running(aPod("stranger").request("cpu", "4"), "n", "");
  EXPECT_EQ(place(taking("r", "3")), "n");
  EXPECT_THAT(who, IsEmpty());
  EXPECT_EQ(used("n"), 7000);
  EXPECT_THAT(place(taking("q", "3")), HasSubstr("Insufficient cpu"));
}

TEST_F(PreAllocations, take_the_pod_that_fills_them_most) {
  node("n", "8");
  running(webPod("small", "1"), "n", "");
  running(webPod("fits", "3"), "n", "");
  running(webPod("large", "4"), "n", "");
  EXPECT_EQ(place(taking("r", "3")), "n");
  EXPECT_THAT(who, ElementsAre("uid-default-fits"));
}

TEST_F(PreAllocations, of_several_take_as_many_as_they_need) {
  node("n", "16");
  running(webPod("p1", "6"), "n", "");
  running(webPod("p2", "5"), "n", "");
  running(webPod("p3", "3"), "n", "");
  auto r = taking("r", "10");
  r.object().spec.preAllocationPolicy.emplace().enableMultiple = true;
  EXPECT_EQ(place(r), "n");
  EXPECT_THAT(who, ElementsAre("uid-default-p1", "uid-default-p3"));
  EXPECT_EQ(used("n"), 15000) << "10 for it and 5 for the one that it left";
  expectSound();
}

TEST_F(PreAllocations, look_for_somebody_anew_whatever_has_changed) {
  node("n", "8");
  running(aPod("stranger").request("cpu", "1"), "n", "");
  const auto r = demanding(taking("r", "3"));
  EXPECT_THAT(place(r), HasSubstr("no pod match reservation with pre allocation required"));
  running(webPod("web", "3"), "n", "");  // on the node that has changed last
  EXPECT_EQ(place(r), "n");
  EXPECT_THAT(who, ElementsAre("uid-default-web"));
}

TEST_F(PreAllocations, take_over_whom_they_could_not_while_he_was_being_bound) {
  for (const bool demands : {false, true}) {
    const std::string name = demands ? "strict" : "mild";
    node(name, "4");
    world.node(testing::aNode(name == "mild" ? "strict" : "mild").allocatable("cpu", "0"));
    const auto r = demands ? demanding(taking("r2", "3")) : taking("r1", "3");
    ASSERT_TRUE(cluster().assume(world.pod(webPod("web-" + name, "3")), id(name)));
    EXPECT_NE(place(r), name);
    running(webPod("web-" + name, "3"), name, "");
    EXPECT_EQ(place(r), name);
  }
}

TEST_F(PreAllocations, that_cannot_be_say_why) {
  node("n", "8");
  EXPECT_THAT(place(taking("aligned", "1").policy("Aligned")), HasSubstr("unsupported"));
  auto cluster = taking("cluster", "1");
  cluster.object().spec.preAllocationPolicy.emplace().mode = "Cluster";
  EXPECT_THAT(place(cluster), HasSubstr("cluster mode pre-allocation which is disabled"));
  running(webPod("web", "3"), "n", "");
  EXPECT_THAT(place(demanding(taking("r", "2"))), HasSubstr("Reservation(s) Insufficient cpu"));
}

constexpr const char* kInClusterMode = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: Reservation}]}}
  pluginConfig:
  - name: Reservation
    args: {preAllocationConfig: {enableClusterMode: true, preferNoPreAllocatedPods: true}}
)";

struct PreAllocationsOfACluster : PreAllocations {
  PreAllocationsOfACluster() : PreAllocations(kInClusterMode) {}
};

TEST_F(PreAllocationsOfACluster, ask_pods_and_not_owners) {
  node("n", "4");
  const auto willing = [](const char* name, const char* priority) {
    auto pod =
        aPod(name).request("cpu", "2").label("pod.koordinator.sh/is-pre-allocatable", "true");
    pod.object().metadata.annotations["pod.koordinator.sh/pre-allocatable-priority"] = priority;
    return pod;
  };
  running(willing("first", "5"), "n", "");
  running(willing("second", "7"), "n", "");
  auto r = taking("r", "2");
  r.object().spec.preAllocationPolicy.emplace().mode = "Cluster";
  EXPECT_EQ(place(r), "n");
  EXPECT_THAT(who, ElementsAre("uid-default-second"));
}

TEST_F(PreAllocationsOfACluster, may_prefer_free_room) {
  node("n", "8");
  running(webPod("web", "2"), "n", "");
  EXPECT_EQ(place(taking("r", "2")), "n");
  EXPECT_THAT(who, IsEmpty());
}

// --- Pods in operating mode "Reservation".

testing::PodBuilder holder(const char* name, const char* cpu) {
  auto builder =
      aPod(name).request("cpu", cpu).label(std::string(kLabelOperatingMode), "Reservation");
  auto& pod = builder.object();
  pod.metadata.annotations[kAnnotationReservationOwners] =
      R"([{"labelSelector":{"matchLabels":{"app":"web"}}}])";
  pod.status.phase = "Running";
  pod.status.conditions.emplace_back().type = "Ready";
  pod.status.conditions.back().status = "True";
  return builder;
}

TEST(OperatingPods, are_reservations_of_their_own_requests_once_they_are_ready) {
  auto builder = holder("idle", "3");
  builder.object().spec.nodeName = "n";
  std::string error;
  const auto ready = reservationOf(builder.object(), error);
  EXPECT_EQ(ready.status.phase, "Available");
  EXPECT_EQ(ready.status.allocatable.at("cpu").milliValue(), 3000);
  EXPECT_EQ(ready.spec.allocateOnce, true);
  EXPECT_EQ(ready.spec.owners.size(), 1U);
  EXPECT_EQ(error, "");
  builder.object().status.conditions.back().status = "False";
  EXPECT_NE(reservationOf(builder.object(), error).status.phase, "Available");
}

TEST(OperatingPods, say_who_uses_them_already) {
  auto builder = holder("idle", "3");
  auto& annotations = builder.object().metadata.annotations;
  annotations[kAnnotationReservationCurrentOwner] =
      R"({"namespace":"default","name":"web-0","uid":"7"})";
  std::string error;
  EXPECT_EQ(reservationOf(builder.object(), error).status.currentOwners.size(), 1U);
  EXPECT_EQ(error, "");
  annotations[kAnnotationReservationCurrentOwner] = "[";
  EXPECT_THAT(reservationOf(builder.object(), error).status.currentOwners, IsEmpty());
  EXPECT_THAT(error, HasSubstr("reservation-current-owner"));
}

TEST(OperatingPods, whose_owners_cannot_be_read_have_none_and_say_why) {
  for (const char* odd : {"[{", "{}", "[1]", R"([{"labelSelector": "x"}])", ""}) {
    auto builder = holder("odd", "3");
    builder.object().metadata.annotations[kAnnotationReservationOwners] = odd;
    std::string error;
    EXPECT_THAT(reservationOf(builder.object(), error).spec.owners, IsEmpty()) << odd;
    EXPECT_THAT(error, HasSubstr("reservation-owners")) << odd;
  }
}

}  // namespace
}  // namespace koord::scheduler
