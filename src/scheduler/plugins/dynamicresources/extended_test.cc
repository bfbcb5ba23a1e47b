#include <gmock/gmock.h>

#include "scheduler/plugins/dynamicresources/claims_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using testing::gpuClaim;
using testing::gpuClass;
using testing::gpuSlice;
using ::testing::Gt;
using testing::kUnresolvable;
using testing::PodBuilder;
using namespace std::chrono_literals;

constexpr const char* kResource = "example.com/gpu";
constexpr const char* kImplicit = "deviceclass.resource.kubernetes.io/gpu";

std::shared_ptr<const api::DeviceClass> backingClass(const char* resource = kResource,
                                                     const char* name = "gpu") {
  auto class_ = std::make_shared<api::DeviceClass>(*gpuClass(name));
  class_->spec.extendedResourceName = resource;
  return class_;
}

// The class gpu backs example.com/gpu; n4 has a device plugin for two of them.
struct Extended : Claims {
  Extended() {
    stores.of<api::DeviceClass>().set(backingClass());
    world.node(aNode("n4").allocatable(kResource, "2"));
  }
  // A pending pod.
  PodBuilder pod(const std::string& name, const char* gpus, const char* resource = kResource) {
    PodBuilder builder = aPod(name).request(resource, gpus);
    world.pending[{"default", name}] = world.pod(builder);
    return builder;
  }
  std::string only() const {
    EXPECT_EQ(api.claims.size(), 1U);
    return api.claims.empty() ? "" : api.claims.begin()->first;
  }
};

TEST_F(Extended, nodes_without_a_device_plugin_need_devices) {
  EXPECT_EQ(filter(pod("p", "3")),
            (Answers{{"n1", kNoDevices}, {"n2", ""}, {"n3", kNoDevices}, {"n4", ""}}))
      << "NodeResourcesFit checks n4";
  EXPECT_EQ(filter(pod("p", "3", kImplicit)),
            (Answers{{"n1", kNoDevices}, {"n2", ""}, {"n3", kNoDevices}, {"n4", kNoDevices}}));
  EXPECT_EQ(filter(aPod("q").request("example.com/other", "1"), "n3"), "");
  EXPECT_EQ(filter(aPod("q").request(kResource, "1").request("example.com/other", "1"), "n2"),
            kUnresolvable + "cannot fit resource");
  stores.of<api::DeviceClass>().set(gpuClass());
  EXPECT_EQ(filter(pod("p", "3"), "n3"), "") << "no class backs the resource";
}

TEST_F(Extended, a_pod_may_have_claims_as_well) {
  api.put(*gpuClaim("c", 2));
  PodBuilder both = testing::podWithClaims("p", {"c"}).request(kResource, "2");
  EXPECT_EQ(filter(both),
            (Answers{{"n1", kNoDevices}, {"n2", ""}, {"n3", kNoDevices}, {"n4", kNoDevices}}));
  auto attempt = reserve(both, "n2");
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_EQ(api.devicesOf("c"), "n2/gpu-0,n2/gpu-1");
  EXPECT_EQ(api.devicesOf("p-extended-resources-1"), "n2/gpu-2,n2/gpu-3");
}

TEST_F(Extended, too_many_devices_are_a_matter_of_the_node) {
  EXPECT_EQ(filter(pod("p", "40"))["n4"], "");
  EXPECT_EQ(filter(pod("p", "40"), "n2"),
            kUnresolvable +
                "claim default/<extended-resources>: number of requested devices 40 exceeds the "
                "claim limit of 32");
}

TEST_F(Extended, the_claim_is_created_allocated_and_noted_in_the_pod) {
  auto attempt = reserve(pod("p", "2"), "n1");
  EXPECT_EQ(filter(pod("q", "1"), "n1"), kNoDevices);
  EXPECT_EQ(world.cluster().verifyNode(id("n1")), "");
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_THAT(api.writes, ElementsAre("create", "p-extended-resources-1/status", "pods/p"));
  const auto& claim = *api.claims.at(only());
  EXPECT_EQ(claim.metadata.annotations.at("resource.kubernetes.io/extended-resource-claim"),
            "true");
  EXPECT_THAT(claim.metadata.finalizers, ElementsAre(api::kClaimFinalizer));
  ASSERT_EQ(claim.metadata.ownerReferences.size(), 1U);
  EXPECT_EQ(claim.metadata.ownerReferences[0].uid, "uid-default-p");
  EXPECT_TRUE(claim.metadata.ownerReferences[0].controller);
  EXPECT_EQ(api.devicesOf(only()), "n1/gpu-0,n1/gpu-1");
  EXPECT_EQ(claim.status.reservedFor.at(0).uid, "uid-default-p");
  EXPECT_EQ(
      toJson(api.pods.at("p")),
      R"({"metadata":{"uid":"uid-default-p"},"status":{"extendedResourceClaimStatus":{)"
      R"("requestMappings":[{"containerName":"main","resourceName":"example.com/gpu",)"
      R"("requestName":"container-0-request-0"}],"resourceClaimName":"p-extended-resources-1"}}})");
  EXPECT_EQ(manager().usage.pool({"gpu.example", "n1"}).of("gpu-0")->whole, 1U)
      << "the grant and the object count once";
  observe(*attempt);
  EXPECT_EQ(filter(pod("q", "1"), "n1"), kNoDevices);
  api.remove(only());
  EXPECT_EQ(filter(pod("q", "1"), "n1"), "");
}

