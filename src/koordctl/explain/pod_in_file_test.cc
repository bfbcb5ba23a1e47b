#include "koordctl/explain/pod_in_file.h"

#include <gtest/gtest.h>

namespace koord::koordctl {
namespace {

struct Case {
  const char* name;
  const char* yaml;
  const char* expected;
};

class PodInFileTest : public testing::TestWithParam<Case> {};

TEST_P(PodInFileTest, IsFound) {
  const auto pod = podInFile(GetParam().yaml);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(*pod, *parseJson(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Manifests, PodInFileTest,
    testing::Values(
        Case{
            "APod", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec: {a: 1}",
            R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}, "spec": {"a": 1}})"},
        Case{
            "ADeploymentBehindAConfigMap",
            "kind: ConfigMap\nmetadata: {name: c}\n---\nkind: Deployment\nmetadata: {name: web, "
            "namespace: shop}\n"
            "spec: {template: {metadata: {labels: {a: b}}, spec: {a: 1}}}",
            R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}, "name": "web-explained",
                 "namespace": "shop"}, "spec": {"a": 1}})"},
        Case{
            "ACronJob",
            "kind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {spec: {template: {spec: {a: "
            "1}}}}}",
            R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c-explained", "namespace": "default"},
                 "spec": {"a": 1}})"}),
    [](const auto& info) { return info.param.name; });

TEST(PodInFileTest, AFileWithoutAPodIsRefused) {
  EXPECT_EQ(podInFile("kind: Service\nspec: {}").error().message,
            "contains neither a pod nor a workload with a pod template");
  EXPECT_FALSE(podInFile("{"));
}

}  // namespace
}  // namespace koord::koordctl
