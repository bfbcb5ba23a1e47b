#include "cluster/hostnode/podspec/refusals.h"

#include <gtest/gtest.h>

#include "cluster/hostnode/test_pods.h"

namespace koord::cluster {
namespace {

TEST(RefusalsTest, AnOrdinaryPodIsTaken) {
  const auto pod =
      podOf("u", R"({"os": {"name": "linux"}, "hostUsers": true, "dnsPolicy": "ClusterFirst",
      "containers": [{"name": "a", "ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81}],
                      "securityContext": {"runAsNonRoot": true, "runAsUser": 7,
                                          "seccompProfile": {"type": "RuntimeDefault"}}}]})");
  EXPECT_FALSE(podRefusal(pod));
  EXPECT_FALSE(sandboxRefusal(pod));
  EXPECT_FALSE(containerRefusal(pod, "a", {}));
}

struct Case {
  const char* name;
  const char* spec;
  const char* word;
};
class SandboxRefusalTest : public testing::TestWithParam<Case> {};
TEST_P(SandboxRefusalTest, SaysWhatTheNodeCannotGive) {
  const auto why = sandboxRefusal(podOf("u", GetParam().spec));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find(GetParam().word), std::string::npos) << *why;
}
INSTANTIATE_TEST_SUITE_P(
    Specs, SandboxRefusalTest,
    testing::Values(
        Case{"Runtime", R"({"runtimeClassName": "gvisor", "containers": []})", "gvisor"},
        Case{"Users", R"({"hostUsers": false, "containers": []})", "user namespaces"},
        Case{"Claims", R"({"resourceClaims": [{"name": "gpu"}], "containers": []})",
             "resourceClaims"},
        Case{"Seccomp",
             R"({"securityContext": {"seccompProfile": {"type": "Localhost"}}, "containers": []})",
             "Localhost"},
        Case{
            "Ports",
            R"({"containers": [{"name": "a", "ports": [{"containerPort": 80, "hostPort": 8080}]}]})",
            "host port 8080"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(RefusalsTest, PodsOfAnotherSystemAndSysctlsAreNotAdmitted) {
  EXPECT_EQ(podRefusal(podOf("u", R"({"os": {"name": "windows"}, "containers": []})"))->reason,
            "PodOSNotSupported");
  EXPECT_EQ(podRefusal(podOf("u", R"({"securityContext": {"sysctls": [{"name": "a", "value": "1"}]},
                                      "containers": []})"))
                ->reason,
            "SysctlForbidden");
}

TEST(RefusalsTest, AContainerThatMustNotBeRootIsNot) {
  const auto refused = [](const char* container, const char* pods) {
    const auto why = containerRefusal(
        podOf("u", std::string(R"({"securityContext": )") + pods +
                       R"(, "containers": [{"name": "a", "securityContext": )" + container + "}]}"),
        "a", {});
    return why ? *why : "";
  };
  EXPECT_EQ(refused(R"({"runAsNonRoot": true})", "{}"),
            "container has runAsNonRoot and image will run as root (pod: \"pod-u_default(u)\", "
            "container: a)");
  EXPECT_NE(
      refused(R"({"runAsUser": 0})", R"({"runAsNonRoot": true})").find("breaks non-root policy"),
      std::string::npos);
  EXPECT_EQ(refused(R"({"runAsNonRoot": false})", R"({"runAsNonRoot": true})"), "");
  EXPECT_EQ(refused("{}", R"({"runAsNonRoot": true, "runAsUser": 5})"), "");
}

TEST(RefusalsTest, RestartPoliciesOfSingleContainersAreForSidecarsOnly) {
  EXPECT_TRUE(containerRefusal(
      podOf("u", R"({"containers": [{"name": "a", "restartPolicy": "Never"}]})"), "a", {}));
  EXPECT_FALSE(containerRefusal(
      podOf("u", R"({"initContainers": [{"name": "a", "restartPolicy": "Always"}]})"), "a", {}));
  EXPECT_TRUE(containerRefusal(
      podOf("u", R"({"containers": [{"name": "a", "lifecycle": {"stopSignal": "SIGUSR1"}}]})"), "a",
      {}));
}

}  // namespace
}  // namespace koord::cluster
