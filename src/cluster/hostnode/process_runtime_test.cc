#include "cluster/hostnode/process_runtime.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "base/file.h"
#include "cluster/hostnode/container_log.h"
#include "cluster/hostnode/container_record.h"
#include "cluster/hostnode/machine.h"
#include "cluster/hostnode/pod_cgroups.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;
using Phase = RuntimeContainer::Phase;

TEST(ContainerRecordTest, SurvivesTheFile) {
  ContainerRecord record;
  record.config = {{"uid", "ns", "pod", "kubepods/poduid"},
                   "main",
                   3,
                   "img",
                   {"sh"},
                   {"-c", "x"},
                   {"A=b"},
                   "/tmp",
                   {}};
  record.config.user.user = 4'000'000'000;
  record.config.user.groups = {5, 6};
  record.config.user.dropCapabilities = {"ALL"};
  record.config.mounts = {{"/src", "sub", "/dst", true, true, Propagation::Bidirectional}};
  record.config.readOnlyRoot = true;
  record.config.openStdin = record.config.stdinOnce = record.config.terminal = true;
  record.joinFiles = {"/cg/cgroup.procs"};
  record.oomFile = "/cg/memory.events";
  const auto back = decodeContainerRecord(encodeRecord(record));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->config.pod, record.config.pod);
  EXPECT_EQ(back->config.attempt, 3);
  EXPECT_EQ(back->config.args, record.config.args);
  EXPECT_EQ(back->joinFiles, record.joinFiles);
  EXPECT_EQ(back->config.user, record.config.user);
  EXPECT_EQ(back->config.mounts, record.config.mounts);
  EXPECT_TRUE(back->config.readOnlyRoot);
  EXPECT_TRUE(back->config.openStdin && back->config.stdinOnce && back->config.terminal);
  EXPECT_FALSE(decodeContainerRecord("{}"));
  EXPECT_FALSE(decodeContainerRecord("{\"podUid\": \"u\", "));
}

template <class T>
Task<void> keep(Task<Result<T>> task, std::promise<Result<T>>* out) {
  out->set_value(co_await task);
}

template <class T>
Task<void> keepValue(Task<T> task, std::promise<T>* out) {
  out->set_value(co_await task);
}
Task<void> untilEnded(std::shared_ptr<StreamedCommand> command, std::promise<int>* out) {
  auto ending = command->ended();
  const auto code = co_await ending;
  out->set_value(code ? *code : -1);
}

