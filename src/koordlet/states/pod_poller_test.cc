#include "koordlet/states/pod_poller.h"

#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

struct KubeletsPods final : PodSource {
  explicit KubeletsPods(Executor& itsExecutor) : executor(itsExecutor) {}
  Executor& executor;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  Duration took{};
  bool fails = false;
  int lists = 0;
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node&) override {
    ++lists;
    auto thinking = sleepFor(executor, took);
    co_await thinking;
    if (fails) co_return fail(ErrorCode::Timeout, "kubelet hangs");
    co_return pods;
  }
};

class PodPollerTest : public testing::Test {
 protected:
  PodPollerTest() {
    states_.setNode(std::make_shared<const api::Node>(
        *api::decodeText<api::Node>(R"({"metadata":{"name":"n"}})")));
  }
  void list(const std::string& uid, const std::string& source) {
    source_.pods.push_back(std::make_shared<const api::Pod>(
        *api::decodeText<api::Pod>(R"({"metadata":{"name":"p","uid":")" + uid +
                                   R"(","annotations":{"kubernetes.io/config.source":")" + source +
                                   R"("}},"status":{"phase":"Running","qosClass":"Burstable"}})")));
  }

  VirtualLoop loop_;
  FakeHost files_{CgroupVersion::V1, {}};
  Host host_ = *Host::detect(files_.dirs());
  States states_;
  KubeletsPods source_{loop_};
  PodPoller poller_{loop_, host_, states_, source_, 10s};
};

TEST_F(PodPollerTest, AKubeletThatKnowsStaticPodsOnlyIsNotBelievedWhileOthersRun) {
  files_.addPod(KubeQos::Burstable, "static", {});
  files_.addPod(KubeQos::Burstable, "pinned", {"containerd://c"});
  files_.tree().write("cgroup/cpu/kubepods/burstable/podpinned/c/cgroup.procs", "7\n");
  list("static", "file");
  list("pinned", "api");
  poller_.start();
  loop_.advance(1s);
  ASSERT_EQ(states_.pods().size(), 2U);
  // Kubelet restarts while the API server is unreachable.
  source_.pods.pop_back();
  loop_.advance(60s);
  EXPECT_EQ(states_.pods().size(), 2U);
  EXPECT_THAT(poller_.lastError(), testing::HasSubstr("static pods only"));
  // Changes of static pods still apply.
  list("another", "file");
  loop_.advance(60s);
  EXPECT_EQ(states_.pods().size(), 3U);
  source_.pods.pop_back();
  loop_.advance(60s);
  EXPECT_EQ(states_.pods().size(), 2U);
  // Its cgroup is gone: there is no other pod.
  files_.removePod(KubeQos::Burstable, "pinned");
  loop_.advance(60s);
  EXPECT_EQ(states_.pods().size(), 1U);
  EXPECT_EQ(poller_.lastError(), "");
}

TEST_F(PodPollerTest, AnEmptyCgroupThatNobodyTookAwayIsNoPodThatKubeletForgot) {
  files_.addPod(KubeQos::Burstable, "static", {});
  files_.addPod(KubeQos::BestEffort, "orphan", {"containerd://gone"});
  list("static", "file");
  poller_.start();
  loop_.advance(1s);
  EXPECT_EQ(states_.pods().size(), 1U);
  EXPECT_EQ(poller_.lastError(), "");
}

TEST_F(PodPollerTest, AnOrphanThatRunsForEverDoesNotHideStaticPodsForEver) {
  files_.addPod(KubeQos::Burstable, "static", {});
  files_.addPod(KubeQos::BestEffort, "orphan", {"containerd://stuck"});
  files_.tree().write("cgroup/cpu/kubepods/besteffort/podorphan/stuck/cgroup.procs", "7\n");
  list("static", "file");
  poller_.start();
  loop_.advance(PodPoller::kPatience - 20s);
  EXPECT_FALSE(states_.podsSynced());
  loop_.advance(40s);
  ASSERT_TRUE(states_.podsSynced());
  EXPECT_EQ(states_.pods().size(), 1U);
  list("another", "file");
  loop_.advance(20s);
  EXPECT_EQ(states_.pods().size(), 2U);
}

