#include "cluster/hostnode/podspec/host_pod.h"

#include <gtest/gtest.h>

#include "cluster/hostnode/test_pods.h"

namespace koord::cluster {
namespace {

TEST(HostPodTest, HoldsWhatSchedulersDoNotNeed) {
  const auto pod = podOf("u", R"json({
      "nodeName": "n", "serviceAccountName": "sa",
      "volumes": [{"name": "v", "configMap": {"name": "cm", "items": [{"key": "k", "path": "p", "mode": 256}]}},
                  {"name": "w", "nfs": {"server": "s", "path": "/"}}, {"name": "e"}],
      "initContainers": [{"name": "i", "tty": true}],
      "containers": [{"name": "a", "stdin": true,
        "livenessProbe": {"httpGet": {"port": "web"}, "periodSeconds": 7},
        "volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "$(X)"}]}]})json");
  EXPECT_EQ(pod.spec.nodeName, "n");
  EXPECT_EQ(pod.details.serviceAccountName, "sa");
  ASSERT_EQ(pod.details.volumes.size(), 3u);
  EXPECT_EQ(pod.details.volumes[0].configMap->items[0].mode, 256);
  EXPECT_EQ(pod.details.volumes[0].otherType, "");
  EXPECT_EQ(pod.details.volumes[1].otherType, "nfs");
  EXPECT_EQ(pod.details.volumes[2].otherType, "");
  const auto& container = pod.container("a");
  EXPECT_TRUE(container.stdin_);
  EXPECT_EQ(container.livenessProbe->httpGet->port.text, "web");
  EXPECT_EQ(container.livenessProbe->periodSeconds, 7);
  EXPECT_EQ(container.livenessProbe->failureThreshold, 3);
  EXPECT_EQ(container.volumeMounts[0].subPathExpr, "$(X)");
  EXPECT_TRUE(pod.container("i").tty);
}

TEST(HostPodTest, AMistakeInAnyFieldIsNamed) {
  const auto document = parseJson(R"({"spec": {"containers": [{"name": "a", "tty": 3}]}})");
  const auto pod = api::decode<HostPod>(*document);
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().message, "spec: containers[0].tty: expected true or false, got 3");
}

}  // namespace
}  // namespace koord::cluster
