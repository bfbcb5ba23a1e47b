#include "manager/colocationprofile/profile_audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "apiserver/embedded_cluster.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class ProfileAuditTest : public testing::Test {
 protected:
  ProfileAuditTest() {
    cluster_.install(std::filesystem::path(KOORD_DEPLOY) /
                     "crds/config.koordinator.sh_clustercolocationprofiles.yaml");
    cluster_.put(api::Namespace::kType, R"({"metadata":{"name":"team","labels":{"batch":"yes"}}})");
    cluster_.put(api::Namespace::kType,
                 R"({"metadata":{"name":"system","labels":{"control-plane":"x","batch":"yes"}}})");
  }
  void start() {
    pods_.start();
    audit_.start();
    loop_.advance(5s);
  }
  void putProfile(std::string_view name, std::string_view spec = R"("qosClass":"BE")") {
    cluster_.put(api::ClusterColocationProfile::kType,
                 fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"selector":{{"matchLabels":{{
                     "app":"job"}}}},"namespaceSelector":{{"matchLabels":{{"batch":"yes"}}}},{}}}}})",
                             name, spec));
    loop_.advance(5s);
  }
  void putPod(std::string_view name, std::string_view more = "", std::string_view ns = "team") {
    cluster_.put(
        api::Pod::kType,
        fmt::format(R"({{"metadata":{{"namespace":"{}","name":"{}","labels":{{"app":"job"{}}}}},
                     "spec":{{"containers":[{{"name":"c","image":"i"}}]}}}})",
                    ns, name, more));
    loop_.advance(2s);
  }
  std::string events() {
    std::string text;
    for (const auto& write : cluster_.writes)
      if (write.resource == "events") text += write.body + "\n";
    return text;
  }
  std::string series() {
    const std::string text = metrics_.internalText();
    const auto at = text.find("koord_manager_pods_without_profile{");
    return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Metrics metrics_;
  kube::Informer<api::Pod> pods_{cluster_, loop_};
  kube::EventRecorder events_{cluster_, loop_, "koord-manager", Random(2)};
  ProfileAudit audit_{cluster_, loop_, pods_, events_, metrics_, Random(1)};
};

TEST_F(ProfileAuditTest, APodWithoutAnyMarkOfItsProfileIsToldOfAndCountedUntilItIsGone) {
  putProfile("batch");
  start();
  putPod("seen", R"(,"koordinator.sh/qosClass":"BE")");
  EXPECT_EQ(events(), "");
  putPod("missed");
  EXPECT_THAT(events(), HasSubstr("AdmittedWithoutProfile"));
  EXPECT_THAT(events(), HasSubstr("ClusterColocationProfile batch,"));
  EXPECT_EQ(series(), R"(koord_manager_pods_without_profile{profile="batch"} 1)");
  const std::string once = events();
  loop_.advance(10min);
  EXPECT_EQ(events(), once) << "it is said once";
  cluster_.remove(api::Pod::kType, "missed", "team");
  loop_.advance(1s);
  EXPECT_EQ(series(), "");
}

TEST_F(ProfileAuditTest, WhatWasThereBeforeTheProfileMissedNothing) {
  start();
  putPod("before");
  putProfile("batch");
  EXPECT_EQ(events(), "");
  putPod("after");
  EXPECT_THAT(events(), HasSubstr(R"("name":"after")"));
  EXPECT_THAT(events(), Not(HasSubstr(R"("name":"before")")));
}

TEST_F(ProfileAuditTest, ALeaderThatComesLaterFindsThemToo) {
  putProfile("batch");
  for (int i = 0; i < 1200; ++i) putPod(fmt::format("missed-{}", i));
  start();
  EXPECT_EQ(series(), R"(koord_manager_pods_without_profile{profile="batch"} 1200)");
}

TEST_F(ProfileAuditTest, OneMarkOfAnyProfileIsProofEnough) {
  putProfile("a", R"("qosClass":"BE")");
  putProfile("b", R"("labels":{"made":"b"},"qosClass":"LS")");
  start();
  putPod("overwritten", R"(,"made":"b","koordinator.sh/qosClass":"LS")");
  EXPECT_EQ(events(), "");
  putPod("missed");
  EXPECT_THAT(events(), HasSubstr("ClusterColocationProfile a, b,"));
}

TEST_F(ProfileAuditTest, ProfilesByChanceAndNamespacesOfTheControlPlaneAreNoReason) {
  putProfile("chance", R"("qosClass":"BE","probability":"50%")");
  start();
  putPod("left-alone");
  putProfile("sure", R"("annotations":{"a":"b"})");
  putPod("system", "", "system");
  EXPECT_EQ(events(), "");
}

TEST_F(ProfileAuditTest, AProfileWhoseSelectorCannotBeReadIsToldSoOnce) {
  start();
  cluster_.put(api::ClusterColocationProfile::kType, R"({"metadata":{"name":"broken"},"spec":{
      "selector":{"matchExpressions":[{"key":"a","operator":"Near"}]},"qosClass":"BE"}})");
  loop_.advance(5s);
  EXPECT_THAT(events(), HasSubstr("UnreadableSelector"));
  EXPECT_THAT(events(), HasSubstr("spec.selector"));
  const std::string once = events();
  putProfile("other");
  EXPECT_EQ(events(), once);
  putPod("missed");
  EXPECT_THAT(events(), HasSubstr("ClusterColocationProfile other,")) << "the others count";
}

TEST_F(ProfileAuditTest, ANamespaceThatIsMeantLaterAndAPodThatIsMendedAreSeen) {
  cluster_.put(api::Namespace::kType, R"({"metadata":{"name":"late"}})");
  putProfile("batch");
  start();
  putPod("early", "", "late");
  EXPECT_EQ(events(), "");
  cluster_.put(api::Namespace::kType, R"({"metadata":{"name":"late","labels":{"batch":"yes"}}})");
  loop_.advance(5s);
  EXPECT_EQ(series(), R"(koord_manager_pods_without_profile{profile="batch"} 1)");
  json::value pod = *cluster_.get(api::Pod::kType, "early", "late");
  pod.as_object()["metadata"].as_object()["labels"].as_object()["koordinator.sh/qosClass"] = "BE";
  cluster_.put(api::Pod::kType, toJson(pod));
  loop_.advance(2s);
  EXPECT_EQ(series(), "");
}

}  // namespace
}  // namespace koord::manager
