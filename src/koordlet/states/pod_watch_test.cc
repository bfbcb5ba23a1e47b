#include "koordlet/states/pod_watch.h"

#include <gmock/gmock.h>

#include <optional>

#include "api/codec.h"
#include "base/event_loop.h"
#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

struct KnownPods final : PodSource {
  std::vector<std::shared_ptr<const api::Pod>> pods;
  int lists = 0;
  std::function<void()> onList;
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node&) override {
    ++lists;
    if (onList) onList();
    co_return pods;
  }
};

struct KnownContainers final : ContainerRuntime {
  explicit KnownContainers(Executor& executor) : executor(executor) {}
  Executor& executor;
  std::vector<RuntimeContainer> containers;
  int lists = 0;
  std::function<void()> onList;
  Future<Result<>> stop(const std::string&, Duration) override {
    return std::move(Future<Result<>>::make(executor).first);
  }
  Future<Result<std::vector<RuntimeContainer>>> list() override {
    auto [future, completer] = Future<Result<std::vector<RuntimeContainer>>>::make(executor);
    completer.complete(containers);
    if (onList) onList();
    return std::move(future);
  }
};

// Real directories, real inotify.
class PodWatchTest : public testing::Test {
 protected:
  PodWatchTest() {
    states_.setNode(std::make_shared<const api::Node>(
        *api::decodeText<api::Node>(R"({"metadata":{"name":"n"}})")));
    states_.onPods([this] { check(); });
    source_.onList = [this] { check(); };
    loop_.runAfter(30s, [this] { loop_.stop(); });
  }
  void check() {
    if (done_ && done_()) loop_.stop();
  }
  void runUntil(std::function<bool()> done) {
    done_ = std::move(done);
    if (!done_()) loop_.run();
    EXPECT_TRUE(done_());
  }
  void addPod(const std::string& uid) {
    source_.pods.push_back(std::make_shared<const api::Pod>(*api::decodeText<api::Pod>(
        R"({"metadata":{"name":"p","uid":")" + uid + R"("},"spec":{"containers":[{"name":"main"}]},
            "status":{"phase":"Pending","qosClass":"BestEffort"}})")));
  }

  EventLoop loop_;
  FakeHost files_{CgroupVersion::V1, {}};
  Host host_ = *Host::detect(files_.dirs());
  States states_;
  KnownPods source_;
  KnownContainers runtime_{loop_};
  // The interval is so long that only watch events cause lists.
  PodPoller poller_{loop_, host_, states_, source_, 1h};
  std::vector<std::string> written_;
  std::function<bool()> done_;
};

TEST_F(PodWatchTest, AContainerIsKnownBeforeKubeletTellsOfIt) {
  addPod("u");
  PodWatch watch(loop_, host_, states_, poller_, &runtime_, {});
  watch.start();
  poller_.start();
  runUntil([this] { return states_.pods().size() == 1; });
  runtime_.containers = {{"c1", "main", "u"}, {"x", "other", "elsewhere"}};
  files_.addPod(KubeQos::BestEffort, "u", {"containerd://sandbox", "containerd://c1"});
  runUntil([this] { return states_.pods()[0].containers.size() == 1; });
  const ContainerView& container = states_.pods()[0].containers[0];
  EXPECT_EQ(container.dir, "kubepods/besteffort/podu/c1");
  EXPECT_EQ(container.name, "main");
  EXPECT_TRUE(container.running);
  // A list that does not have the container yet does not remove it; its end does.
  poller_.request();
  runUntil([this] { return source_.lists >= 3; });
  EXPECT_EQ(states_.pods()[0].containers.size(), 1U);
  files_.removePod(KubeQos::BestEffort, "u");
  poller_.request();
  runUntil([this] { return states_.pods()[0].containers.empty(); });
}

TEST_F(PodWatchTest, AContainerThatIsBeingMadeIsLeftToTheRuntime) {
  addPod("u");
  PodWatch watch(loop_, host_, states_, poller_, &runtime_, {});
  watch.start();
  poller_.start();
  runUntil([this] { return states_.pods().size() == 1; });
  runtime_.containers = {{"c1", "main", "u", false}};
  files_.addPod(KubeQos::BestEffort, "u", {"containerd://c1"});
  runtime_.onList = [this] {
    // The container runs from the runtime's fourth reply on. No event reports that, only the
    // replies.
    EXPECT_TRUE(states_.pods()[0].containers.empty());
    if (++runtime_.lists == 3) runtime_.containers[0].running = true;
  };
  runUntil([this] { return !states_.pods()[0].containers.empty(); });
  EXPECT_EQ(runtime_.lists, 4);
}

TEST_F(PodWatchTest, ANewPodIsListedAtOnce) {
  PodWatch watch(loop_, host_, states_, poller_, nullptr, {});
  watch.start();
  poller_.start();
  runUntil([this] { return source_.lists == 1; });
  addPod("late");
  files_.addPod(KubeQos::Burstable, "late", {});
  runUntil([this] { return states_.podOf("late") != nullptr; });
}

TEST_F(PodWatchTest, WithoutARuntimeKubeletIsAskedUntilItKnowsTheContainer) {
  addPod("u");
  files_.addPod(KubeQos::BestEffort, "u", {});
  PodWatch watch(loop_, host_, states_, poller_, nullptr, {});
  watch.start();
  poller_.start();
  runUntil([this] { return source_.lists >= 1 && !states_.pods().empty(); });
  files_.addPod(KubeQos::BestEffort, "u", {"containerd://c1"});
  // Kubelet reports it from its fourth reply on.
  const int before = source_.lists;
  runUntil([&] { return source_.lists >= before + 3; });
  api::Pod pod = *source_.pods[0];
  pod.status = api::decodeText<api::Pod>(
                   R"({"status":{"phase":"Running","qosClass":"BestEffort","containerStatuses":[
                       {"name":"main","containerID":"containerd://c1","state":{"running":{}}}]}})")
                   ->status;
  source_.pods[0] = std::make_shared<const api::Pod>(std::move(pod));
  runUntil([this] {
    return !states_.pods()[0].containers.empty() && states_.pods()[0].containers[0].running;
  });
}