// A runtime on real cgroups below its own root; its tasks run on a loop in another thread.
class ProcessRuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const auto mountinfo = readFile("/proc/self/mountinfo");
    auto layout = parseCgroupLayout(mountinfo ? *mountinfo : "");
    if (!layout) GTEST_SKIP() << layout.error().message;
    if (const auto writable = checkWritable(*layout, fs_); !writable)
      GTEST_SKIP() << "cgroups are not writable: " << writable.error().message;
    cgroups_ = std::make_unique<Cgroups>(*std::move(layout), fs_);
    dir_ = testing::TempDir() + "containers-" + std::to_string(::getpid());
    ASSERT_TRUE(makeDirs(dir_));
    thread_ = std::make_unique<LoopThread>("test");
    restart();
    pod_ = {"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "default", "p", root_ + "/poduid"};
    ASSERT_TRUE(cgroups_->create(pod_.cgroup, {}));
    ASSERT_TRUE(run(runtime_->preparePod(pod_, {})));
  }

  void TearDown() override {
    if (!cgroups_) return;
    thread_->runSync([this] { tasks_.reset(); });
    runtime_.reset();
    cgroups_->kill(root_);
    EXPECT_TRUE(until([&] { return cgroups_->remove(root_).has_value(); }));
    // Shims are not in the cgroup: a shim may still be writing the end of its container.
    std::error_code error;
    EXPECT_TRUE(until([&] {
      std::filesystem::remove_all(dir_, error);
      return !error;
    })) << error.message();
  }

  // As after a kill -9 of the program: a new runtime on the same folder.
  void restart() {
    runtime_ = std::make_unique<ProcessRuntime>(thread_->loop(), *cgroups_,
                                                ProcessRuntime::Options{dir_, {KOORD_TEST_SHIM}});
  }

  template <class T>
  Result<T> run(Task<Result<T>> task) {
    std::promise<Result<T>> promise;
    thread_->runSync([&] {
      if (!tasks_) tasks_ = std::make_unique<TaskGroup>();
      tasks_->spawn(keep<T>(std::move(task), &promise));
    });
    return promise.get_future().get();
  }

  template <class T>
  T done(Task<T> task) {
    std::promise<T> promise;
    thread_->runSync([&] { tasks_->spawn(keepValue<T>(std::move(task), &promise)); });
    return promise.get_future().get();
  }

  Result<std::string> start(std::vector<std::string> command, ContainerConfig config = {}) {
    config.pod = pod_;
    config.name = "main";
    config.command = std::move(command);
    config.env = {"PATH=/usr/bin:/bin", "GREETING=hello"};
    return run(runtime_->startContainer(std::move(config)));
  }

  std::optional<RuntimeContainer> find(const std::string& id) {
    auto listed = run(runtime_->list());
    if (!listed) return std::nullopt;
    const auto found = std::ranges::find(*listed, id, &RuntimeContainer::id);
    if (found == listed->end()) return std::nullopt;
    return *found;
  }

  // Polls a condition in real time, at most ten seconds.
  static bool until(const std::function<bool()>& condition) {
    for (int i = 0; i < 500; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(20ms);
    }
    return false;
  }
  bool exits(const std::string& id) {
    return until([&] {
      const auto container = find(id);
      return container && container->phase == Phase::Exited;
    });
  }

  RealCgroupFs fs_;
  std::unique_ptr<Cgroups> cgroups_;
  std::string dir_;
  std::string root_ = "koord-runtime-test-" + std::to_string(::getpid());
  std::string logOf(const std::string& id) {
    return selectLog(readFile(find(id)->logPath).value_or(""), {});
  }

  PodRef pod_;
  std::unique_ptr<LoopThread> thread_;
  std::unique_ptr<TaskGroup> tasks_;
  std::unique_ptr<ProcessRuntime> runtime_;
};

TEST_F(ProcessRuntimeTest, ROOT_RunsACommandInItsCgroupAndKeepsItsOutputAndExitCode) {
  const auto id =
      start({"sh", "-c", "echo $GREETING; echo to whom >&2; cat /proc/self/cgroup; exit 7"});
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(exits(*id));
  const auto container = find(*id);
  EXPECT_EQ(container->exitCode, 7);
  EXPECT_EQ(container->reason, "Error");
  EXPECT_EQ(container->pod, pod_);
  const auto file = readFile(container->logPath);
  ASSERT_TRUE(file);
  EXPECT_NE(file->find(" stdout F hello\n"), std::string::npos) << *file;
  EXPECT_NE(file->find(" stderr F to whom"), std::string::npos) << *file;
  EXPECT_NE(file->find("/" + pod_.cgroup + "/" + *id), std::string::npos) << *file;
  EXPECT_FALSE(cgroups_->exists(pod_.cgroup + "/" + *id));
  EXPECT_TRUE(run(runtime_->removeContainer(*id)));
  EXPECT_FALSE(find(*id));
}

TEST_F(ProcessRuntimeTest, ROOT_ACommandThatDoesNotExistExitsWithStartError) {
  const auto id = start({"/no/such/command"});
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(exits(*id));
  const auto container = find(*id);
  EXPECT_EQ(container->exitCode, 128);
  EXPECT_EQ(container->reason, "StartError");
  EXPECT_EQ(container->message,
            "exec /no/such/command: No such file or directory (the process runtime has no images: "
            "the command must be on this host)");
}

TEST_F(ProcessRuntimeTest, ROOT_AContainerWithoutACommandIsRefusedWithAdvice) {
  const auto id = start({});
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ErrorCode::Invalid);
  EXPECT_NE(id.error().message.find("--runtime=containerd"), std::string::npos);
}

