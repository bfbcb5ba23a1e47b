#include "koordlet/hooks/resctrl/pod_resctrl.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/system/small_file.h"
#include "koordlet/testing/complete_schemata.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

const resctrl::Machine kMachine{
    .allWays = 0xff, .rootL3 = {{0, 0xff}, {4, 0xff}}, .rootMb = {{0, 100}, {4, 100}}};

TEST(PodResctrl, AllCachesAndSingleOnesCanBeNamed) {
  const auto lines = podSchemata(kMachine, R"({"llc":{"schemata":{"range":[0,50]},
                           "schemataPerCache":[{"cacheID":4,"range":[0,25]}]},
                    "mb":{"schemata":{"percent":35}}})");
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->l3, "L3:0=f;4=3;\n");
  EXPECT_EQ(lines->mb, "MB:0=40;4=40;\n");
  EXPECT_EQ(
      podSchemata(kMachine, R"({"mb":{"schemataPerCache":[{"cacheID":4,"percent":20}]}})")->mb,
      "MB:0=100;4=20;\n");
}

TEST(PodResctrl, OfCachesThatAreNotNamedThePodHasWhatTheRootGroupHas) {
  // Another program has an exclusive group with the upper half of cache 0.
  const resctrl::Machine shared{
      .allWays = 0xff, .rootL3 = {{0, 0xf}, {4, 0xff}}, .rootMb = {{0, 100}, {4, 90}}};
  const auto lines =
      podSchemata(shared, R"({"llc":{"schemataPerCache":[{"cacheID":4,"range":[0,25]}]}})");
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->l3, "L3:0=f;4=3;\n");
  EXPECT_EQ(lines->mb, "MB:0=100;4=90;\n");
}

TEST(PodResctrl, NonsenseIsAnErrorThatSaysWhere) {
  for (const auto* text :
       {"{broken", R"({"llc":{"schemata":{"range":[50,20]}}})",
        R"({"llc":{"schemata":{"range":[1]}}})",
        R"({"llc":{"schemataPerCache":[{"cacheID":1,"range":[0,50]}]}})",
        R"({"mb":{"schemata":{"percent":0}}})", R"({"mb":{"schemata":{"percent":"50"}}})"})
    EXPECT_FALSE(podSchemata(kMachine, text)) << text;
  EXPECT_THAT(podSchemata(kMachine, R"({"mb":{"schemata":{"percent":0}}})").error().message,
              testing::HasSubstr("mb: invalid schemata"));
}

class PodResctrlTest : public testing::Test {
 protected:
  PodResctrlTest() {
    auto& tree = files_.tree();
    tree.write("proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: cat_l3 mba\n");
    tree.write("sys/fs/resctrl/info/L3/cbm_mask", "ff\n");
    tree.write("sys/fs/resctrl/schemata", "L3:0=ff\nMB:0=100\n");
    tree.write("sys/fs/resctrl/koordlet-u/schemata", "L3:0=ff\nMB:0=100\n");
    tree.write("sys/fs/resctrl/koordlet-u/tasks", "");
    dir_ = files_.addPod(KubeQos::Burstable, "u", {"containerd://c"});
    files_.setCgroupText(CgroupFile::Tasks, dir_ + "/c", "41\n42\n");
    pod_ = viewOf(std::make_shared<const api::Pod>(*api::decodeText<api::Pod>(
                      R"({"metadata":{"uid":"u","annotations":{
                          "node.koordinator.sh/resctrl":"{\"llc\":{\"schemata\":{\"range\":[0,50]}}}"}},
                          "status":{"phase":"Running","qosClass":"Burstable"}})")),
                  files_.driver());
    hook_.emplace(host_, executor_, loop_);
    audit_.onAdd([this](const AuditEntry& entry) { completeSchemata(files_.tree(), entry); });
  }

  FakeHost files_{CgroupVersion::V2, {}};
  VirtualLoop loop_;
  AuditRing audit_;
  States states_;
  Host host_ = *Host::detect(files_.dirs());
  ResourceExecutor executor_{host_, loop_, {}, audit_};
  std::optional<ResctrlHook> hook_;  // the constructor reads the host's files
  std::string dir_;
  PodView pod_;
};

TEST_F(PodResctrlTest, ARunningPodGetsItsGroupWithAllItsThreads) {
  HookUpdates updates;
  hook_->wanted(pod_, updates);
  EXPECT_EQ(files_.tree().read("sys/fs/resctrl/koordlet-u/schemata"), "L3:0=f;\nMB:0=100;");
  EXPECT_EQ(files_.tree().read("sys/fs/resctrl/koordlet-u/tasks"), "41\n42");
  ContainerStart start;
  EXPECT_TRUE(hook_->starting(pod_, {}, start));
  EXPECT_EQ(start.resctrlGroup, "koordlet-u");
}

