#include "apiserver/tables/service_cells.h"

#include <gtest/gtest.h>

namespace koord::apiserver {
namespace {

json::value parsed(const char* text) {
  return parseJson(text).value();
}

TEST(ServiceCellsTest, ExternalAddresses) {
  EXPECT_EQ(externalAddresses(parsed(R"({"spec":{"type":"ClusterIP"}})")), "<none>");
  EXPECT_EQ(externalAddresses(parsed(R"({"spec":{"type":"LoadBalancer"}})")), "<pending>");
  EXPECT_EQ(externalAddresses(parsed(R"({"spec":{"type":"LoadBalancer","externalIPs":["192.0.2.1"]},
      "status":{"loadBalancer":{"ingress":[{"ip":"127.96.0.1"},{"hostname":"lb"}]}}})")),
            "127.96.0.1,lb,192.0.2.1");
  EXPECT_EQ(externalAddresses(parsed(R"({"spec":{"type":"ExternalName","externalName":"a.b"}})")),
            "a.b");
}

TEST(ServiceCellsTest, TheFirstThreeEndpoints) {
  EXPECT_EQ(endpointsText(parsed("{}")), "<none>");
  EXPECT_EQ(endpointsText(parsed(R"({"subsets":[{"addresses":[{"ip":"1.1.1.1"},{"ip":"1.1.1.2"}],
      "ports":[{"port":80},{"port":81}]}]})")),
            "1.1.1.1:80,1.1.1.1:81,1.1.1.2:80 + 1 more...");
  EXPECT_EQ(slicePorts(parsed(R"({"ports":[{"port":80},{}]})")), "80,*");
  EXPECT_EQ(slicePorts(parsed("{}")), "<unset>");
  EXPECT_EQ(sliceAddresses(parsed(R"({"endpoints":[{"addresses":["1.1.1.1"]}]})")), "1.1.1.1");
}

}  // namespace
}  // namespace koord::apiserver