TEST_F(PodPollerTest, AsksAreManyWhileListsAreQuickAndFewerWhileTheyAreSlow) {
  const auto listsInAMinuteOfAsking = [&](Duration took) {
    source_.took = took;
    const int before = source_.lists;
    for (int i = 0; i < 6000; ++i) {
      poller_.request();
      loop_.advance(10ms);
    }
    return source_.lists - before;
  };
  poller_.start();
  loop_.advance(60s);
  EXPECT_NEAR(listsInAMinuteOfAsking(2ms), 1210, 20);
  EXPECT_NEAR(listsInAMinuteOfAsking(50ms), 600, 20);
  EXPECT_NEAR(listsInAMinuteOfAsking(1s), 30, 1);  // one in two seconds
}

TEST_F(PodPollerTest, AListThatGetsSlowIsNotFollowedByAnotherAtOnce) {
  poller_.start();
  loop_.advance(5s);
  source_.took = 1s;
  const int before = source_.lists;
  for (int i = 0; i < 195; ++i) {
    poller_.request();
    loop_.advance(10ms);
  }
  EXPECT_EQ(source_.lists, before + 1);
  loop_.advance(100ms);
  EXPECT_EQ(source_.lists, before + 2);
}

TEST_F(PodPollerTest, AListThatFailsAtItsTimeoutDoesNotDelayTheNextOne) {
  poller_.start();
  loop_.advance(1s);
  source_.took = 3s;
  source_.fails = true;
  poller_.request();
  loop_.advance(3s + 10ms);
  source_.took = 2ms;
  source_.fails = false;
  list("u", "api");
  poller_.request();
  loop_.advance(100ms);
  EXPECT_EQ(states_.pods().size(), 1U);
}

TEST_F(PodPollerTest, AfterSlowListsTheNextOnesAreAsManyAsAfterQuickOnes) {
  const auto listsIn = [&](Duration time) {
    const int before = source_.lists;
    for (const SteadyTime end = loop_.steadyNow() + time; loop_.steadyNow() < end;) {
      poller_.request();
      loop_.advance(10ms);
    }
    return source_.lists - before;
  };
  poller_.start();
  source_.took = 100ms;
  listsIn(60s);
  source_.took = 2ms;
  listsIn(250ms);  // the pause after the last slow list
  EXPECT_NEAR(listsIn(1s), 20, 2);
}

TEST_F(PodPollerTest, WhoWantsNewsIsNotToldWhatIsAsBefore) {
  list("u", "api");
  poller_.start();
  loop_.advance(20s);
  int changes = 0;
  states_.onPods([&] { ++changes; });
  poller_.request(PodPoller::Wanted::Changes);
  loop_.advance(1s);
  EXPECT_EQ(changes, 0);
  list("other", "api");
  poller_.request(PodPoller::Wanted::Changes);
  loop_.advance(1s);
  EXPECT_EQ(changes, 1);
  poller_.request(PodPoller::Wanted::Changes);
  poller_.request();
  loop_.advance(1s);
  EXPECT_EQ(changes, 2);
}

TEST_F(PodPollerTest, AContainerThatKubeletTellsOfCostsNoMoreThanOneThatWasNeverLearnt) {
  files_.addPod(KubeQos::Burstable, "u", {"containerd://c"});
  list("u", "api");
  poller_.start();
  loop_.advance(1s);
  poller_.learn("u", {"main", "c", "kubepods/burstable/podu/c", false, true});
  ASSERT_EQ(states_.pods()[0].containers.size(), 1U);
  api::Pod pod = *source_.pods[0];
  pod.status.containerStatuses = api::decodeText<api::Pod>(R"({"status":{"containerStatuses":[
          {"name":"main","containerID":"containerd://c","state":{"running":{}}}]}})")
                                     ->status.containerStatuses;
  source_.pods[0] = std::make_shared<const api::Pod>(std::move(pod));
  loop_.advance(20s);
  int changes = 0;
  states_.onPods([&] { ++changes; });
  loop_.advance(60s);
  EXPECT_EQ(changes, 0);
  EXPECT_EQ(states_.pods()[0].containers.size(), 1U);
}

}  // namespace
}  // namespace koord::koordlet
