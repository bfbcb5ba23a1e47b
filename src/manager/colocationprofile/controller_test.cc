#include "manager/colocationprofile/controller.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "apiserver/embedded_cluster.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;

class ColocationProfileTest : public testing::Test {
 protected:
  ColocationProfileTest() {
    cluster_.install(std::filesystem::path(KOORD_DEPLOY) /
                     "crds/config.koordinator.sh_clustercolocationprofiles.yaml");
    cluster_.put(api::Namespace::kType, R"({"metadata":{"name":"team","labels":{"batch":"yes"}}})");
  }
  void putPod(std::string_view name, std::string_view labels = R"({"app":"job"})",
              std::string_view node = "", std::string_view ns = "team") {
    cluster_.put(
        api::Pod::kType,
        fmt::format(
            R"({{"metadata":{{"namespace":"{}","name":"{}","labels":{}}},
        "spec":{{"schedulerName":"default-scheduler",{}"containers":[{{"name":"c","image":"i"}}]}},
        "status":{{"phase":"Pending"}}}})",
            ns, name, labels, node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", node)));
  }
  void putProfile(
      std::string_view labels = R"({"config.koordinator.sh/controller-managed":"true"})",
      std::string_view more = "") {
    cluster_.put(api::ClusterColocationProfile::kType,
                 fmt::format(R"({{"metadata":{{"name":"batch","labels":{}}},"spec":{{
        "namespaceSelector":{{"matchLabels":{{"batch":"yes"}}}},"selector":{{"matchLabels":{{"app":"job"}}}},
        "labels":{{"made":"later"}},"annotations":{{"a":"b"}},"koordinatorPriority":7,
        "schedulerName":"koord-scheduler","priorityClassName":"nobody-looks"{}}}}})",
                             labels, more));
  }
  void start() {
    pods_.start();
    controller_ = std::make_unique<ColocationProfileController>(cluster_, loop_, pods_, metrics_,
                                                                Random(1), options_);
    controller_->start();
    loop_.advance(2s);
  }
  std::string label(const std::string& pod, std::string_view key, const std::string& ns = "team") {
    return std::string(textAt(*cluster_.get(api::Pod::kType, pod, ns), "metadata", "labels", key));
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Metrics metrics_;
  ColocationProfileOptions options_;
  kube::Informer<api::Pod> pods_{cluster_, loop_};
  std::unique_ptr<ColocationProfileController> controller_;
};

TEST_F(ColocationProfileTest, PodsThatWaitGetTheProfileThatCameLater) {
  putPod("waiting");
  putPod("running", R"({"app":"job"})", "n1");
  putPod("other", R"({"app":"web"})");
  putPod("elsewhere", R"({"app":"job"})", "", "default");
  putProfile();
  start();
  EXPECT_EQ(label("waiting", "made"), "later");
  EXPECT_EQ(label("waiting", "koordinator.sh/priority"), "7");
  EXPECT_EQ(textAt(*cluster_.get(api::Pod::kType, "waiting", "team"), "spec", "schedulerName"),
            "default-scheduler");
  EXPECT_EQ(label("running", "made"), "");
  EXPECT_EQ(label("other", "made"), "");
  EXPECT_EQ(label("elsewhere", "made", "default"), "");
  putPod("late");
  loop_.advance(31s);
  EXPECT_EQ(label("late", "made"), "later");
}

TEST_F(ColocationProfileTest, OnlyProfilesThatAskForItAreApplied) {
  putPod("waiting");
  putProfile("{}");
  start();
  EXPECT_EQ(label("waiting", "made"), "");
  options_.reconcileByDefault = true;
  start();
  EXPECT_EQ(label("waiting", "made"), "later");
}

TEST_F(ColocationProfileTest, APodIsLeftAloneForAWhileAndThenGivenTheProfileAgain) {
  putPod("waiting");
  putProfile();
  start();
  json::value pod = *cluster_.get(api::Pod::kType, "waiting", "team");
  pod.as_object()["metadata"].as_object()["labels"].as_object().erase("made");
  cluster_.put(api::Pod::kType, toJson(pod));
  EXPECT_EQ(label("waiting", "made"), "");
  loop_.advance(2min);
  EXPECT_EQ(label("waiting", "made"), "") << "somebody took it off";
  loop_.advance(5min);
  EXPECT_EQ(label("waiting", "made"), "later");
}

TEST_F(ColocationProfileTest, ManyPodsAreGivenItRoundByRound) {
  options_.burst = 5;
  options_.qps = 0.1;
  for (int i = 0; i < 9; ++i) putPod(fmt::format("p{}", i));
  putProfile();
  start();
  EXPECT_EQ(label("p4", "made"), "later");
  EXPECT_EQ(label("p5", "made"), "");
  loop_.advance(5min);
  EXPECT_EQ(label("p8", "made"), "later");
}

}  // namespace
}  // namespace koord::manager
