// Tests the rules of the pod webhooks: validation, translation, devices, patches.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "api/patch/json_patch.h"
#include "api/schema/builtin.h"
#include "manager/webhook/device_resources.h"
#include "manager/webhook/json_diff.h"
#include "manager/webhook/pod_mutation.h"
#include "manager/webhook/pod_validation.h"
#include "manager/webhook/resource_translation.h"

namespace koord::manager {
namespace {

using testing::HasSubstr;

api::Pod pod(std::string_view text) {
  return api::decodeText<api::Pod>(text).value();
}
json::value document(std::string_view text) {
  return parseJson(text).value();
}

struct ValidationCase {
  const char* name;
  const char* pod;
  const char* old;  // "" = create
  const char* problem;
};
class Validation : public testing::TestWithParam<ValidationCase> {};

TEST_P(Validation, GivesTheDocumentedMessage) {
  const auto& c = GetParam();
  const auto now = pod(c.pod);
  std::optional<api::Pod> old;
  if (*c.old) old = pod(c.old);
  EXPECT_EQ(checkQosAndPriority(now, old ? &*old : nullptr, {}).value_or(""), c.problem);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, Validation,
    testing::Values(
        ValidationCase{
            "best_effort_of_production_priority",
            R"({"metadata":{"labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"priority":9500}})",
            "",
            "Pod: Forbidden: koordinator.sh/qosClass=BE and priorityClass=koord-prod cannot be "
            "used "
            "in combination"},
        ValidationCase{
            "best_effort_with_batch_resources",
            R"({"metadata":{"labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"priority":5500,
                           "containers":[{"resources":{"requests":{"kubernetes.io/batch-cpu":"500"}}}]}})",
            "", ""},
        ValidationCase{
            "batch_resources_without_best_effort",
            R"({"spec":{"containers":[{"resources":{"requests":{"kubernetes.io/batch-cpu":"500"}}}]}})",
            "",
            "labels.koordinator.sh/qosClass: Required value: must specify koordinator QoS BE with "
            "koordinator colocation resources"},
        ValidationCase{
            "bound_cpus_must_be_whole",
            R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LSR"}},"spec":{"priority":9500,
                           "containers":[{"resources":{"requests":{"cpu":"100m"}}}]}})",
            "",
            "pod.spec.containers[*].resources.requests: Invalid value: \"100m\": the requested "
            "CPUs "
            "of LSR Pod must be integer"},
        ValidationCase{
            "several_problems_are_joined",
            R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LSR"}}})", "",
            "[Pod: Forbidden: koordinator.sh/qosClass=LSR and priorityClass= cannot be used in "
            "combination, pod.spec.containers[*].resources.requests: Required value: LSR Pod must "
            "declare the requested CPUs]"},
        ValidationCase{
            "the_sub_priority_is_immutable",
            R"({"metadata":{"labels":{"koordinator.sh/priority":"200"}}})",
            R"({"metadata":{"labels":{"koordinator.sh/priority":"100"}}})",
            "labels.koordinator.sh/priority: Invalid value: \"200\": field is immutable"},
        ValidationCase{
            "the_value_may_move_inside_its_class",
            R"({"metadata":{"labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"priority":5600}})",
            R"({"metadata":{"labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"priority":5500}})",
            ""},
        ValidationCase{"the_class_is_immutable", R"({"spec":{"priority":9500}})",
                       R"({"spec":{"priority":5500}})",
                       "spec.priority: Invalid value: \"koord-prod\": field is immutable"},
        ValidationCase{
            "the_qos_class_is_immutable",
            R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LS"}}})", R"({"metadata":{}})",
            "labels.koordinator.sh/qosClass: Invalid value: \"LS\": field is immutable"}),
    [](const auto& info) { return info.param.name; });

TEST(Validation, ReservePodsCannotBeMadeByUsers) {
  EXPECT_EQ(
      checkReservedAnnotation(
          pod(R"({"metadata":{"annotations":{"scheduling.koordinator.sh/reserve-pod":""}}})")),
      "annotations.scheduling.koordinator.sh/reserve-pod: Forbidden: cannot set in annotations");
  EXPECT_EQ(checkReservedAnnotation(pod("{}")), std::nullopt);
}

