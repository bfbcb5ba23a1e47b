#include "cluster/controllers/devices/resource_claims.h"

#include <gmock/gmock.h>

#include "cluster/controllers/controllers_testing.h"
#include "kube/client.h"

namespace koord::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using Claim = api::ResourceClaim;

class ResourceClaimsTest : public ControllersTest {
 protected:
  void createTemplate() {
    cluster.create(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec:
  metadata: {labels: {team: a}, annotations: {note: kept}}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com, count: 2}}]}}
)");
  }
  void createPod(const std::string& name, const std::string& claims) {
    cluster.create("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                   "}\nspec: {containers: [{name: c, image: i}], resourceClaims: [" + claims +
                   "]}\n");
    settle();
  }
  void createClaim(const std::string& name) {
    cluster.create("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: " + name +
                   ", finalizers: [resource.kubernetes.io/delete-protection]}\nspec: {devices: "
                   "{requests: [{name: r, exactly: {deviceClassName: g}}]}}\n");
  }
  // Plays the scheduler.
  void allocate(const std::string& claim, const std::vector<std::string>& pods) {
    std::string users;
    for (const auto& pod : pods) {
      const auto known = cluster.get<api::Pod>(pod);
      users +=
          "{resource: pods, name: " + pod + ", uid: " + (known ? known->metadata.uid : pod) + "},";
    }
    cluster.patch<Claim>(claim,
                         "metadata: {finalizers: [resource.kubernetes.io/delete-protection]}");
    cluster.patch<Claim>(claim,
                         "status: {allocation: {devices: {results: [{request: r, driver: "
                         "d.example.com, pool: n1, device: gpu-0}]}}, reservedFor: [" +
                             users + "]}",
                         "status");
    settle();
  }
  void finish(const std::string& pod) {
    cluster.patch<api::Pod>(pod, "status: {phase: Succeeded}", "status");
    settle();
  }
  void settle() { cluster.loop.advance(3s); }
  // "p,q" of the pods that the claim is reserved for.
  std::string reservedFor(const std::string& claim) {
    std::string out;
    const auto known = cluster.get<Claim>(claim);
    for (const auto& user : known->status.reservedFor) out += (out.empty() ? "" : ",") + user.name;
    return out;
  }
  std::vector<std::string> eventsOf(const std::string& reason) {
    std::vector<std::string> out;
    for (const auto& event : cluster.list<api::Event>())
      if (event.reason == reason) out.push_back(event.message);
    return out;
  }
};

constexpr const char* kFromTemplate = "{name: one, resourceClaimTemplateName: gpu}";

TEST_F(ResourceClaimsTest, APodGetsAClaimForEachTemplateAndLearnsItsName) {
  createTemplate();
  createPod("web", std::string(kFromTemplate) + ", {name: two, resourceClaimTemplateName: gpu}");
  const auto claims = cluster.list<Claim>();
  ASSERT_THAT(claims, SizeIs(2));
  const auto pod = cluster.get<api::Pod>("web");
  ASSERT_THAT(pod->status.resourceClaimStatuses, SizeIs(2));
  for (const auto& status : pod->status.resourceClaimStatuses) {
    const auto claim = cluster.get<Claim>(*status.resourceClaimName);
    ASSERT_TRUE(claim);
    EXPECT_THAT(claim->metadata.name, StartsWith("web-" + status.name + "-"));
    EXPECT_EQ(api::controllerOf(claim->metadata)->uid, pod->metadata.uid);
    EXPECT_EQ(api::textIn(claim->metadata.annotations, api::kPodClaimNameAnnotation), status.name);
    EXPECT_EQ(api::textIn(claim->metadata.annotations, "note"), "kept");
    EXPECT_EQ(api::textIn(claim->metadata.labels, "team"), "a");
    EXPECT_EQ(claim->spec.devices.requests[0].exactly->count, 2);
  }
  settle();
  EXPECT_THAT(cluster.list<Claim>(), SizeIs(2));
}

TEST_F(ResourceClaimsTest, AMissingTemplateIsReportedAndUsedWhenItComes) {
  createPod("web", kFromTemplate);
  EXPECT_THAT(eventsOf("FailedResourceClaimCreation"),
              testing::Contains("PodResourceClaim one: resource claim template \"gpu\": "
                                "resourceclaimtemplate.resource.k8s.io \"gpu\" not found"));
  createTemplate();
  settle();
  EXPECT_THAT(cluster.list<Claim>(), SizeIs(1));
}

TEST_F(ResourceClaimsTest, AClaimThatWasCreatedAndNotReportedIsFoundAgain) {
  createTemplate();
  createPod("web", kFromTemplate);
  cluster.patch<api::Pod>("web", "status: {resourceClaimStatuses: null}", "status");
  settle();
  EXPECT_THAT(cluster.list<Claim>(), SizeIs(1));
  EXPECT_THAT(cluster.get<api::Pod>("web")->status.resourceClaimStatuses, SizeIs(1));
}

