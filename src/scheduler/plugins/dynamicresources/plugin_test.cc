#include <gmock/gmock.h>

#include "scheduler/plugins/dynamicresources/claims_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aPod;
using ::testing::ElementsAre;
using testing::gpuClaim;
using testing::gpuClass;
using testing::gpuSlice;
using ::testing::HasSubstr;
using testing::kUnresolvable;
using testing::PodBuilder;
using testing::podWithClaims;
using Answers = Claims::Answers;
using namespace std::chrono_literals;

TEST_F(Claims, a_pod_waits_until_its_claims_exist_and_are_its_own) {
  const auto preEnqueue = [&](const PodBuilder& pod) {
    return plugin->preEnqueue(*world.pod(pod)).message();
  };
  EXPECT_EQ(preEnqueue(aPod("none")), "");
  EXPECT_EQ(preEnqueue(podWithClaims("p", {"c"})), R"(could not find ResourceClaim "default/c")");
  api.put(*gpuClaim("c"));
  EXPECT_EQ(preEnqueue(podWithClaims("p", {"c"})), "");
  api.change("c", [](auto& claim) { claim.metadata.deletionTimestamp = WallTime(1s); });
  EXPECT_EQ(preEnqueue(podWithClaims("p", {"c"})), R"(resourceclaim "c" is being deleted)");

  PodBuilder pod = aPod("t");
  auto& entry = pod.object().spec.resourceClaims.emplace_back();
  entry.name = "gpu";
  entry.resourceClaimTemplateName = "template";
  EXPECT_EQ(preEnqueue(pod), R"(pod "default/t": ResourceClaim not created yet)");
  pod.object().status.resourceClaimStatuses.push_back({"gpu", "t-gpu"});
  api.put(*gpuClaim("t-gpu"));
  EXPECT_EQ(preEnqueue(pod),
            "ResourceClaim default/t-gpu was not created for Pod default/t (Pod is not owner)");
  api.change("t-gpu", [](auto& claim) {
    claim.metadata.ownerReferences.push_back({"v1", "Pod", "t", "uid-default-t", true, true});
  });
  EXPECT_EQ(preEnqueue(pod), "");
  pod.object().status.resourceClaimStatuses[0].resourceClaimName.reset();
  EXPECT_EQ(preEnqueue(pod), "") << "the entry needs no claim";
}

TEST_F(Claims, nodes_without_enough_devices_are_rejected) {
  api.put(*gpuClaim("one"));
  api.put(*gpuClaim("three", 3));
  EXPECT_EQ(filter(podWithClaims("p", {"one"})),
            (Answers{{"n1", ""}, {"n2", ""}, {"n3", kNoDevices}}));
  EXPECT_EQ(filter(podWithClaims("p", {"three"})),
            (Answers{{"n1", kNoDevices}, {"n2", ""}, {"n3", kNoDevices}}));
  EXPECT_EQ(filter(podWithClaims("p", {"three", "one"}))["n2"], "");
  api.put(*gpuClaim("two", 2));
  EXPECT_EQ(filter(podWithClaims("p", {"three", "two"}))["n2"], kNoDevices);
}

TEST_F(Claims, a_class_that_does_not_exist_holds_the_pod_back) {
  auto claim = gpuClaim("c");
  claim->spec.devices.requests[0].exactly->deviceClassName = "none";
  api.put(*claim);
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n1"),
            kUnresolvable + "request gpu: device class none does not exist");
  stores.of<api::DeviceClass>().set(gpuClass("none"));
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n1"), "") << "the class has been created";
}

// Pods of one class share a plan and verdicts, and their claims have names of their own.
TEST_F(Claims, messages_name_the_pods_own_claim) {
  const auto fails = [&](const std::string& name, const std::string& expression) {
    auto claim = gpuClaim(name);
    claim->spec.devices.requests[0].exactly->selectors.push_back(
        {api::CELDeviceSelector{expression}});
    api.put(*claim);
  };
  for (const char* name : {"a", "b"}) fails(name, R"(device.attributes["none"].x == 1)");
  for (const char* name : {"c", "d"}) fails(name, "device.");
  for (const char* name : {"e", "f"}) api.put(*gpuClaim(name, 33));
  for (const std::string name : {"a", "b", "c", "d", "e", "f"})
    EXPECT_THAT(world.place(world.pod(podWithClaims("p-" + name, {name}))),
                ::testing::AllOf(HasSubstr("running \"DynamicResources\" filter plugin: "),
                                 HasSubstr("claim default/" + name)));
}