struct DeviceCase {
  const char* name;
  const char* requests;
  const char* result;
};
class Devices : public testing::TestWithParam<DeviceCase> {};

TEST_P(Devices, AreSpelledOut) {
  const auto& c = GetParam();
  json::value p = document(fmt::format(
      R"({{"spec":{{"containers":[{{"resources":{{"requests":{}}}}}]}}}})", c.requests));
  expandDeviceResources(p);
  const json::value& resources = p.at("spec").at("containers").at(0).at("resources");
  EXPECT_EQ(resources.at("requests"), document(c.result));
  if (std::string_view(c.requests) == c.result) return;  // nothing to expand
  EXPECT_EQ(resources.at("limits"), document(c.result));
}

INSTANTIATE_TEST_SUITE_P(
    Requests, Devices,
    testing::Values(
        DeviceCase{
            "one_gpu", R"({"koordinator.sh/gpu":"100"})",
            R"({"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100","koordinator.sh/gpu.shared":"1"})"},
        DeviceCase{
            "two_gpus", R"({"koordinator.sh/gpu":"200"})",
            R"({"koordinator.sh/gpu-core":"200","koordinator.sh/gpu-memory-ratio":"200","koordinator.sh/gpu.shared":"2"})"},
        DeviceCase{
            "half_a_gpu", R"({"koordinator.sh/gpu":50})",
            R"({"koordinator.sh/gpu-core":50,"koordinator.sh/gpu-memory-ratio":50,"koordinator.sh/gpu.shared":"1"})"},
        DeviceCase{"another_vendors", R"({"nvidia.com/gpu":"1"})", R"({"nvidia.com/gpu":"1"})"}),
    [](const auto& info) { return info.param.name; });

std::string devicesOf(std::string_view requests) {
  const auto problem = checkDeviceResources(pod(
      fmt::format(R"({{"spec":{{"containers":[{{"resources":{{"requests":{}}}}}]}}}})", requests)));
  return problem.value_or("ok");
}

TEST(DeviceRules, OnlyWhatADeviceCanGiveIsAskedFor) {
  const std::string field = "pod.spec.containers[*].resources.requests: ";
  EXPECT_EQ(devicesOf(R"({"koordinator.sh/gpu":"1","koordinator.sh/gpu.shared":"1"})"),
            field + "Forbidden: Forbidden declare GPU and GPU share at same time");
  EXPECT_EQ(devicesOf(R"({"koordinator.sh/gpu":"0"})"),
            field + "Invalid value: \"0\": the requested GPU must be greater than zero");
  EXPECT_EQ(devicesOf(R"({"koordinator.sh/gpu":"150"})"),
            field + "Invalid value: \"150\": the requested GPU must be percentage of 100");
  EXPECT_EQ(devicesOf(R"({"koordinator.sh/gpu":"200"})"), "ok");
  EXPECT_EQ(devicesOf(R"({"koordinator.sh/gpu.shared":"1","koordinator.sh/gpu-core":"50"})"),
            field + "Forbidden: GPU memory and GPU memory ratio all is zero");
  EXPECT_EQ(devicesOf(R"({"koordinator.sh/gpu.shared":"2","koordinator.sh/gpu-core":"75",
                          "koordinator.sh/gpu-memory-ratio":"100"})"),
            field + "Invalid value: \"75\": the requested gpuCore must multiple of shared");
  EXPECT_EQ(devicesOf(R"({"koordinator.sh/gpu.shared":"0"})"),
            "[" + field + "Invalid value: \"0\": the requested GPU must be greater than zero, " +
                field + "Forbidden: GPU memory and GPU memory ratio all is zero]");
  EXPECT_EQ(devicesOf(R"({"koordinator.sh/gpu.shared":"0","huawei.com/npu-core":"1"})"),
            field + "Invalid value: \"0\": the requested GPU must be greater than zero");
}

