#include "model/qos.h"

#include <gtest/gtest.h>

#include "api/codec.h"
#include "model/priority.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::model {
namespace {

api::Pod podOf(std::string_view text) {
  return api::decodeText<api::Pod>(text).value();
}

struct ReaderCase {
  const char* name;
  const char* pod;
  Qos rawQos;
  Qos qos;
  PriorityClass rawClass;
  PriorityClass priorityClass;
  std::int32_t value;
};

class Readers : public testing::TestWithParam<ReaderCase> {};

TEST_P(Readers, AgreeWithTheTable) {
  const ReaderCase& c = GetParam();
  const api::Pod p = podOf(c.pod);
  EXPECT_EQ(rawQos(p), c.rawQos);
  EXPECT_EQ(qosWithDefault(p), c.qos);
  EXPECT_EQ(isBestEffortByDefault(p), c.qos == Qos::BE);
  EXPECT_EQ(rawPriorityClass(p), c.rawClass);
  EXPECT_EQ(priorityClassWithDefault(p), c.priorityClass);
  EXPECT_EQ(priorityWithDefault(p), c.value);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, Readers,
    testing::Values(
        ReaderCase{"nothing_is_set", R"({"spec":{"containers":[{"name":"c"}]}})", Qos::None,
                   Qos::BE, PriorityClass::None, PriorityClass::Batch, 5500},
        ReaderCase{"guaranteed_with_priority_zero",
                   R"({"spec":{"priority":0,"containers":[{"resources":{
                       "requests":{"cpu":"2","memory":"4Gi"},"limits":{"cpu":"2","memory":"4Gi"}}}]}})",
                   Qos::None, Qos::LSR, PriorityClass::None, PriorityClass::Prod, 9500},
        ReaderCase{
            "label_and_value_of_different_bands",
            R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LS"}},"spec":{"priority":5999}})",
            Qos::LS, Qos::LS, PriorityClass::Batch, PriorityClass::Batch, 5999},
        ReaderCase{"qos_label_in_the_wrong_case",
                   R"({"metadata":{"labels":{"koordinator.sh/qosClass":"ls"}},
                       "spec":{"priority":8000,"containers":[{"resources":{"requests":{"cpu":"1"}}}]}})",
                   Qos::None, Qos::LS, PriorityClass::None, PriorityClass::Prod, 8000},
        ReaderCase{"class_label_beats_the_value",
                   R"({"metadata":{"labels":{"koordinator.sh/priority-class":"koord-mid"}},
                       "spec":{"priority":9100}})",
                   Qos::None, Qos::BE, PriorityClass::Mid, PriorityClass::Mid, 9100},
        ReaderCase{"unknown_class_label_means_none",
                   R"({"metadata":{"labels":{"koordinator.sh/priority-class":"gold",
                       "koordinator.sh/qosClass":"BE"}},"spec":{"priority":9100}})",
                   Qos::BE, Qos::BE, PriorityClass::None, PriorityClass::Batch, 9100},
        ReaderCase{"system_pods_count_as_prod",
                   R"({"metadata":{"labels":{"koordinator.sh/qosClass":"SYSTEM"}}})", Qos::System,
                   Qos::System, PriorityClass::None, PriorityClass::Prod, 9500}),
    [](const auto& info) { return info.param.name; });

TEST(KubernetesQos, StatusWinsOverTheSpec) {
  const auto p =
      podOf(R"({"spec":{"containers":[{"name":"c"}]},"status":{"qosClass":"Burstable"}})");
  EXPECT_EQ(kubernetesQos(p), KubernetesQos::Burstable);
  EXPECT_EQ(computeKubernetesQos(p.spec), KubernetesQos::BestEffort);
}