TEST_F(Claims, devices_are_taken_from_reserve_on_and_written_before_the_pod_is_bound) {
  api.put(*gpuClaim("c", 2));
  api.put(*gpuClaim("d"));
  auto attempt = reserve(podWithClaims("p", {"c"}), "n1");
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), kNoDevices);
  EXPECT_EQ(world.cluster().verifyNode(id("n1")), "");
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_EQ(api.devicesOf("c"), "n1/gpu-0,n1/gpu-1");
  EXPECT_THAT(api.writes, ElementsAre("c", "c/status"));
  const auto& claim = *api.claims.at("c");
  EXPECT_THAT(claim.metadata.finalizers, ElementsAre(api::kClaimFinalizer));
  ASSERT_EQ(claim.status.reservedFor.size(), 1U);
  EXPECT_EQ(claim.status.reservedFor[0].uid, "uid-default-p");
  EXPECT_EQ(claim.status.reservedFor[0].resource, "pods");
  EXPECT_EQ(claim.status.allocation->nodeSelector->nodeSelectorTerms[0].matchFields[0].values[0],
            "n1");
  observe(*attempt);
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), kNoDevices) << "the claim has them now";
  api.change("c", [](auto& claim) {
    claim.status.allocation.reset();
    claim.status.reservedFor.clear();
  });
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), "");
}

TEST_F(Claims, a_failed_attempt_frees_devices_that_are_not_written_yet) {
  api.put(*gpuClaim("c", 2));
  api.put(*gpuClaim("d"));
  auto attempt = reserve(podWithClaims("p", {"c"}), "n1");
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), kNoDevices);
  forget(*attempt);
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), "");
  EXPECT_TRUE(api.writes.empty());
}

TEST_F(Claims, a_simulation_takes_and_frees_devices) {
  api.put(*gpuClaim("c", 2));
  api.put(*gpuClaim("d"));
  {
    Cluster::Transaction whatIf(world.cluster());
    auto attempt = reserve(podWithClaims("p", {"c"}), "n1");
    EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), kNoDevices);
  }
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), "");
}

TEST_F(Claims, own_writes_count_before_the_informer_delivers_them) {
  api.put(*gpuClaim("c", 2));
  api.put(*gpuClaim("d"));
  auto attempt = reserve(podWithClaims("p", {"c"}), "n1");
  api.delivers = false;
  EXPECT_EQ(preBind(*attempt), "");
  observe(*attempt);
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), kNoDevices);
  api.deliver();  // the finalizer first, then the allocation
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), kNoDevices);
  EXPECT_EQ(filter(podWithClaims("r", {"c"})),
            (Answers{{"n1", ""},
                     {"n2", kUnresolvable + "resourceclaim not available on the node"},
                     {"n3", kUnresolvable + "resourceclaim not available on the node"}}));
}

TEST_F(Claims, a_pod_that_shares_a_claim_waits_until_it_is_allocated) {
  api.put(*gpuClaim("c"));
  auto first = reserve(podWithClaims("p", {"c"}), "n1");
  EXPECT_EQ(filter(podWithClaims("q", {"c"}), "n1"),
            kUnresolvable + "resource claim default/c is in the process of being allocated");
  EXPECT_EQ(preBind(*first), "");
  observe(*first);
  EXPECT_EQ(filter(podWithClaims("q", {"c"}), "n1"), "");
  auto second = reserve(podWithClaims("q", {"c"}), "n1");
  EXPECT_EQ(preBind(*second), "");
  EXPECT_EQ(api.claims.at("c")->status.reservedFor.size(), 2U);
  EXPECT_THAT(api.writes, ElementsAre("c", "c/status", "c/status"));
}