// Time is virtual here: all directories are created before the watches, so that no event arrives.
class PodWatchInTime : public testing::Test {
 protected:
  PodWatchInTime() {
    states_.setNode(std::make_shared<const api::Node>(
        *api::decodeText<api::Node>(R"({"metadata":{"name":"n"}})")));
    files_.addPod(KubeQos::BestEffort, "u", {"containerd://sandbox", "containerd://c1"});
  }
  void list(const std::string& status, const std::string& initContainers = "") {
    source_.pods = {std::make_shared<const api::Pod>(*api::decodeText<api::Pod>(
        R"({"metadata":{"name":"p","uid":"u"},"spec":{"initContainers":[)" + initContainers +
        R"(],"containers":[{"name":"main"}]},"status":{"phase":"Running","qosClass":"BestEffort")" +
        status + "}}"))};
  }
  int listsWithin(Duration span, ContainerRuntime* runtime) {
    watch_.emplace(loop_, host_, states_, poller_, runtime, PodWatch::Callbacks{});
    watch_->start();
    poller_.start();
    loop_.advance(span);
    return source_.lists;
  }

  VirtualLoop loop_;
  FakeHost files_{CgroupVersion::V1, {}};
  Host host_ = *Host::detect(files_.dirs());
  States states_;
  KnownPods source_;
  PodPoller poller_{loop_, host_, states_, source_, 1h};
  std::optional<PodWatch> watch_;
};

TEST_F(PodWatchInTime, KubeletIsNotAskedAgainAboutTheSandboxOfContainersThatRun) {
  list(R"(,"containerStatuses":[
      {"name":"main","containerID":"containerd://c1","state":{"running":{}}}])");
  EXPECT_LE(listsWithin(10s, nullptr), 2);
}

TEST_F(PodWatchInTime, KubeletIsAskedSoonForANewContainerAndThenLessAndLessOften) {
  list("");
  EXPECT_GE(listsWithin(150ms, nullptr), 4);
  loop_.advance(10s);
  EXPECT_LE(source_.lists, 22);
}

TEST_F(PodWatchInTime, KubeletIsAskedForASidecarUntilItRuns) {
  list(R"(,"containerStatuses":[
      {"name":"main","containerID":"containerd://c1","state":{"running":{}}}])",
       R"({"name":"proxy","restartPolicy":"Always"})");
  EXPECT_GE(listsWithin(10s, nullptr), 4);
}