TEST_F(ProcessRuntimeTest, ROOT_AContainerThatFillsTheDiskKeepsItsExitCode) {
  if (::mount("none", dir_.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "nothing can be mounted here";
  const auto id = start({"sh", "-c", "set -- " + dir_ + "/*/; cat /dev/zero > ${1}fill; exit 7"});
  const bool ended = id && exits(*id);
  const auto container = ended ? find(*id) : std::nullopt;
  const auto left = std::filesystem::space(dir_).available;
  // Its shim may keep it busy for another moment.
  ASSERT_EQ(::umount2(dir_.c_str(), MNT_DETACH), 0);
  ASSERT_TRUE(container) << (id ? "" : id.error().message);
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(container->exitCode, 7);
  EXPECT_EQ(container->reason, "Error");
}

TEST_F(ProcessRuntimeTest, ROOT_StoppingAsksFirst) {
  const auto id =
      start({"sh", "-c", "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done"});
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(until([&] { return logOf(*id) == "ready\n"; }));
  ASSERT_TRUE(run(runtime_->stopContainer(*id, 10s)));
  const auto container = find(*id);
  ASSERT_TRUE(container);
  EXPECT_EQ(container->phase, Phase::Exited);
  EXPECT_EQ(container->exitCode, 0);
}

TEST_F(ProcessRuntimeTest, ROOT_StoppingKillsWhatDoesNotListenWithItsChildren) {
  const auto id = start({"sh", "-c", "trap '' TERM; sleep 600 & echo ready; wait"});
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(until([&] { return logOf(*id) == "ready\n"; }));
  const std::string cgroup = pod_.cgroup + "/" + *id;
  ASSERT_TRUE(until([&] { return cgroups_->processes(cgroup).size() >= 2; }));
  ASSERT_TRUE(run(runtime_->stopContainer(*id, 50ms)));
  EXPECT_EQ(find(*id)->exitCode, 137);
  EXPECT_TRUE(cgroups_->processes(cgroup).empty());
}

TEST_F(ProcessRuntimeTest, ROOT_WhatACommandLeavesBehindEndsWithIt) {
  const auto id = start({"sh", "-c", "setsid sleep 600 & exit 0"});
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(exits(*id));
  EXPECT_EQ(find(*id)->exitCode, 0);
  EXPECT_TRUE(cgroups_->processes(pod_.cgroup).empty());
}

TEST_F(ProcessRuntimeTest, ROOT_ANewRuntimeAdoptsWhatRuns) {
  const auto id = start({"sleep", "600"});
  ASSERT_TRUE(id) << id.error().message;
  const auto before = find(*id);
  restart();
  const auto after = find(*id);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->phase, Phase::Running);
  EXPECT_EQ(after->startedAt, before->startedAt);
  ASSERT_TRUE(run(runtime_->stopContainer(*id, 10s)));
  EXPECT_EQ(find(*id)->exitCode, 128 + SIGTERM);
}

TEST_F(ProcessRuntimeTest, ROOT_WhenTheShimIsKilledTheContainerIsAndCountsAsFailed) {
  const auto id = start({"sh", "-c", "sleep 600 & wait"});
  ASSERT_TRUE(id) << id.error().message;
  const auto text = readFile(dir_ + "/" + *id + "/started.json");
  const auto record = decodeStartRecord(text ? *text : "");
  ASSERT_TRUE(record);
  const auto stat = readFile("/proc/" + std::to_string(record->pid) + "/stat");
  ASSERT_TRUE(stat);
  // "pid (name) state ppid ..."
  const int shim = std::stoi(stat->substr(stat->rfind(')') + 4));
  ASSERT_GT(shim, 1);
  ::kill(shim, SIGKILL);
  ASSERT_TRUE(exits(*id));
  EXPECT_EQ(find(*id)->exitCode, 137);
  EXPECT_TRUE(until([&] { return cgroups_->processes(pod_.cgroup).empty(); }));
}

TEST_F(ProcessRuntimeTest, ROOT_VolumesAreWhereTheyAreMountedAndNowhereElse) {
  ASSERT_TRUE(makeDirs(dir_ + "-volume"));
  ASSERT_TRUE(writeFileAtomic(dir_ + "-volume/file", "in the volume\n", 0644));
  ContainerConfig config;
  config.mounts = {{dir_ + "-volume", "", "/koord-runtime-test/v"}};
  const auto id = start({"sh", "-c", "cat /koord-runtime-test/v/file; exec sleep 600"}, config);
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_TRUE(until([&] { return logOf(*id) == "in the volume\n"; })) << logOf(*id);
  const auto seen =
      run(runtime_->exec(*id,
                         {"sh", "-c", "cat $0; echo $GREETING >&2; cat /proc/self/cgroup",
                          "/koord-runtime-test/v/file"},
                         10s));
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->exitCode, 0);
  EXPECT_TRUE(seen->output.starts_with("in the volume\n")) << seen->output;
  EXPECT_TRUE(seen->output.ends_with("hello\n")) << seen->output;
  EXPECT_NE(seen->output.find(pod_.cgroup + "/" + *id), std::string::npos) << seen->output;
  EXPECT_FALSE(std::filesystem::exists("/koord-runtime-test"));
  const auto mounts = *readFile("/proc/self/mountinfo");
  for (const auto& place : {dir_, std::string("/koord-runtime-test")})
    EXPECT_EQ(mounts.find(place), mounts.npos) << "mounted on the host: " << mounts;
  ASSERT_TRUE(run(runtime_->stopContainer(*id, 0s)));
  EXPECT_EQ(run(runtime_->exec(*id, {"true"}, 1s)).error().code, ErrorCode::NotFound);
  std::filesystem::remove_all(dir_ + "-volume");
}