TEST_F(Claims, many_pods_that_share_a_claim_are_bound_at_once) {
  auto claim = gpuClaim("c");
  claim->status.allocation = api::AllocationResult{};
  api.put(*claim);
  std::vector<std::unique_ptr<Attempt>> attempts;
  for (int i = 0; i < 50; ++i) {
    attempts.push_back(reserve(podWithClaims("p" + std::to_string(i), {"c"}), "n1"));
    tasks.spawn(run(plugin, attempts.back().get()));
  }
  for (const auto& attempt : attempts) EXPECT_EQ(wait(*attempt, 10s), "");
  EXPECT_EQ(api.claims.at("c")->status.reservedFor.size(), 50U);
}

TEST_F(Claims, a_claim_that_a_pod_names_twice_is_allocated_once) {
  api.put(*gpuClaim("c", 2));
  PodBuilder pod = podWithClaims("p", {"c", "c"});
  pod.object().spec.resourceClaims[1].name = "again";
  EXPECT_EQ(filter(pod, "n1"), "") << "n1 has two devices";
  auto attempt = reserve(pod, "n1");
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_EQ(api.devicesOf("c"), "n1/gpu-0,n1/gpu-1");
}

TEST_F(Claims, a_claim_that_is_reserved_for_too_many_pods_is_in_use) {
  auto claim = gpuClaim("c");
  claim->status.allocation = api::AllocationResult{};
  for (std::size_t i = 0; i < api::kMaxReservedFor; ++i)
    claim->status.reservedFor.push_back({"", "pods", "x", "uid-x" + std::to_string(i)});
  api.put(*claim);
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n1"), kUnresolvable + "resourceclaim in use");
}

TEST_F(Claims, a_conflict_is_retried_with_the_current_claim) {
  api.put(*gpuClaim("c"));
  auto attempt = reserve(podWithClaims("p", {"c"}), "n1");
  api.delivers = false;
  api.change("c", [](auto& claim) { claim.metadata.labels["touched"] = "yes"; });
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_EQ(api.devicesOf("c"), "n1/gpu-0");
  EXPECT_EQ(api.claims.at("c")->metadata.labels.at("touched"), "yes");
}

TEST_F(Claims, a_claim_that_changes_under_the_binding_ends_the_attempt) {
  api.put(*gpuClaim("c"));
  api.put(*gpuClaim("d"));
  auto first = reserve(podWithClaims("p", {"c"}), "n1");
  api.delivers = false;
  api.change("c", [](auto& claim) { claim.metadata.deletionTimestamp = WallTime(1s); });
  EXPECT_EQ(preBind(*first), "claim default/c got deleted in the meantime");
  auto second = reserve(podWithClaims("q", {"d"}), "n1");
  api.change("d", [](auto& claim) { claim.status.allocation = api::AllocationResult{}; });
  EXPECT_EQ(preBind(*second), "claim default/d got allocated elsewhere in the meantime");
}

TEST_F(Claims, a_failed_write_is_the_result_and_frees_the_devices) {
  api.put(*gpuClaim("c", 2));
  auto attempt = reserve(podWithClaims("p", {"c"}), "n1");
  api.failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.subresource.empty()) return std::nullopt;
    return Error{ErrorCode::Internal, "etcd is down", {}};
  };
  EXPECT_EQ(preBind(*attempt), "add allocation and reservation to claim default/c: etcd is down");
  forget(*attempt);
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n1"), "");
}

TEST_F(Claims, an_allocation_whose_answer_is_lost_keeps_its_devices) {
  api.put(*gpuClaim("c", 2));
  api.put(*gpuClaim("d"));
  auto attempt = reserve(podWithClaims("p", {"c"}), "n1");
  int lost = 0;
  api.loses = [&](const kube::Request& request) {
    return !request.subresource.empty() && ++lost == 1;
  };
  api.delivers = false;
  EXPECT_EQ(preBind(*attempt), "") << "the write was carried out";
  observe(*attempt);
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), kNoDevices);
  EXPECT_EQ(api.claims.at("c")->status.reservedFor.size(), 1U);
  api.deliver();
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n1"), kNoDevices);
}