TEST_F(Extended, a_pod_on_a_node_with_a_device_plugin_needs_no_claim) {
  auto attempt = reserve(pod("p", "2"), "n4");
  EXPECT_TRUE(plugin->preBindPreFlight(attempt->state, attempt->pod, attempt->node).skipped());
  // An attempt for another node left its claim in the status, for which the kubelet would wait.
  PodBuilder again = pod("q", "2");
  again.object().status.extendedResourceClaimStatus.emplace().resourceClaimName = "gone";
  attempt = reserve(again, "n4");
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_THAT(api.writes, ElementsAre("pods/q"));
  EXPECT_EQ(
      toJson(api.pods.at("q")),
      R"({"metadata":{"uid":"uid-default-q"},"status":{"extendedResourceClaimStatus":null}})");
}

TEST_F(Extended, the_pod_is_bound_when_the_informer_has_the_claim) {
  auto attempt = reserve(pod("p", "2"), "n1");
  api.delivers = false;
  EXPECT_EQ(preBind(*attempt, 5s), "running");
  EXPECT_EQ(filter(pod("q", "1"), "n1"), kNoDevices);
  api.deliver();
  EXPECT_EQ(wait(*attempt, 2s), "");
  attempt = reserve(pod("r", "2"), "n2");
  EXPECT_EQ(preBind(*attempt, 3min),
            "the informer has not delivered claim default/r-extended-resources-2");
  attempt = reserve(pod("s", "1"), "n2");
  EXPECT_EQ(preBind(*attempt, 5s), "running");
  EXPECT_TRUE(world.cluster().forget("uid-default-s"));
  EXPECT_EQ(wait(*attempt, 5s), "pod default/s was deleted");
}

TEST_F(Extended, the_devices_count_once_while_the_pod_is_bound) {
  const auto& gpus = manager().usage.pool({"gpu.example", "n1"});
  auto attempt = reserve(pod("p", "1"), "n1");
  std::vector<std::uint32_t> counts;
  api.failure = [&](const kube::Request&) -> std::optional<Error> {
    counts.push_back(gpus.of("gpu-0")->whole);
    return std::nullopt;
  };
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_THAT(counts, ElementsAre(1, 1, 1));
}

TEST_F(Extended, a_claim_that_is_created_after_its_pod_was_deleted_gets_no_devices) {
  auto attempt = reserve(pod("p", "2"), "n1");
  api.failure = [&](const kube::Request& request) -> std::optional<Error> {
    if (request.verb == kube::Verb::Create) world.cluster().forget("uid-default-p");
    return std::nullopt;
  };
  EXPECT_EQ(preBind(*attempt), "pod default/p was deleted");
  EXPECT_EQ(filter(pod("q", "2"), "n1"), "");
  EXPECT_EQ(api.devicesOf(only()), "");
  plugin->unreserve(attempt->state, attempt->pod, attempt->node);
  world.loop().advance(1s);
  EXPECT_TRUE(api.claims.empty());
}

TEST_F(Extended, a_failed_attempt_deletes_the_claim) {
  auto attempt = reserve(pod("p", "2"), "n1");
  api.failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.resource != "pods") return std::nullopt;
    return Error{ErrorCode::Internal, "etcd is down", {}};
  };
  EXPECT_EQ(preBind(*attempt), "update pod default/p ExtendedResourceClaimStatus: etcd is down");
  EXPECT_EQ(api.claims.size(), 1U);
  forget(*attempt);
  EXPECT_TRUE(api.claims.empty());
  EXPECT_EQ(filter(pod("q", "2"), "n1"), "");
  api.failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.verb != kube::Verb::Create) return std::nullopt;
    return Error{ErrorCode::Forbidden, "quota", {}};
  };
  attempt = reserve(pod("p", "2"), "n1");
  EXPECT_EQ(preBind(*attempt), "create claim for extended resources default/p: quota");
  forget(*attempt);
  EXPECT_TRUE(api.claims.empty());
  EXPECT_EQ(filter(pod("q", "2"), "n1"), "");
}