TEST_F(ProcessRuntimeTest, ROOT_ACommandInAContainerHasItsOwnEndAndItsTime) {
  const auto id = start({"sleep", "600"});
  ASSERT_TRUE(id) << id.error().message;
  const auto failed = run(runtime_->exec(*id, {"sh", "-c", "echo no; exit 3"}, 10s));
  ASSERT_TRUE(failed) << failed.error().message;
  EXPECT_EQ(failed->exitCode, 3);
  EXPECT_EQ(failed->output, "no\n");
  EXPECT_EQ(run(runtime_->exec(*id, {"/no/such"}, 10s))->output,
            "exec /no/such: No such file or directory\n");
  const auto late = run(runtime_->exec(*id, {"sleep", "600"}, 50ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Timeout);
  EXPECT_EQ(late.error().message, "command timed out: \"sleep 600\" timed out after 50ms");
  EXPECT_TRUE(until([&] { return cgroups_->processes(pod_.cgroup + "/" + *id).size() == 1; }));
}

TEST_F(ProcessRuntimeTest, ROOT_ACommandThatWritesMuchOrNowhereHasItsEndAndItsTime) {
  const auto id = start({"sleep", "600"});
  ASSERT_TRUE(id) << id.error().message;
  const auto much = run(runtime_->exec(*id, {"head", "-c", "3000000", "/dev/zero"}, 10s));
  ASSERT_TRUE(much) << much.error().message;
  EXPECT_EQ(much->exitCode, 0);
  EXPECT_LE(much->output.size(), 2u << 20);
  const auto silent = run(runtime_->exec(*id, {"sh", "-c", "exec >&- 2>&-; exec sleep 3"}, 200ms));
  ASSERT_FALSE(silent) << "its pipes are closed, and it runs on";
  EXPECT_EQ(silent.error().code, ErrorCode::Timeout);
}

TEST_F(ProcessRuntimeTest, ROOT_ACommandForWhichThereIsNoThreadFails) {
  const auto id = start({"sleep", "600"});
  ASSERT_TRUE(id) << id.error().message;
  pthread_attr_t before;
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  pthread_attr_t huge;
  ::pthread_attr_init(&huge);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  const auto ran = run(runtime_->exec(*id, {"true"}, 10s));
  ::pthread_setattr_default_np(&before);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::Unavailable) << ran.error().message;
  EXPECT_TRUE(run(runtime_->exec(*id, {"true"}, 10s)));
}