TEST_F(PodWatchInTime, KubeletIsNotAskedAgainForAnInitContainerThatHasEnded) {
  list(R"(,"containerStatuses":[
      {"name":"main","containerID":"containerd://c1","state":{"running":{}}}],
      "initContainerStatuses":[
      {"name":"prepare","containerID":"containerd://ended","state":{"terminated":{"exitCode":0}}}])",
       R"({"name":"prepare"})");
  EXPECT_LE(listsWithin(10s, nullptr), 2);
}

TEST_F(PodWatchInTime, KubeletIsAskedUntilItKnowsWhereTheRuntimeDoesNotAnswer) {
  struct Silent final : ContainerRuntime {
    explicit Silent(Executor& executor) : executor(executor) {}
    Executor& executor;
    Future<Result<>> stop(const std::string&, Duration) override {
      return std::move(Future<Result<>>::make(executor).first);
    }
    Future<Result<std::vector<RuntimeContainer>>> list() override {
      auto [future, completer] = Future<Result<std::vector<RuntimeContainer>>>::make(executor);
      completer.complete(fail(ErrorCode::Unavailable, "unknown service runtime.v1.RuntimeService"));
      return std::move(future);
    }
  } silent(loop_);
  list("");
  EXPECT_GE(listsWithin(10s, &silent), 4);
  watch_.reset();
}

TEST_F(PodWatchTest, WritesOfOthersAreToldOnceWhenTheyAreOver) {
  const auto dir = files_.addPod(KubeQos::BestEffort, "u", {"containerd://c1"});
  addPod("u");
  runtime_.containers = {{"c1", "main", "u"}};
  const auto told = [this](const std::string& path) {
    written_.push_back(path);
    check();
  };
  PodWatch watch(loop_, host_, states_, poller_, &runtime_, {told, {}, {}});
  watch.start();
  poller_.start();
  runUntil([this] { return !states_.pods().empty() && !states_.pods()[0].containers.empty(); });
  for (int i = 0; i < 8; ++i) files_.setCgroupText(CgroupFile::CpusetCpus, dir + "/c1", "0-15");
  const SteadyTime begun = loop_.steadyNow();
  runUntil([this] { return !written_.empty(); });
  EXPECT_GE(loop_.steadyNow() - begun, PodWatch::kQuiet);
  EXPECT_THAT(written_,
              testing::ElementsAre(testing::EndsWith("cpuset/" + dir + "/c1/cpuset.cpus")));
  // The directory of the pod is watched as well, in each hierarchy.
  written_.clear();
  files_.setCgroupText(CgroupFile::CpuShares, dir, "2");
  files_.setCgroupText(CgroupFile::MemoryLimit, dir, "-1");
  runUntil([this] { return written_.size() == 2; });
}

TEST_F(PodWatchTest, ADirectoryThatIsMadeAnewIsTold) {
  addPod("u");
  std::vector<std::string> cgroupChanged;
  const auto told = [&](const std::string& dir) {
    cgroupChanged.push_back(dir);
    check();
  };
  PodWatch watch(loop_, host_, states_, poller_, &runtime_, {{}, told, {}});
  watch.start();
  poller_.start();
  runUntil([this] { return !states_.pods().empty(); });
  const auto dir = files_.addPod(KubeQos::BestEffort, "u", {});
  files_.removePod(KubeQos::BestEffort, "u");
  runUntil([&] { return cgroupChanged.size() == 2; });
  EXPECT_THAT(cgroupChanged,
              testing::Each(host_.layout.dir(Subsystem::Cpu, host_.besteffort()) + "podu"));
}

TEST_F(PodWatchTest, FilesAreWatchedWithAPartOfTheWatchesThatTheKernelGives) {
  files_.tree().write("proc/sys/fs/inotify/max_user_watches", "12\n");
  for (const char* uid : {"a", "b", "c", "d"}) {
    addPod(uid);
    files_.addPod(KubeQos::BestEffort, uid, {});
  }
  PodWatch watch(loop_, host_, states_, poller_, &runtime_, {});
  watch.start();
  poller_.start();
  runUntil([this] { return !states_.pods().empty(); });
  // Three for the classes, four for the pods' directories: none is left for files of other
  // hierarchies.
  EXPECT_EQ(watch.watches(), 7U);
}

}  // namespace
}  // namespace koord::koordlet