TEST(Translation, MovesRequestsLimitsAndOverheadOfBatchPods) {
  json::value p = document(R"({"spec":{
      "initContainers":[{"resources":{"requests":{"cpu":"0.1"}}}],
      "containers":[{"name":"main","resources":{"limits":{"cpu":"1","memory":"2Gi"}}},{"name":"other"}],
      "overhead":{"cpu":"250m"}}})");
  translateResources(model::PriorityClass::Batch, p);
  EXPECT_EQ(p, document(R"({"spec":{
      "initContainers":[{"resources":{"requests":{"kubernetes.io/batch-cpu":"100"}}}],
      "containers":[{"name":"main","resources":{
         "limits":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"2Gi"},
         "requests":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"2Gi"}}},{"name":"other"}],
      "overhead":{"kubernetes.io/batch-cpu":"250"}}})"));
}

TEST(Translation, LeavesProductionAndFreePodsAlone) {
  const json::value before =
      document(R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}})");
  for (const auto c :
       {model::PriorityClass::Prod, model::PriorityClass::Free, model::PriorityClass::None}) {
    json::value p = before;
    translateResources(c, p);
    EXPECT_EQ(p, before);
  }
}

TEST(ExtendedResources, AWrongAnnotationIsReplacedByTheTruth) {
  json::value p =
      document(R"({"metadata":{"annotations":{"node.koordinator.sh/extended-resource-spec":
      "{\"containers\":{\"main\":{\"limits\":{\"kubernetes.io/batch-cpu\":\"9\"}}}}"}},
      "spec":{"containers":[{"name":"main"}]}})");
  ASSERT_TRUE(mutateExtendedResourceSpec(p));
  EXPECT_EQ(textAt(p, "metadata", "annotations", "node.koordinator.sh/extended-resource-spec"),
            "{}");
}

TEST(ExtendedResources, AnAnnotationThatCannotBeReadIsAnError) {
  json::value p = document(
      R"({"metadata":{"annotations":{"node.koordinator.sh/extended-resource-spec":"{"}},"spec":{}})");
  EXPECT_FALSE(mutateExtendedResourceSpec(p));
}

TEST(ExtendedResources, InFullHaveMidResourcesInitContainersAndOverhead) {
  const char* pod = R"({"spec":{"overhead":{"kubernetes.io/batch-cpu":"250","cpu":"1"},
      "initContainers":[{"name":"first","resources":{"requests":{"kubernetes.io/batch-cpu":"100"}}},{"name":"none"}],
      "containers":[{"name":"main","resources":{"requests":{"kubernetes.io/mid-cpu":"1500","cpu":"1"}}}]}})";
  const auto annotated = [&](model::ExtendedResources extent) {
    json::value p = document(pod);
    EXPECT_TRUE(mutateExtendedResourceSpec(p, extent));
    return std::string(
        textAt(p, "metadata", "annotations", "node.koordinator.sh/extended-resource-spec"));
  };
  EXPECT_EQ(annotated(model::ExtendedResources::BatchOfContainers), "");
  EXPECT_EQ(annotated(model::ExtendedResources::InFull),
            R"({"containers":{"main":{"requests":{"kubernetes.io/mid-cpu":"1500"}}},)"
            R"("initContainers":{"first":{"requests":{"kubernetes.io/batch-cpu":"100"}}},)"
            R"("overhead":{"kubernetes.io/batch-cpu":"250"}})");
}

class Profiles : public testing::Test {
 protected:
  static ProfilePtr profile(std::string_view text) {
    return std::make_shared<const api::ClusterColocationProfile>(
        api::decodeText<api::ClusterColocationProfile>(text).value());
  }
  Result<ProfileOutcome> apply(const ProfilePtr& p, json::value& target) {
    const ProfileContext context{[](std::string_view) { return nullptr; }, *types_.find("Pod"),
                                 random_};
    return applyProfiles({p}, context, target);
  }
  api::SchemaSet types_ = api::builtinTypes();
  Random random_{1};
};

