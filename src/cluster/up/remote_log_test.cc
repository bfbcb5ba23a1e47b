#include "cluster/up/remote_log.h"

#include <gmock/gmock.h>

namespace koord::cluster {
namespace {

using testing::HasSubstr;

api::Node nodeAt(const char* address, int port) {
  api::Node node;
  node.status.addresses = {{"Hostname", "laptop"}, {"InternalIP", address}};
  node.status.daemonEndpoints.kubeletEndpoint = api::DaemonEndpoint{port};
  return node;
}

TEST(RemoteLogTest, theUrlIsThatOfTheKubeletsPort) {
  api::StringMap query;
  query["container"] = "main";
  query["tailLines"] = "5";
  EXPECT_EQ(remoteLogUrl(nodeAt("192.0.2.7", 10250), {"default", "web"}, "main", query).value(),
            "https://192.0.2.7:10250/containerLogs/default/web/main?tailLines=5");
  EXPECT_EQ(remoteLogUrl(nodeAt("2001:db8::7", 1), {"a", "b"}, "../../pods", {}).value(),
            "https://[2001:db8::7]:1/containerLogs/a/b/..%2F..%2Fpods");
}

TEST(RemoteLogTest, aSimulatedNodeHasNone) {
  api::Node simulated;
  simulated.status.addresses = {{"InternalIP", "10.0.0.1"}};
  EXPECT_THAT(remoteLogUrl(simulated, {"default", "web"}, "main", {}).error().message,
              HasSubstr("runs on a simulated node"));
  EXPECT_FALSE(remoteLogUrl(nodeAt("10.0.0.1", 0), {"default", "web"}, "main", {}));
}

}  // namespace
}  // namespace koord::cluster
