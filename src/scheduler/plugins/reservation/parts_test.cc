// Unit tests of owners, wishes, reserve pods, messages and arguments.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/reservation/args.h"
#include "scheduler/plugins/reservation/controller.h"
#include "scheduler/plugins/reservation/messages.h"
#include "scheduler/plugins/reservation/owners.h"
#include "scheduler/plugins/reservation/problems.h"
#include "scheduler/plugins/reservation/reservation_request.h"
#include "scheduler/plugins/reservation/reserve_pod.h"
#include "scheduler/testing/reservations.h"

namespace koord::scheduler {
namespace {

using testing::aPod;
using testing::aReservation;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodBuilder;
using ::testing::SizeIs;
using Owners = api::List<api::ReservationOwner>;

api::ReservationOwner byLabel(const std::string& key, std::string value) {
  api::ReservationOwner owner;
  owner.labelSelector.emplace().matchLabels[key] = std::move(value);
  return owner;
}
api::ReservationOwner byController(const std::string& name, bool controller) {
  api::ReservationOwner owner;
  owner.controller.emplace().name = name;
  owner.controller->controller = controller;
  return owner;
}
api::ReservationOwner byName(const std::string& name) {
  api::ReservationOwner owner;
  owner.object.emplace().name = name;
  owner.object->kind = "whatever";
  return owner;
}
PodBuilder ownedBy(const std::string& name, bool controller) {
  PodBuilder pod = aPod("p");
  pod.object().metadata.ownerReferences.push_back({"apps/v1", "ReplicaSet", name, "u", controller});
  return pod;
}

TEST(Owners, fields_of_an_entry_must_all_match_and_entries_are_alternatives) {
  api::ReservationOwner both = byLabel("app", "web");
  both.object.emplace().namespace_ = "prod";
  const auto matcher = *OwnerMatcher::compile(Owners{both, byController("rs", true)});
  EXPECT_FALSE(matcher.matches(*aPod("p").label("app", "web").build()));
  EXPECT_TRUE(matcher.matches(*aPod("p", "prod").label("app", "web").build()));
  EXPECT_TRUE(matcher.matches(*ownedBy("rs", true).build()));
  EXPECT_FALSE(matcher.matches(*ownedBy("rs", false).build()));
  EXPECT_FALSE(matcher.matches(*ownedBy("other", true).build()));
}

TEST(Owners, an_empty_entry_is_everybody_and_no_entries_are_nobody) {
  EXPECT_TRUE(OwnerMatcher::compile(Owners{{}})->matches(*aPod("p").build()));
  EXPECT_FALSE(OwnerMatcher::compile(Owners{})->matches(*aPod("p").build()));
}

TEST(Owners, equal_lists_are_one_and_leave_with_their_last_user) {
  OwnerIndex index;
  std::string error;
  const OwnersId a = index.add(Owners{byLabel("app", "web")}, error);
  EXPECT_EQ(index.add(Owners{byLabel("app", "web")}, error), a);
  const OwnersId b = index.add(Owners{byName("p")}, error);
  EXPECT_NE(a, b);
  const auto pod = aPod("p").label("app", "web").build();
  EXPECT_THAT(index.matching(*pod), ElementsAre(a, b));
  index.release(a);
  EXPECT_THAT(index.matching(*pod), ElementsAre(a, b));
  index.release(a);
  EXPECT_THAT(index.matching(*pod), ElementsAre(b));
  index.release(b);
  EXPECT_TRUE(index.empty());
  EXPECT_GT(index.add(Owners{byLabel("app", "web")}, error), b) << "numbers are not used again";
}

TEST(Owners, a_selector_that_cannot_be_compiled_is_named) {
  OwnerIndex index;
  std::string error;
  api::ReservationOwner broken;
  broken.labelSelector.emplace().matchExpressions.push_back({"a", "Sometimes", {}});
  EXPECT_EQ(index.add(Owners{byName("p"), broken}, error), kNoOwners);
  EXPECT_THAT(error, HasSubstr("spec.owners[1].labelSelector"));
  EXPECT_TRUE(index.empty());
}

// The index finds what trying every list finds.
TEST(Owners, the_index_finds_every_list_that_matches) {
  Random random(7);
  const auto letter = [&] { return std::string(1, static_cast<char>('a' + random.below(4))); };
  OwnerIndex index;
  std::map<OwnersId, std::pair<OwnerMatcher, int>> lists;
  for (int step = 0; step < 3000; ++step) {
    Owners owners;
    for (std::uint64_t n = random.below(3); n-- > 0;) {
      api::ReservationOwner& owner = owners.emplace_back();
      if (random.chance(0.5)) owner.labelSelector.emplace().matchLabels[letter()] = letter();
      if (random.chance(0.2)) {
        if (!owner.labelSelector) owner.labelSelector.emplace();
        owner.labelSelector->matchExpressions.push_back(
            {letter(), random.chance(0.5) ? "In" : "NotIn", {letter(), letter()}});
      }
      if (random.chance(0.2)) owner.object.emplace().name = letter();
      if (random.chance(0.1)) owner.object.emplace().uid = "uid-default-" + letter();
      if (random.chance(0.2)) owner.controller.emplace().name = letter();
    }
    if (random.chance(0.55)) {
      std::string error;
      const OwnersId id = index.add(owners, error);
      ASSERT_NE(id, kNoOwners) << error;
      auto [it, added] = lists.try_emplace(id, *OwnerMatcher::compile(owners), 0);
      ++it->second.second;
    } else if (!lists.empty()) {
      auto it = std::next(lists.begin(), static_cast<long>(random.below(lists.size())));
      index.release(it->first);
      if (--it->second.second == 0) lists.erase(it);
    }
    PodBuilder pod = aPod(letter());
    for (int n = 0; n < 2; ++n) pod.label(letter(), letter());
    if (random.chance(0.5))
      pod.object().metadata.ownerReferences.push_back({"v1", "K", letter(), letter(), true});
    const auto object = pod.build();
    std::vector<OwnersId> expected;
    for (const auto& [id, list] : lists)
      if (list.first.matches(*object)) expected.push_back(id);
    ASSERT_EQ(index.matching(*object), expected) << "step " << step;
  }
}

TEST(ReservationRequest, garbage_is_an_error_and_never_more) {
  for (const char* text : {"", "{", "[]", "7", "{\"name\":[]}", "{\"tolerations\":{}}",
                           "{\"reservationSelector\":[1]}",
                           "{\"requiredDuringSchedulingIgnoredDuringExecution\":"
                           "{\"reservationSelectorTerms\":[{\"matchExpressions\":"
                           "[{\"key\":\"a\",\"operator\":\"Upon\"}]}]}}"}) {
    PodBuilder pod = aPod("p");
    pod.object().metadata.annotations[model::kAnnotationReservationAffinity] = text;
    const auto reservationRequest = ReservationRequest::of(*pod.build());
    EXPECT_TRUE(reservationRequest.required) << text;
    EXPECT_THAT(reservationRequest.error, HasSubstr("reservation-affinity")) << text;
  }
}

TEST(ReservePod, is_the_template_under_the_name_of_the_reservation) {
  auto reservation = aReservation("r").request("cpu", "2").label("own", "1").owner("a", "b");
  reservation.label("koordinator.sh/priority", "77");
  reservation.templateMetadata()["labels"] = json::object{{"own", "0"}, {"app", "web"}};
  reservation.templateSpec()["nodeName"] = "fixed";
  const auto pod = *makeReservePod(*reservation.build());
  EXPECT_EQ(pod->metadata.name, "uid-r");
  EXPECT_EQ(pod->metadata.uid, "uid-r");
  EXPECT_EQ(pod->metadata.namespace_, "default");
  EXPECT_EQ(pod->metadata.labels.at("own"), "1") << "the reservation's own labels lie on top";
  EXPECT_EQ(pod->metadata.labels.at("app"), "web");
  EXPECT_EQ(pod->spec.nodeName, "");
  EXPECT_EQ(pod->metadata.annotations.at(model::kAnnotationReservationNode), "fixed");
  EXPECT_EQ(pod->metadata.annotations.at(model::kAnnotationReservationName), "r");
  EXPECT_EQ(pod->spec.priority, 77);
  EXPECT_EQ(pod->spec.schedulerName, "default-scheduler");
}

TEST(ReservePod, outranks_pods_unless_somebody_says_otherwise) {
  EXPECT_EQ((*makeReservePod(*aReservation("r").build()))->spec.priority, 2147483647);
  EXPECT_EQ((*makeReservePod(*aReservation("r").label("koordinator.sh/priority", "x").build()))
                ->spec.priority,
            2147483647);
}

TEST(ReservePod, asks_for_what_was_recorded_once_it_is_placed) {
  auto reservation = aReservation("r").request("cpu", "2").request("memory", "1Gi").on("n");
  reservation.object().status.allocatable["cpu"] = testing::quantity("3");
  const auto pod = *makeReservePod(*reservation.build());
  EXPECT_EQ(model::podRequests(*pod).at("cpu"), testing::quantity("3"));
  EXPECT_EQ(model::podRequests(*pod).at("memory"), testing::quantity("1Gi"));
  EXPECT_EQ(pod->spec.containers.back().name, "__internal_fake_container__");
}

TEST(ReservePod, holds_nothing_that_only_its_template_says) {
  const std::string key(model::kAnnotationResourceStatus), other(model::kAnnotationDeviceAllocated);
  auto reservation = aReservation("r").request("cpu", "2").annotation(other, "own");
  reservation.templateMetadata()["annotations"] =
      json::object{{key, "of a pod"}, {other, "of a pod"}, {"x", "y"}};
  EXPECT_EQ((*makeReservePod(*reservation.build()))->metadata.annotations.at(key), "of a pod")
      << "what it asks for again, perhaps";
  const auto pod = *makeReservePod(*reservation.on("n").build());
  EXPECT_FALSE(pod->metadata.annotations.contains(key));
  EXPECT_EQ(pod->metadata.annotations.at(other), "own");
  EXPECT_EQ(pod->metadata.annotations.at("x"), "y");
}

TEST(ReservationLife, ends_by_expires_where_it_is_given_and_else_by_ttl) {
  auto reservation = aReservation("r");
  auto& object = reservation.object();
  const WallTime created = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};
  object.metadata.creationTimestamp = created;
  EXPECT_EQ(*endOf(object), created + std::chrono::hours(24));
  object.spec.expires = "2026-01-04T00:00:00Z";
  EXPECT_EQ(*endOf(object), created + std::chrono::days(3)) << "the default ttl does not count";
  object.spec.ttl = "0s";
  EXPECT_EQ(*endOf(object), std::nullopt);
  object.spec.ttl = "soon";
  EXPECT_THAT(endOf(object).error().message, HasSubstr("spec.ttl"));
  object.spec.ttl = "1h";
  object.spec.expires = "tomorrow";
  EXPECT_THAT(endOf(object).error().message, HasSubstr("spec.expires"));
  object.spec.expires = {};
  object.spec.ttl = "2562047h";
  EXPECT_EQ(*endOf(object), std::nullopt) << "beyond the end of time";
}

TEST(ReservationMessages, are_taken_from_the_whole_message) {
  EXPECT_EQ(
      *reservationLevelMessage(
          "0/3 nodes are available: 2 Insufficient cpu by node, 1 Reservation(s) Insufficient "
          "cpu. preemption: 0/3 nodes are available: 3 x., 2 Reservation(s) for node reason "
          "that Insufficient cpu by node, 1 Reservation(s) is unschedulable, 1 Reservation(s) "
          "exactly matches the requested reservation name, 4 Reservation(s) matched owner "
          "total."),
      "0/4 reservations are available: 1 Reservation(s) exactly matches the requested "
      "reservation name, 1 Reservation(s) Insufficient cpu, 1 Reservation(s) is "
      "unschedulable, 2 Reservation(s) for node reason that Insufficient cpu by node.");
  EXPECT_FALSE(reservationLevelMessage("0/3 nodes are available: 3 Insufficient cpu."));
  EXPECT_FALSE(reservationLevelMessage("something else"));
}

std::vector<std::string> mistakesIn(const char* args) {
  const auto document = *parseJson(args);
  std::vector<std::string> errors;
  Fields fields(&document, "args", errors);
  (void)ReservationArgs::read(fields);
  return errors;
}

TEST(ReservationArgs, are_read_strictly) {
  EXPECT_THAT(mistakesIn("{}"), IsEmpty());
  EXPECT_THAT(mistakesIn(R"({"enablePreemption":true,"gcDurationSeconds":0,
      "ignoredResources":["example.com/gpu"],"ignoredResourceGroups":["example.com"],
      "preAllocationConfig":{"enableClusterMode":true},
      "reservationSelectorIndex":{"enabled":true,"keys":["a"]}})"),
              IsEmpty());
  EXPECT_THAT(mistakesIn(R"({"minCandidateNodesPercentage":101})"), SizeIs(1));
  EXPECT_THAT(mistakesIn(R"({"gcIntervalSeconds":-1})"), SizeIs(1));
  EXPECT_THAT(mistakesIn(R"({"ignoredResources":["cpu"]})"),
              ElementsAre(HasSubstr("args.ignoredResources[0]")));
  EXPECT_THAT(mistakesIn(R"({"ignoredResourceGroups":["a/b","kubernetes.io"]})"), SizeIs(2));
  EXPECT_THAT(mistakesIn(R"({"enablePreëmption":true})"), SizeIs(1));
}

