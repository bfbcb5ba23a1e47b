#include "koordlet/hooks/coresched/core_sched_hook.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "koordlet/testing/fake_core_sched.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

class CoreSchedTest : public testing::Test {
 protected:
  CoreSchedTest() { setPolicy("coreSched"); }
  void setPolicy(std::string_view policy) {
    EffectiveSlo slo = defaultSlo();
    slo.qos = *api::decodeText<api::ResourceQOSStrategy>(fmt::format(
        R"({{"policies":{{"cpuPolicy":"{}"}},"lsClass":{{"cpuQOS":{{"enable":true,"coreExpeller":true}}}},
            "beClass":{{"cpuQOS":{{"enable":true,"schedIdle":1}}}}}})",
        policy));
    states_.setSlo(slo);
  }
  void addPod(std::string_view uid, std::string_view qos, std::string_view labels,
              std::string_view pids) {
    const auto dir = files_.addPod(KubeQos::Burstable, uid, {"containerd://c"});
    files_.setCgroupText(CgroupFile::Procs, dir + "/c", pids);
    pods_.push_back(
        viewOf(std::make_shared<const api::Pod>(*api::decodeText<api::Pod>(fmt::format(
                   R"({{"metadata":{{"uid":"{}","labels":{{"koordinator.sh/qosClass":"{}"{}}}}},
                "status":{{"phase":"Running","qosClass":"Burstable"}}}})",
                   uid, qos, labels))),
               files_.driver()));
    states_.setPods(pods_);
  }
  HookUpdates pass(CoreSchedHook& hook) {
    HookUpdates updates;
    hook.prepare(states_, updates);
    for (const auto& pod : states_.pods()) hook.wanted(pod, updates);
    return updates;
  }

  FakeHost files_{CgroupVersion::V2, {}};
  Host host_ = *Host::detect(files_.dirs());
  States states_;
  std::vector<PodView> pods_;
  FakeCookies kernel_;
  std::map<int, std::uint64_t>& cookies_ = kernel_.of;
  CoreSchedHook hook_{host_, std::make_unique<FakeCoreSched>(kernel_)};
};

constexpr std::string_view kTeam = R"(,"koordinator.sh/core-sched-group-id":"team")";

TEST_F(CoreSchedTest, AGroupHasOneCookieAndOthersHaveOthers) {
  addPod("a", "LS", kTeam, "11\n12\n");
  addPod("b", "LS", kTeam, "21\n");
  addPod("c", "BE", kTeam, "31\n");  // no expeller: another group
  addPod("d", "LS", R"(,"koordinator.sh/core-sched-policy":"exclusive")", "41\n");
  addPod("e", "LS", R"(,"koordinator.sh/core-sched-policy":"none")", "51\n");
  addPod("f", "SYSTEM", "", "61\n");
  pass(hook_);
  EXPECT_NE(cookies_[11], 0U);
  EXPECT_EQ(cookies_[11], cookies_[12]);
  EXPECT_EQ(cookies_[11], cookies_[21]);
  EXPECT_NE(cookies_[31], cookies_[11]);
  EXPECT_NE(cookies_[41], 0U);
  EXPECT_NE(cookies_[41], cookies_[11]);
  EXPECT_EQ(cookies_[51], 0U);
  EXPECT_EQ(cookies_[61], 0U);
}

TEST_F(CoreSchedTest, CookiesAndWhatIsDoneToThemAreTold) {
  std::map<std::string, std::uint64_t> told;  // by container
  std::vector<std::pair<std::string, bool>> managed;
  CoreSchedHook hook(host_, std::make_unique<FakeCoreSched>(kernel_),
                     {[&] { told.clear(); },
                      [&](const PodView& pod, const ContainerView& container,
                          const std::string& group, std::uint64_t cookie) {
                        told[pod.uid() + "/" + container.name + " in " + group] = cookie;
                      },
                      [&](const std::string& group, bool ok) { managed.emplace_back(group, ok); }});
  addPod("a", "LS", kTeam, "11\n12\n");
  pods_[0].containers.push_back({"main", "c", pods_[0].dir + "/c", false, true});
  states_.setPods(pods_);
  pass(hook);
  EXPECT_EQ(told,
            (std::map<std::string, std::uint64_t>{{"a/main in team-expeller", cookies_[11]}}));
  EXPECT_THAT(managed, testing::ElementsAre(std::pair("team-expeller", true),    // created
                                            std::pair("team-expeller", true)));  // and copied
  managed.clear();
  pass(hook);
  EXPECT_EQ(told.size(), 1U);
  EXPECT_TRUE(managed.empty()) << "nothing was left to do";
  setPolicy("groupIdentity");
  pass(hook);
  EXPECT_TRUE(told.empty());
  EXPECT_THAT(managed, testing::ElementsAre(std::pair("", true)));
}