TEST_F(ProcessRuntimeTest, ROOT_WithoutDescriptorsNobodyIsTakenForDead) {
  const auto id = start({"sleep", "600"});
  ASSERT_TRUE(id) << id.error().message;
  const auto listWithoutDescriptors = [&] {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const int next = ::open("/", O_PATH | O_CLOEXEC);
    ::close(next);
    // One descriptor is left, for the folder of all containers.
    const rlimit few{static_cast<rlim_t>(next) + 1, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const auto listed = run(runtime_->list());
    ::setrlimit(RLIMIT_NOFILE, &before);
    return listed;
  };
  const auto known = listWithoutDescriptors();
  if (known) {
    for (const auto& container : *known) EXPECT_NE(container.phase, Phase::Exited);
  }
  EXPECT_EQ(find(*id)->phase, Phase::Running);
  restart();
  listWithoutDescriptors();
  const auto after = find(*id);
  ASSERT_TRUE(after) << "its record is gone";
  EXPECT_EQ(after->phase, Phase::Running);
}

TEST_F(ProcessRuntimeTest, ROOT_WhatHidesInACgroupOfItsOwnEndsToo) {
  const auto id = start({"sh", "-c", "sleep 600 & echo $!; exec sleep 600"});
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(until([&] { return logOf(*id).ends_with('\n'); }));
  const std::string pid = logOf(*id).substr(0, logOf(*id).find('\n'));
  const std::string cgroup = pod_.cgroup + "/" + *id + "/hidden";
  // As nested container managers do. Version 2 allows no processes in the parent.
  ASSERT_TRUE(cgroups_->create(cgroup, {}));
  for (const auto& file : cgroups_->joinFiles(cgroup))
    if (auto moved = fs_.write(file, pid); !moved) GTEST_SKIP() << moved.error().message;
  ASSERT_TRUE(run(runtime_->stopContainer(*id, 10s)));
  EXPECT_TRUE(until([&] { return run(runtime_->removeContainer(*id)).has_value(); }));
  EXPECT_TRUE(cgroups_->processes(pod_.cgroup).empty());
}

TEST_F(ProcessRuntimeTest, ROOT_WhatACommandLeavesToItsShimIsReapedWhileItRuns) {
  const auto id = start({"sh", "-c",
                         "i=0; while [ $i -lt 5 ]; do sh -c 'sleep 0.01 &'; i=$((i+1)); done; echo "
                         "$$; exec sleep 600"});
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(until([&] { return logOf(*id).ends_with('\n'); }));
  const auto parentOf = [](const std::string& pid) {
    const auto stat = readFile("/proc/" + pid + "/stat");
    // "pid (name) state ppid ..."
    return stat ? stat->substr(stat->rfind(')') + 4,
                               stat->find(' ', stat->rfind(')') + 4) - stat->rfind(')') - 4)
                : "";
  };
  const std::string shim = parentOf(logOf(*id).substr(0, logOf(*id).find('\n')));
  const auto childrenOfShim = [&] {
    int children = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc"))
      children += parentOf(entry.path().filename()) == shim ? 1 : 0;
    return children;
  };
  EXPECT_TRUE(until([&] { return childrenOfShim() == 1; })) << childrenOfShim();
  ASSERT_TRUE(run(runtime_->stopContainer(*id, 10s)));
  EXPECT_EQ(find(*id)->exitCode, 128 + SIGTERM);
}

TEST_F(ProcessRuntimeTest, ROOT_ACommandIsWhoItShallBe) {
  ContainerConfig config;
  config.user.user = 1234;
  config.user.group = 2345;
  config.user.groups = {77};
  config.user.noNewPrivileges = true;
  const auto id =
      start({"sh", "-c", "id -u; id -g; id -G; grep NoNewPrivs /proc/self/status"}, config);
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(exits(*id));
  EXPECT_EQ(logOf(*id), "1234\n2345\n2345 77\nNoNewPrivs:\t1\n");

  ContainerConfig dropped;
  dropped.user.dropCapabilities = {"ALL"};
  dropped.user.addCapabilities = {"NET_BIND_SERVICE"};
  const auto weak = start({"grep", "CapEff", "/proc/self/status"}, dropped);
  ASSERT_TRUE(weak) << weak.error().message;
  ASSERT_TRUE(exits(*weak));
  EXPECT_EQ(logOf(*weak), "CapEff:\t0000000000000400\n");
}

TEST_F(ProcessRuntimeTest, ROOT_ACommandMayOpenItsStreamsWhoeverItIs) {
  ContainerConfig config;
  config.user.user = 1234;
  config.openStdin = true;
  const std::string words = "echo out > /dev/stdout; echo err > /dev/stderr; : < /dev/stdin";
  const auto id = start({"sh", "-c", words + "; exec sleep 1000"}, config);
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_TRUE(until([&] { return logOf(*id) == "out\nerr\n"; })) << logOf(*id);
  for (const bool terminal : {false, true}) {
    auto opened =
        run(runtime_->openCommand(*id, {"sh", "-c", words}, {true, true, !terminal, terminal}));
    ASSERT_TRUE(opened) << opened.error().message;
    std::promise<int> ended;
    thread_->runSync([&] { tasks_->spawn(untilEnded(*opened, &ended)); });
    std::string text;
    while (auto piece = done((*opened)->readOut())) text += *piece;
    while (auto piece = done((*opened)->readErr())) text += *piece;
    EXPECT_EQ(text, terminal ? "out\r\nerr\r\n" : "out\nerr\n");
    EXPECT_EQ(ended.get_future().get(), 0);
    thread_->runSync([&] { opened->reset(); });
  }
}

TEST_F(ProcessRuntimeTest, ROOT_StandardInputIsEmptyOrNeverEnds) {
  const auto empty = start({"cat"});
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_TRUE(exits(*empty));
  ContainerConfig config;
  config.openStdin = true;
  const auto open = start({"sh", "-c", "echo reads; cat; echo ended"}, config);
  ASSERT_TRUE(open) << open.error().message;
  ASSERT_TRUE(until([&] { return logOf(*open) == "reads\n"; }));
  EXPECT_EQ(find(*open)->phase, Phase::Running);
}

TEST_F(ProcessRuntimeTest, ROOT_ClientsAttachToTheStreamsOfAContainer) {
  ContainerConfig config;
  config.openStdin = config.stdinOnce = true;
  const auto id =
      start({"sh", "-c", "while read line; do echo got $line; done; echo over >&2"}, config);
  ASSERT_TRUE(id) << id.error().message;
  auto attached = run(runtime_->attach(*id, {true, true, true, false}));
  ASSERT_TRUE(attached) << attached.error().message;
  const auto client = *attached;
  std::promise<int> ended;
  thread_->runSync([&] { tasks_->spawn(untilEnded(client, &ended)); });
  EXPECT_TRUE(done(client->write("words\n")));
  EXPECT_EQ(done(client->readOut()), "got words\n");
  thread_->runSync([&] { client->closeInput(); });
  EXPECT_EQ(done(client->readErr()), "over\n");
  EXPECT_EQ(done(client->readOut()), std::nullopt);
  EXPECT_EQ(ended.get_future().get(), 0);
  ASSERT_TRUE(exits(*id));
  EXPECT_EQ(logOf(*id), "got words\nover\n");
  EXPECT_FALSE(run(runtime_->attach(*id, {true, true, true, false})));
  thread_->runSync([&] { attached->reset(); });
}

TEST_F(ProcessRuntimeTest, ROOT_AContainerMayHaveATerminal) {
  ContainerConfig config;
  config.openStdin = config.terminal = true;
  const auto id = start({"sh", "-c", "read line; stty size; tty"}, config);
  ASSERT_TRUE(id) << id.error().message;
  auto attached = run(runtime_->attach(*id, {true, true, false, true}));
  ASSERT_TRUE(attached) << attached.error().message;
  std::promise<int> ended;
  thread_->runSync([&] {
    tasks_->spawn(untilEnded(*attached, &ended));
    (*attached)->resize({123, 45});
  });
  EXPECT_TRUE(done((*attached)->write("go\n")));
  std::string text;
  while (auto piece = done((*attached)->readOut())) text += *piece;
  EXPECT_TRUE(text.starts_with("go\r\n45 123\r\n/dev/pts/")) << text;
  EXPECT_EQ(ended.get_future().get(), 0);
  ASSERT_TRUE(exits(*id));
  thread_->runSync([&] { attached->reset(); });
}

TEST_F(ProcessRuntimeTest, ROOT_AVolumeThatCannotBeMountedIsAStartError) {
  ContainerConfig config;
  config.mounts = {{dir_ + "-none", "", "/koord-runtime-test"}};
  const auto id = start({"true"}, config);
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(exits(*id));
  EXPECT_EQ(find(*id)->reason, "StartError");
  EXPECT_EQ(find(*id)->message,
            "volume for /koord-runtime-test: " + dir_ + "-none: No such file or directory");
}

TEST_F(ProcessRuntimeTest, ROOT_AHalfWrittenRecordIsRemovedAndHarmsNothing) {
  ASSERT_TRUE(makeDirs(dir_ + "/broken"));
  ASSERT_TRUE(writeFileAtomic(dir_ + "/broken/config.json", "{\"podUid\": \"u"));
  const auto listed = run(runtime_->list());
  ASSERT_TRUE(listed);
  EXPECT_TRUE(listed->empty());
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/broken"));
}

}  // namespace
}  // namespace koord::cluster