TEST_F(PodResctrlTest, ARefusedLineStopsNeitherTheOtherOneNorTheMoveOfThreads) {
  auto& tree = files_.tree();
  tree.remove("sys/fs/resctrl/koordlet-u/schemata");
  // A file that can be read and refuses the first write.
  std::filesystem::create_symlink("/proc/version", tree.path("sys/fs/resctrl/koordlet-u/schemata"));
  int refused = 0;
  executor_.setObserver([&](std::string_view type, bool ok, Duration) {
    if (type != "resctrl-schema" || ok) return;
    ++refused;
    tree.remove("sys/fs/resctrl/koordlet-u/schemata");
    tree.write("sys/fs/resctrl/koordlet-u/schemata", "L3:0=ff\nMB:0=50\n");
  });
  HookUpdates updates;
  hook_->wanted(pod_, updates);
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(tree.read("sys/fs/resctrl/koordlet-u/schemata"), "L3:0=ff;\nMB:0=100;");
  EXPECT_EQ(tree.read("sys/fs/resctrl/koordlet-u/tasks"), "41\n42");
}

TEST_F(PodResctrlTest, AGroupThatIsMadeAnewHasItsCacheAtOnce) {
  auto& tree = files_.tree();
  HookUpdates updates;
  hook_->wanted(pod_, updates);
  ASSERT_EQ(tree.read("sys/fs/resctrl/koordlet-u/schemata"), "L3:0=f;\nMB:0=100;");
  tree.remove("sys/fs/resctrl/koordlet-u");  // with the previous sandbox
  hook_->wanted(pod_, updates);
  tree.write("sys/fs/resctrl/koordlet-u/schemata", "L3:0=ff\nMB:0=100\n");
  hook_->wanted(pod_, updates);
  EXPECT_EQ(tree.read("sys/fs/resctrl/koordlet-u/schemata"), "L3:0=f;\nMB:0=100;");
}

TEST_F(PodResctrlTest, WhatAnAnnotationDoesNotNameAnyMoreIsTheHardwaresAgain) {
  HookUpdates updates;
  const auto schemataWith = [&](const std::string& annotation) {
    api::Pod pod = *pod_.pod;
    pod.metadata.annotations["node.koordinator.sh/resctrl"] = annotation;
    hook_->wanted(viewOf(std::make_shared<const api::Pod>(std::move(pod)), files_.driver()),
                  updates);
    return files_.tree().read("sys/fs/resctrl/koordlet-u/schemata");
  };
  const std::string half = R"({"llc":{"schemata":{"range":[0,50]}}})";
  EXPECT_EQ(schemataWith(half), "L3:0=f;\nMB:0=100;");
  EXPECT_EQ(schemataWith(R"({"mb":{"schemata":{"percent":50}}})"), "L3:0=ff;\nMB:0=50;");
  EXPECT_EQ(schemataWith(half), "L3:0=f;\nMB:0=100;");
}

TEST_F(PodResctrlTest, AGroupWithoutAPodGoesAfterTenSeconds) {
  files_.tree().makeDir("sys/fs/resctrl/koordlet-gone");
  files_.tree().makeDir("sys/fs/resctrl/LS");
  states_.setPods({pod_});
  HookUpdates updates;
  hook_->prepare(states_, updates);
  loop_.advance(9s);
  hook_->prepare(states_, updates);
  EXPECT_TRUE(pathExists(files_.tree().path("sys/fs/resctrl/koordlet-gone")));
  loop_.advance(2s);
  hook_->prepare(states_, updates);
  EXPECT_FALSE(pathExists(files_.tree().path("sys/fs/resctrl/koordlet-gone")));
  EXPECT_TRUE(pathExists(files_.tree().path("sys/fs/resctrl/LS")));
  EXPECT_TRUE(pathExists(files_.tree().path("sys/fs/resctrl/koordlet-u")));
}

TEST_F(PodResctrlTest, AUidCannotLeadOutOfTheDirectory) {
  api::Pod evil = *pod_.pod;
  evil.metadata.uid = "../../../etc";
  const PodView view = viewOf(std::make_shared<const api::Pod>(std::move(evil)), files_.driver());
  EXPECT_TRUE(hook_->podStarting(view));
  EXPECT_EQ(audit_.added(), 0U);
}

}  // namespace
}  // namespace koord::koordlet