TEST_F(ResourceClaimsTest, AGeneratedClaimIsCreatedAgainWhileItsPodMayRun) {
  createTemplate();
  createPod("web", kFromTemplate);
  const auto first = cluster.list<Claim>()[0].metadata.name;
  cluster.remove<Claim>(first);
  settle();
  const auto claims = cluster.list<Claim>();
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_NE(claims[0].metadata.name, first);
  EXPECT_EQ(*cluster.get<api::Pod>("web")->status.resourceClaimStatuses[0].resourceClaimName,
            claims[0].metadata.name);
}

TEST_F(ResourceClaimsTest, AFinishedPodReleasesItsClaimsAndLosesThoseMadeForIt) {
  createTemplate();
  createClaim("shared");
  createPod("web", std::string(kFromTemplate) + ", {name: s, resourceClaimName: shared}");
  createPod("other", "{name: s, resourceClaimName: shared}");
  const auto own = *cluster.get<api::Pod>("web")->status.resourceClaimStatuses[0].resourceClaimName;
  allocate(own, {"web"});
  allocate("shared", {"web", "other"});
  EXPECT_EQ(reservedFor("shared"), "web,other");

  finish("web");
  EXPECT_FALSE(cluster.get<Claim>(own));
  EXPECT_EQ(reservedFor("shared"), "other");
  EXPECT_TRUE(cluster.get<Claim>("shared")->status.allocation);
  EXPECT_THAT(cluster.list<Claim>(), SizeIs(1));  // none is made again

  finish("other");
  const auto shared = cluster.get<Claim>("shared");
  EXPECT_THAT(shared->status.reservedFor, IsEmpty());
  EXPECT_FALSE(shared->status.allocation);
  EXPECT_THAT(shared->metadata.finalizers, IsEmpty());
}

TEST_F(ResourceClaimsTest, ADeletedPodReleasesItsClaims) {
  createClaim("shared");
  createPod("web", "{name: s, resourceClaimName: shared}");
  allocate("shared", {"web"});
  kube::DeleteOptions now;
  now.gracePeriodSeconds = 0;
  cluster.remove<api::Pod>("web", now);
  settle();
  EXPECT_FALSE(cluster.get<Claim>("shared")->status.allocation);
}

TEST_F(ResourceClaimsTest, AConsumerThatNobodyKnowsIsRemovedAndOneOfAnotherKindStays) {
  createClaim("shared");
  allocate("shared", {"unknown"});
  EXPECT_EQ(reservedFor("shared"), "");
  cluster.patch<Claim>("shared",
                       "status: {allocation: {}, reservedFor: [{apiGroup: example.com, resource: "
                       "things, name: t, uid: '7'}]}",
                       "status");
  settle();
  EXPECT_EQ(reservedFor("shared"), "t");
}

TEST_F(ResourceClaimsTest, AnUnusedClaimStaysAllocatedUntilItIsDeleted) {
  createClaim("shared");
  allocate("shared", {});
  EXPECT_TRUE(cluster.get<Claim>("shared")->status.allocation);
  cluster.remove<Claim>("shared");
  settle();
  EXPECT_FALSE(cluster.get<Claim>("shared"));
}

TEST_F(ResourceClaimsTest, AClaimIsReservedForAPodThatWasBoundWithoutTheScheduler) {
  createClaim("shared");
  createPod("web", "{name: s, resourceClaimName: shared}");
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: n1}");
  const auto pod = cluster.get<api::Pod>("web");
  ASSERT_TRUE(
      cluster.run(kube::bindPod(cluster.api, api::keyOf(pod->metadata), pod->metadata.uid, "n1")));
  allocate("shared", {});
  EXPECT_EQ(reservedFor("shared"), "web");
}

TEST_F(ResourceClaimsTest, TheClaimForExtendedResourcesEndsWithItsPod) {
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i, "
      "resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}}}]}\n");
  const auto pod = cluster.get<api::Pod>("web");
  cluster.create(
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: ext, annotations: "
      "{resource.kubernetes.io/extended-resource-claim: 'true'}, ownerReferences: [{apiVersion: "
      "v1, kind: Pod, name: web, uid: " +
      pod->metadata.uid +
      ", controller: true}]}\nspec: {devices: {requests: [{name: r, exactly: {deviceClassName: "
      "g}}]}}\n");
  allocate("ext", {"web"});
  cluster.patch<api::Pod>("web",
                          "status: {extendedResourceClaimStatus: {resourceClaimName: ext, "
                          "requestMappings: [{containerName: c, resourceName: example.com/gpu, "
                          "requestName: r}]}}",
                          "status");
  settle();
  EXPECT_EQ(reservedFor("ext"), "web");
  finish("web");
  EXPECT_FALSE(cluster.get<Claim>("ext"));
}

TEST(ClaimNamePrefixTest, longNamesAreCutSoThatBothPartsAreSeen) {
  EXPECT_EQ(claimNamePrefix("web", "gpu"), "web-gpu-");
  const auto cut = claimNamePrefix(std::string(100, 'p'), std::string(20, 'c'));
  EXPECT_EQ(cut, std::string(46, 'p') + "-" + std::string(9, 'c'));
}

}  // namespace
}  // namespace koord::cluster