TEST(KubernetesQos, BestEffortIsToldWithoutAddingUp) {
  for (const char* text :
       {R"({"spec":{"containers":[{"name":"c"}]}})",
        R"({"spec":{"containers":[{"name":"c"},{"resources":{"limits":{"memory":"1Gi"}}}]}})",
        R"({"spec":{"containers":[{"name":"c"}],
            "initContainers":[{"resources":{"requests":{"cpu":"1"}}}]}})",
        R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"0","memory":"0"}}}]}})",
        R"({"spec":{"containers":[{"resources":{"requests":{"kubernetes.io/batch-cpu":"500"}}}]}})",
        R"({"spec":{"resources":{"requests":{"cpu":"1"}},"containers":[{"name":"c"}]}})",
        R"({"spec":{"resources":{"limits":{"cpu":"0"}},
            "containers":[{"resources":{"requests":{"cpu":"1"}}}]}})",
        R"({"spec":{"containers":[{"name":"c"}]},"status":{"qosClass":"Guaranteed"}})"}) {
    EXPECT_EQ(isBestEffortByDefault(podOf(text)), qosWithDefault(podOf(text)) == Qos::BE) << text;
  }
}

TEST(KubernetesQos, LimitsWithoutRequestsAreBurstable) {
  const auto p =
      podOf(R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}})");
  EXPECT_EQ(computeKubernetesQos(p.spec), KubernetesQos::Burstable);
}

TEST(KubernetesQos, OtherResourcesDoNotCount) {
  const auto p = podOf(
      R"({"spec":{"containers":[{"resources":{"requests":{"kubernetes.io/batch-cpu":"500"}}}]}})");
  EXPECT_EQ(computeKubernetesQos(p.spec), KubernetesQos::BestEffort);
}

TEST(SubPriority, ReadsGoIntegers) {
  const auto read = [](std::string text) {
    return subPriority({{std::string(kLabelSubPriority), std::move(text)}});
  };
  EXPECT_EQ(subPriority({}).value(), 0);
  EXPECT_EQ(read("").value(), 0);
  EXPECT_EQ(read("0").value(), 0);
  EXPECT_EQ(read("1000").value(), 1000);
  EXPECT_EQ(read("-5").value(), -5);
  EXPECT_EQ(read("+5").value(), 5);
  EXPECT_EQ(read("0x1F").value(), 31);
  EXPECT_EQ(read("010").value(), 8);
  EXPECT_EQ(read("0o17").value(), 15);
  EXPECT_EQ(read("0b11").value(), 3);
  EXPECT_EQ(read("1_000").value(), 1000);
  EXPECT_EQ(read("0x_ff").value(), 255);
  for (const char* bad :
       {"1__0", "_1", "1_", "ten", "08", "2147483648", "1.5", "0x", "-", "- 1", "--1"})
    EXPECT_FALSE(read(bad)) << bad;
}

TEST(Resources, AreNamedByPriorityClass) {
  EXPECT_EQ(resourceNameOf(PriorityClass::Batch, kCpu), "kubernetes.io/batch-cpu");
  EXPECT_EQ(resourceNameOf(PriorityClass::Mid, kMemory), "kubernetes.io/mid-memory");
  EXPECT_EQ(resourceNameOf(PriorityClass::Prod, kCpu), "cpu");
  EXPECT_EQ(resourceNameOf(PriorityClass::None, kCpu), "cpu");
  EXPECT_EQ(resourceNameOf(PriorityClass::Free, kCpu), "");
  EXPECT_EQ(resourceNameOf(PriorityClass::Batch, "ephemeral-storage"), "");
}

TEST(Resources, CpuBecomesMilliCoresRoundedUp) {
  EXPECT_EQ(translateAmount(kCpu, Quantity::parse("1500m").value()).toString(), "1500");
  EXPECT_EQ(translateAmount(kCpu, Quantity::parse("100u").value()).toString(), "1");
  EXPECT_EQ(translateAmount(kCpu, Quantity::parse("1").value()).toString(), "1k");
  EXPECT_EQ(translateAmount(kMemory, Quantity::parse("4Gi").value()).toString(), "4Gi");
}

}  // namespace
}  // namespace koord::model