TEST(Problems, each_begins_with_its_field_and_a_plain_reservation_has_none) {
  EXPECT_THAT(problemsOf(*aReservation("r").build()), IsEmpty());
  EXPECT_THAT(problemsOf(*aReservation("r").label("koordinator.sh/priority", "3000000000").build()),
              ElementsAre(HasSubstr("metadata.labels[koordinator.sh/priority]: Invalid value")));
  EXPECT_THAT(problemsOf(*aReservation("r")
                              .label(std::string(model::kLabelReservationOrder), "3000000000")
                              .build()),
              IsEmpty());
  EXPECT_THAT(problemsOf(*aReservation("r")
                              .label(std::string(model::kLabelPreAllocationRequired), "true")
                              .build()),
              ElementsAre(HasSubstr("needs spec.preAllocation: true")));
}

TEST(Problems, fields_that_make_each_other_void_are_told) {
  auto reservation = *aReservation("r").build();
  reservation.spec.ttl = "0s";
  reservation.spec.expires = "2001-01-01T00:00:00Z";
  reservation.spec.preAllocation = true;
  reservation.spec.taints.push_back({"team", "blue", "Never", {}});
  auto& options = reservation.metadata.annotations[model::kAnnotationReservationRestrictedOptions];
  options = R"({"resources":["cpu"]})";
  EXPECT_THAT(problemsOf(reservation),
              ElementsAre(HasSubstr("spec.expires: is ignored"),
                          HasSubstr("needs spec.allocatePolicy: Restricted"),
                          HasSubstr("spec.preAllocation: needs spec.allocatePolicy: Restricted"),
                          HasSubstr("spec.taints[0].effect: Invalid value: \"Never\"")));
  reservation.spec.allocatePolicy = "Restricted";
  options = R"({"resources":["nvidia.com/gpu"]})";
  EXPECT_THAT(problemsOf(reservation), Contains(HasSubstr("names nothing that spec.template")));
}

}  // namespace
}  // namespace koord::scheduler