TEST_F(CoreSchedTest, ARestartFindsTheCookiesAgain) {
  addPod("a", "LS", kTeam, "11\n12\n13\n");
  cookies_ = {{11, 7}, {12, 7}, {13, 0}};
  pass(hook_);
  EXPECT_EQ(cookies_[11], 7U);
  EXPECT_EQ(cookies_[13], 7U);
}

TEST_F(CoreSchedTest, ItIsTakenBackWithAnotherPolicy) {
  addPod("a", "LS", kTeam, "11\n");
  auto updates = pass(hook_);
  EXPECT_EQ(updates.qos.back().value, "1");  // the BE directory is idle
  EXPECT_NE(cookies_[11], 0U);
  setPolicy("groupIdentity");
  updates = pass(hook_);
  EXPECT_EQ(cookies_[11], 0U);
  EXPECT_EQ(updates.qos.back().value, "0");
}

TEST_F(CoreSchedTest, AMachineThatNeverUsedItIsLeftAlone) {
  setPolicy("groupIdentity");
  cookies_[11] = 5;  // of another program
  addPod("a", "LS", "", "11\n");
  EXPECT_TRUE(pass(hook_).qos.empty());
  EXPECT_EQ(cookies_[11], 5U);
}

TEST_F(CoreSchedTest, WhatAFormerProcessGaveIsTakenBackWhenItIsSwitchedOff) {
  const std::string marker = files_.tree().path("core-sched");
  const auto process = [&] {
    return CoreSchedHook(host_, std::make_unique<FakeCoreSched>(kernel_), {}, marker);
  };
  addPod("a", "LS", kTeam, "11\n12\n");
  auto first = process();
  pass(first);
  ASSERT_NE(cookies_[11], 0U);
  setPolicy("");
  auto next = process();
  const auto updates = pass(next);
  EXPECT_EQ(cookies_[11], 0U);
  EXPECT_EQ(cookies_[12], 0U);
  ASSERT_FALSE(updates.qos.empty());
  for (const auto& update : updates.qos) EXPECT_EQ(update.value, "0");
  // After some passes other programs may use cookies.
  for (int i = 0; i < 10; ++i) pass(next);
  cookies_[11] = 5;
  pass(next);
  auto last = process();
  EXPECT_TRUE(pass(last).qos.empty());
  EXPECT_EQ(cookies_[11], 5U);
}

TEST_F(CoreSchedTest, TheMarkIsMadeAsSoonAsItCanBe) {
  CoreSchedHook hook(host_, std::make_unique<FakeCoreSched>(kernel_), {},
                     files_.tree().path("late/core-sched"));
  pass(hook);
  files_.tree().makeDir("late");
  EXPECT_EQ(files_.tree().read("late/core-sched"), "");
  pass(hook);
  EXPECT_NE(files_.tree().read("late/core-sched"), "");
}

TEST_F(CoreSchedTest, CookiesAreTakenBackFromPodsThatComeLateAndFromThoseThatTheKernelKeptAtFirst) {
  addPod("a", "LS", kTeam, "11\n");
  pass(hook_);
  ASSERT_NE(cookies_[11], 0U);
  setPolicy("");
  states_.setPods({});
  for (int i = 0; i < 20; ++i) pass(hook_);
  states_.setPods(pods_);
  kernel_.refuses = true;
  for (int i = 0; i < 20; ++i) pass(hook_);
  kernel_.refuses = false;
  EXPECT_NE(cookies_[11], 0U);
  pass(hook_);
  EXPECT_EQ(cookies_[11], 0U);
}

}  // namespace
}  // namespace koord::koordlet
