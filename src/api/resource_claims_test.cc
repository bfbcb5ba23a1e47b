#include "api/resource_claims.h"

#include <gtest/gtest.h>

#include "api/codec.h"

namespace koord::api {
namespace {

TEST(ResourceClaimsTest, aClaimWithItsAllocationIsReadAndWrittenTheSame) {
  const char* const text =
      R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":)"
      R"({"deviceClassName":"gpu.example.com","selectors":[{"cel":{"expression":"true"}}],)"
      R"("allocationMode":"ExactCount","count":2,"tolerations":[{"key":"k","operator":"Exists"}],)"
      R"("capacity":{"requests":{"memory":"1Gi"}}}},{"name":"any","firstAvailable":[{"name":"big",)"
      R"("deviceClassName":"big","count":1}]}],"constraints":[{"requests":["gpu"],)"
      R"("matchAttribute":"example.com/numa"}],"config":[{"requests":["gpu"],"opaque":)"
      R"({"driver":"example.com","parameters":{"a":[1]}}}]}},"status":{"allocation":{"devices":)"
      R"({"results":[{"request":"any/big","driver":"example.com","pool":"n1","device":"d0",)"
      R"("consumedCapacity":{"memory":"1Gi"}}],"config":[{"source":"FromClass","opaque":)"
      R"({"driver":"example.com","parameters":{}}}]},"nodeSelector":{"nodeSelectorTerms":)"
      R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}},)"
      R"("reservedFor":[{"resource":"pods","name":"p","uid":"1"}]}})";
  const auto claim = decodeText<ResourceClaim>(text, Reading::Strict);
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(claim->spec.devices.requests[0].exactly->count, 2);
  EXPECT_EQ(claim->spec.devices.requests[0].exactly->tolerations[0].operator_, "Exists");
  EXPECT_TRUE(isReservedFor(*claim, "1"));
  EXPECT_FALSE(isReservedFor(*claim, "2"));
  EXPECT_EQ(encode(*claim), *parseJson(text));
}

TEST(ResourceClaimsTest, attributesHaveTheNamesOfTheirTypes) {
  const char* const text =
      R"({"metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"n1","generation":1,)"
      R"("resourceSliceCount":1},"nodeName":"n1","devices":[{"name":"gpu-0","attributes":)"
      R"({"index":{"int":0},"healthy":{"bool":false},"model":{"string":"a100"},"driverVersion":)"
      R"({"version":"1.0.0"},"nodes":{"ints":[0,1]}},"capacity":{"memory":{"value":"40Gi",)"
      R"("requestPolicy":{"default":"1Gi","validRange":{"min":"1Gi"}}}},)"
      R"("taints":[{"key":"k","effect":"NoSchedule"}]}],"sharedCounters":[{"name":"a",)"
      R"("counters":{"memory":{"value":"40Gi"}}}]}})";
  const auto slice = decodeText<ResourceSlice>(text, Reading::Strict);
  ASSERT_TRUE(slice) << slice.error().message;
  const SliceDevice& device = slice->spec.devices[0];
  EXPECT_EQ(device.attributes.at("index").int_, 0);
  EXPECT_EQ(device.attributes.at("healthy").bool_, false);
  EXPECT_EQ(device.attributes.at("nodes").ints.size(), 2U);
  EXPECT_EQ(device.capacity.at("memory").requestPolicy->default_, Quantity::parse("1Gi").value());
  EXPECT_EQ(encode(*slice), *parseJson(text));
}

TEST(ResourceClaimsTest, aPodNamesItsClaimOrReceivesAGeneratedOne) {
  const auto pod = decodeText<Pod>(
      R"({"spec":{"resourceClaims":[{"name":"own","resourceClaimName":"shared"},
          {"name":"new","resourceClaimTemplateName":"t"},{"name":"none","resourceClaimTemplateName":"t"},
          {"name":"later","resourceClaimTemplateName":"t"}],
          "containers":[{"name":"c","resources":{"claims":[{"name":"own","request":"gpu"}]}}]},
          "status":{"resourceClaimStatuses":[{"name":"new","resourceClaimName":"p-new-x"},{"name":"none"}],
          "extendedResourceClaimStatus":{"resourceClaimName":"e","requestMappings":
          [{"containerName":"c","resourceName":"example.com/gpu","requestName":"container-0-request-0"}]}}})");
  ASSERT_TRUE(pod) << pod.error().message;
  const auto& entries = pod->spec.resourceClaims;
  const PodClaimNames names(*pod);
  EXPECT_EQ(*names.of(entries[0]), "shared");
  EXPECT_EQ(*names.of(entries[1]), "p-new-x");
  EXPECT_EQ(names.of(entries[2]), nullptr);
  EXPECT_TRUE(names.needsNone(entries[2]));
  EXPECT_EQ(names.of(entries[3]), nullptr);
  EXPECT_FALSE(names.needsNone(entries[3]));
  EXPECT_EQ(pod->spec.containers[0].resources.claims[0].request, "gpu");
  EXPECT_EQ(pod->status.extendedResourceClaimStatus->requestMappings[0].resourceName,
            "example.com/gpu");
}

}  // namespace
}  // namespace koord::api