TEST_F(Profiles, ASelectorThatCannotBeReadMatchesNothingAndIsReported) {
  const std::vector<ProfilePtr> profiles{
      profile(
          R"({"metadata":{"name":"bad"},"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Like"}]}}})"),
      profile(R"({"metadata":{"name":"z"},"spec":{}})"),
      profile(R"({"metadata":{"name":"b"},"spec":{"selector":{}}})")};
  std::vector<std::string> broken;
  const auto matching = matchProfiles(profiles, {}, {{"a", "1"}}, &broken);
  ASSERT_EQ(matching.size(), 2u);
  EXPECT_EQ(matching[0]->metadata.name, "b");
  EXPECT_EQ(matching[1]->metadata.name, "z");
  EXPECT_THAT(broken, testing::ElementsAre(HasSubstr("bad: spec.selector")));
}

TEST_F(Profiles, AProbabilityIsThatShareOfThePods) {
  const auto p =
      profile(R"({"metadata":{"name":"p"},"spec":{"probability":"30%","labels":{"x":"1"}}})");
  int hit = 0;
  for (int i = 0; i < 10'000; ++i) {
    json::value target = document("{}");
    ASSERT_TRUE(apply(p, target));
    hit += !textAt(target, "metadata", "labels", "x").empty();
  }
  EXPECT_NEAR(hit, 3000, 200);
}

TEST_F(Profiles, OnlyKeysThatAreThereAreCopied) {
  const auto p = profile(R"({"metadata":{"name":"p"},"spec":{
      "labelKeysMapping":{"a":"b","b":"c","none":"kept","nothing":"new"},"annotationKeysMapping":{"x":"y"}}})");
  json::value target = document(R"({"metadata":{"labels":{"a":"1","kept":"2"}}})");
  ASSERT_TRUE(apply(p, target));
  EXPECT_EQ(toJson(target), R"({"metadata":{"labels":{"a":"1","kept":"2","b":"1","c":"1"}}})");
  target = document("{}");
  ASSERT_TRUE(apply(p, target));
  EXPECT_EQ(toJson(target), "{}");
}

TEST_F(Profiles, WhatIsMissingOrWrongIsNamed) {
  json::value target = document("{}");
  const auto missing =
      apply(profile(R"({"metadata":{"name":"p"},"spec":{"priorityClassName":"gold"}})"), target);
  ASSERT_FALSE(missing);
  EXPECT_EQ(
      missing.error().message,
      "ClusterColocationProfile p: spec.priorityClassName: PriorityClass gold does not exist");
  const auto odd =
      apply(profile(R"({"metadata":{"name":"p"},"spec":{"probability":"half"}})"), target);
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message, HasSubstr("spec.probability"));
}

struct DiffCase {
  const char* name;
  const char* before;
  const char* after;
  std::size_t operations;
};
class Diff : public testing::TestWithParam<DiffCase> {};

TEST_P(Diff, MakesTheOneOfTheOther) {
  const auto& c = GetParam();
  const json::value before = document(c.before);
  const json::value after = document(c.after);
  const json::array patch = createJsonPatch(before, after);
  EXPECT_EQ(patch.size(), c.operations) << toJson(patch);
  EXPECT_EQ(api::applyJsonPatch(before, patch).value(), after) << toJson(patch);
}

INSTANTIATE_TEST_SUITE_P(
    Documents, Diff,
    testing::Values(DiffCase{"equal", R"({"a":[1,{"b":2}]})", R"({"a":[1,{"b":2}]})", 0},
                    DiffCase{"members", R"({"a":1,"b":2,"c":{"d":3}})",
                             R"({"a":1,"b":5,"c":{},"e":{"f":1}})", 3},
                    DiffCase{"odd_keys", R"({"m":{"a/b":"1","c~d":"2"}})",
                             R"({"m":{"a/b":"2","x/~y":"3"}})", 3},
                    DiffCase{"lists_of_equal_length", R"({"l":[{"a":1},{"b":2}]})",
                             R"({"l":[{"a":1},{"b":3}]})", 1},
                    DiffCase{"lists_of_other_length", R"({"l":[1,2]})", R"({"l":[1,2,3]})", 1},
                    DiffCase{"types", R"({"a":{"b":1}})", R"({"a":[1]})", 1}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace koord::manager