// The process was killed in PreBind, before or after the allocation was written.
TEST_F(Extended, a_claim_of_an_earlier_attempt_is_deleted) {
  auto attempt = reserve(pod("p", "2"), "n1");
  EXPECT_EQ(preBind(*attempt), "");
  EXPECT_TRUE(world.cluster().forget("uid-default-p"));  // without unreserve
  EXPECT_EQ(world.place(world.pod(pod("p", "2"))),
            "0/4 nodes are available: cannot schedule extended resource claim.");
  EXPECT_EQ(postFilter(pod("p", "2")).message(), "deletion of ResourceClaim completed");
  EXPECT_TRUE(api.claims.empty());
  EXPECT_NE(world.place(world.pod(pod("p", "2"))).substr(0, 2), "0/");
  EXPECT_EQ(postFilter(pod("p", "9", kImplicit)).message(), "still not schedulable");
}

TEST_F(Extended, claims_of_running_pods_and_of_others_do_not_keep_a_pod_from_nodes) {
  auto attempt = reserve(pod("p", "2"), "n1");
  EXPECT_EQ(preBind(*attempt), "");
  observe(*attempt);
  world.pending.clear();
  EXPECT_NE(world.place(world.pod(aPod("p").request(kResource, "2"))).substr(0, 2), "0/")
      << "a simulation moves the pod";
  // Neither the owner's kind, nor another namespace, nor the annotation alone makes it the pod's.
  for (const auto& [name, kind, annotation] :
       {std::tuple{"a", "Job", "true"}, {"b", "Pod", "false"}}) {
    auto claim = gpuClaim(name);
    claim->metadata.annotations["resource.kubernetes.io/extended-resource-claim"] = annotation;
    claim->metadata.ownerReferences.push_back({"v1", kind, "q", "uid-default-q", true, true});
    api.put(*claim);
  }
  EXPECT_EQ(world.place(world.pod(pod("q", "3"))), "n4");
}

TEST_F(Extended, events_wake_pods_that_wait_for_devices) {
  const PodPtr waiting = world.pod(pod("p", "1"));
  const auto hint = [&](const auto& before, const auto& after) {
    using T = std::remove_cvref_t<decltype(*before)>;
    const auto event = eventOf(KindOf<T>::value, before, after);
    for (const auto& registration : plugin->eventsToRegister())
      if (matches(registration, event))
        return registration.hint ? registration.hint(*waiting, event) : Hint::Queue;
    return Hint::Skip;
  };
  using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;
  auto other = gpuClaim("other");
  EXPECT_EQ(hint(ClaimPtr(other), ClaimPtr()), Hint::Skip);
  auto own = std::make_shared<api::ResourceClaim>(*other);
  own->metadata.annotations["resource.kubernetes.io/extended-resource-claim"] = "true";
  own->metadata.ownerReferences.push_back({"v1", "Pod", "p", "uid-default-p", true, true});
  EXPECT_EQ(hint(ClaimPtr(own), ClaimPtr()), Hint::Queue) << "the pod can get another one";
  other->status.allocation = api::AllocationResult{};
  EXPECT_EQ(hint(ClaimPtr(other), ClaimPtr()), Hint::Queue) << "its devices are free";

  const auto begins = [&](const auto& before, const auto& after) {
    return plugin->beginsToBack(eventOf(KindOf<api::DeviceClass>::value, before, after), *waiting);
  };
  using ClassPtr = std::shared_ptr<const api::DeviceClass>;
  EXPECT_TRUE(begins(ClassPtr(), backingClass()));
  EXPECT_TRUE(begins(gpuClass(), backingClass()));
  EXPECT_FALSE(begins(backingClass(), backingClass())) << "it did before";
  EXPECT_FALSE(begins(ClassPtr(), backingClass("example.com/other")));
  EXPECT_FALSE(begins(backingClass(), ClassPtr()));
}

TEST_F(Extended, devices_of_the_class_are_counted_by_node) {
  const ResourceId gpus = world.cluster().resources().intern(kResource);
  ASSERT_TRUE(plugin->isBacked(gpus));
  const auto counted = [&](const char* node) {
    const auto devices = plugin->devicesOn(gpus, id(node));
    return std::pair(devices.used, devices.all);
  };
  EXPECT_EQ(counted("n2"), std::pair(0L, 4L));
  auto attempt = reserve(pod("p", "3"), "n2");
  EXPECT_EQ(counted("n2"), std::pair(3L, 4L));
  EXPECT_EQ(counted("n3"), std::pair(0L, 0L));
}

TEST_F(Extended, simulations_grant_devices) {
  {
    Cluster::Transaction whatIf(world.cluster());
    const PodPtr moved = world.pod(pod("p", "2"));
    ASSERT_TRUE(world.cluster().assume(moved, id("n1")));
    EXPECT_TRUE(plugin->grant(moved, id("n1")).ok());
    EXPECT_EQ(filter(pod("q", "1"), "n1"), kNoDevices);
  }
  EXPECT_EQ(filter(pod("q", "1"), "n1"), "");
}

}  // namespace
}  // namespace koord::scheduler