TEST_F(Claims, a_release_does_not_take_what_the_next_attempt_reserves) {
  api.put(*gpuClaim("c"));
  auto first = reserve(podWithClaims("p", {"c"}), "n1");
  EXPECT_EQ(preBind(*first), "");
  plugin->unreserve(first->state, first->pod, first->node);  // the release takes a while
  EXPECT_TRUE(world.cluster().forget(first->pod->uid()));
  auto second = reserve(podWithClaims("p", {"c"}), "n1");
  EXPECT_EQ(preBind(*second), "");
  world.loop().advance(1s);
  EXPECT_EQ(api.claims.at("c")->status.reservedFor.size(), 1U);
}

TEST_F(Claims, a_release_that_the_informer_has_not_delivered_is_seen) {
  api.put(*gpuClaim("c"));
  auto first = reserve(podWithClaims("p", {"c"}), "n1");
  EXPECT_EQ(preBind(*first), "");
  EXPECT_TRUE(world.cluster().forget(first->pod->uid()));
  api.delivers = false;
  api.change("c", [](auto& claim) { claim.status.reservedFor.clear(); });  // another client
  auto second = reserve(podWithClaims("p", {"c"}), "n1");
  EXPECT_EQ(preBind(*second), "");
  EXPECT_EQ(api.claims.at("c")->status.reservedFor.size(), 1U);
}

TEST_F(Claims, a_claim_that_gets_other_devices_before_the_pod_is_bound_ends_the_attempt) {
  const auto on = [](const char* node) {
    return [node](api::ResourceClaim& claim) {
      claim.status.allocation = api::AllocationResult{};
      auto& result = claim.status.allocation->devices.results.emplace_back();
      result.request = "gpu";
      result.driver = "gpu.example";
      result.pool = node;
      result.device = "gpu-0";
    };
  };
  api.put(*gpuClaim("c"));
  api.change("c", on("n1"));
  auto attempt = reserve(podWithClaims("p", {"c"}), "n1");
  api.change("c", on("n2"));
  EXPECT_EQ(preBind(*attempt), "claim default/c got allocated elsewhere in the meantime");
  EXPECT_TRUE(api.claims.at("c")->status.reservedFor.empty());
}

// The process was killed after the claim was written and before the pod was bound.
TEST_F(Claims, after_a_restart_the_pod_goes_to_the_node_of_its_claim) {
  auto claim = gpuClaim("c");
  claim->status.allocation = api::AllocationResult{};
  auto& result = claim->status.allocation->devices.results.emplace_back();
  result.request = "gpu";
  result.driver = "gpu.example";
  result.pool = "n2";
  result.device = "gpu-3";
  api::NodeSelectorTerm term;
  term.matchFields.push_back({"metadata.name", "In", {"n2"}});
  claim->status.allocation->nodeSelector = api::NodeSelector{{term}};
  claim->status.reservedFor.push_back({"", "pods", "p", "uid-default-p"});
  api.put(*claim);
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n2"), "");
  EXPECT_NE(filter(podWithClaims("p", {"c"}), "n1"), "");
  auto attempt = reserve(podWithClaims("p", {"c"}), "n2");
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_TRUE(api.writes.empty()) << "everything is written already";
  // n2 is full otherwise: the claim is released, so that other devices can be chosen.
  forget(*attempt);
  EXPECT_TRUE(api.claims.at("c")->status.reservedFor.empty());
  EXPECT_EQ(api.devicesOf("c"), "n2/gpu-3") << "the allocation stays";
  world.cluster().removeNode("n2");
  EXPECT_EQ(postFilter(podWithClaims("p", {"c"})).message(),
            "deallocation of ResourceClaim completed");
  EXPECT_EQ(api.devicesOf("c"), "");
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n1"), "");
}

TEST_F(Claims, post_filter_says_that_nothing_can_be_released) {
  EXPECT_EQ(plugin->postFilter(*std::make_unique<CycleState>(), world.pod(aPod("none")), {})
                .status.message(),
            "no new claims to deallocate");
  api.put(*gpuClaim("c", 9));
  EXPECT_EQ(postFilter(podWithClaims("p", {"c"})).message(), "still not schedulable");
  auto claim = gpuClaim("used");
  claim->status.allocation = api::AllocationResult{};
  claim->status.allocation->nodeSelector = api::NodeSelector{};
  claim->status.reservedFor.push_back({"", "pods", "other", "uid-default-other"});
  api.put(*claim);
  EXPECT_EQ(postFilter(podWithClaims("p", {"used"})).message(), "still not schedulable");
}

// Other devices for the claim would not help: no node can serve the pod's other claim.
TEST_F(Claims, post_filter_keeps_a_claim_for_which_alone_no_node_was_rejected) {
  auto claim = gpuClaim("c");
  claim->status.allocation = api::AllocationResult{};
  api::NodeSelectorTerm term;
  term.matchFields.push_back({"metadata.name", "In", {"n2"}});
  claim->status.allocation->nodeSelector = api::NodeSelector{{term}};
  api.put(*claim);
  api.put(*gpuClaim("many", 9));
  EXPECT_EQ(postFilter(podWithClaims("p", {"c", "many"})).message(), "still not schedulable");
  EXPECT_TRUE(api.claims.at("c")->status.allocation);
  // n1 is rejected for the claim alone.
  api.put(*gpuClaim("few", 2));
  stores.of<api::ResourceSlice>().set(gpuSlice("n2", 1));
  EXPECT_EQ(postFilter(podWithClaims("p", {"c", "few"})).message(),
            "deallocation of ResourceClaim completed");
  EXPECT_FALSE(api.claims.at("c")->status.allocation);
}

TEST_F(Claims, changes_of_slices_are_seen_in_the_next_attempt) {
  api.put(*gpuClaim("c", 3));
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n1"), kNoDevices);
  stores.of<api::ResourceSlice>().set(gpuSlice("n1", 3));
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n1"), "");
  stores.of<api::ResourceSlice>().set(gpuSlice("n3", 3));
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n3"), "");
  stores.of<api::ResourceSlice>().erase({"", "n3-gpus"});
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n3"), kNoDevices);
}

TEST_F(Claims, devices_of_the_network_are_shared_by_all_nodes) {
  auto slice = std::make_shared<api::ResourceSlice>(*gpuSlice("net", 1));
  slice->spec.nodeName.clear();
  slice->spec.allNodes = true;
  stores.of<api::ResourceSlice>().set(slice);
  api.put(*gpuClaim("c"));
  api.put(*gpuClaim("d"));
  EXPECT_EQ(filter(podWithClaims("p", {"c"}), "n3"), "");
  auto attempt = reserve(podWithClaims("p", {"c"}), "n3");
  EXPECT_EQ(filter(podWithClaims("q", {"d"}), "n3"), kNoDevices) << "taken through another node";
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_FALSE(api.claims.at("c")->status.allocation->nodeSelector) << "usable everywhere";
}

TEST_F(Claims, nodes_with_the_preferred_alternative_score_higher) {
  auto claim = gpuClaim("c");
  auto& request = claim->spec.devices.requests[0];
  request.exactly.reset();
  for (const int count : {4, 1}) {
    auto& alternative = request.firstAvailable.emplace_back();
    alternative.name = "x" + std::to_string(count);
    alternative.deviceClassName = "gpu";
    alternative.count = count;
  }
  api.put(*claim);
  EXPECT_EQ(world.scores(world.pod(podWithClaims("p", {"c"})), {"n1", "n2"}),
            (std::map<std::string, std::int64_t>{{"n1", 87}, {"n2", 100}}));
}

TEST_F(Claims, a_pod_is_bound_when_its_devices_are_ready) {
  stores.of<api::ResourceSlice>().set(
      gpuSlice("n3", 1, "",
               R"(, "bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"])"));
  api.put(*gpuClaim("c"));
  auto attempt = reserve(podWithClaims("p", {"c"}), "n3");
  EXPECT_EQ(preBind(*attempt, 30s), "running");
  const auto set = [](const char* type) {
    return [type](api::ResourceClaim& claim) {
      auto& device = claim.status.devices.emplace_back();
      device.driver = "gpu.example";
      device.pool = "n3";
      device.device = "gpu-0";
      auto& condition = device.conditions.emplace_back();
      condition.type = type;
      condition.status = "True";
      condition.reason = "Because";
    };
  };
  api.change("c", set("Attached"));
  EXPECT_EQ(wait(*attempt, 10s), "");
  api.put(*gpuClaim("c"));
  forget(*attempt);
  attempt = reserve(podWithClaims("p", {"c"}), "n3");
  EXPECT_EQ(preBind(*attempt, 30s), "running");
  api.change("c", set("Broken"));
  EXPECT_EQ(wait(*attempt, 10s), "device binding failed: claim=c, reason=Because, message=\"\"");
  forget(*attempt);
  EXPECT_NE(filter(podWithClaims("p", {"c"}), "n3"), "") << "its devices are lost";
  EXPECT_EQ(postFilter(podWithClaims("p", {"c"})).message(),
            "deallocation of ResourceClaim completed");
}

TEST_F(Claims, devices_that_are_not_ready_in_time_end_the_attempt) {
  stores.of<api::ResourceSlice>().set(
      gpuSlice("n3", 1, "", R"(, "bindingConditions": ["Attached"])"));
  api.put(*gpuClaim("c"));
  auto attempt = reserve(podWithClaims("p", {"c"}), "n3");
  EXPECT_EQ(preBind(*attempt, 11min), "device binding timeout: claim=c");
}

TEST_F(Claims, events_wake_the_pods_that_they_may_help) {
  api.put(*gpuClaim("mine"));
  auto other = gpuClaim("other");
  const auto hint = [&](const std::shared_ptr<const api::ResourceClaim>& before,
                        const std::shared_ptr<const api::ResourceClaim>& after) {
    const auto event = eventOf(KindOf<api::ResourceClaim>::value, before, after);
    for (const auto& registration : plugin->eventsToRegister())
      if (matches(registration, event))
        return registration.hint(*world.pod(podWithClaims("p", {"mine"})), event);
    return Hint::Skip;
  };
  EXPECT_EQ(hint(nullptr, gpuClaim("mine")), Hint::Queue);
  EXPECT_EQ(hint(nullptr, other), Hint::Skip);
  EXPECT_EQ(hint(gpuClaim("mine"), gpuClaim("mine")), Hint::Skip) << "the status is the same";
  auto allocated = gpuClaim("other");
  allocated->status.allocation = api::AllocationResult{};
  EXPECT_EQ(hint(allocated, other), Hint::Queue) << "devices became free";
  EXPECT_EQ(hint(other, allocated), Hint::Skip);
}

TEST_F(Claims, a_pod_that_leaves_its_node_before_its_claims_are_allocated_wakes_others) {
  api.put(*gpuClaim("mine"));
  api.put(*gpuClaim("c", 2));
  const auto hint = [&](EventResource resource, const PodBuilder& gone) {
    ClusterEvent event;
    event.resource = resource;
    event.actions = action::kDelete;
    event.oldPod = world.pod(gone);
    for (const auto& registration : plugin->eventsToRegister())
      if (matches(registration, event))
        return registration.hint(*world.pod(podWithClaims("p", {"mine"})), event);
    return Hint::Skip;
  };
  auto attempt = reserve(podWithClaims("q", {"c"}), "n1");
  EXPECT_EQ(filter(podWithClaims("p", {"mine"}), "n1"), kNoDevices);
  forget(*attempt);
  EXPECT_EQ(hint(EventResource::AssignedPod, podWithClaims("q", {"c"})), Hint::Queue);
  EXPECT_EQ(hint(EventResource::UnscheduledPod, podWithClaims("q", {"c"})), Hint::Skip);
  EXPECT_EQ(hint(EventResource::AssignedPod, testing::aPod("plain")), Hint::Skip);
  api.change("c", [](auto& claim) { claim.status.allocation = api::AllocationResult{}; });
  EXPECT_EQ(hint(EventResource::AssignedPod, podWithClaims("q", {"c"})), Hint::Skip)
      << "the claim has the devices until it is deallocated";
}

}  // namespace
}  // namespace koord::scheduler
