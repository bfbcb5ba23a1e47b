// How soon the values of new BE pods are right, on real cgroups (version 1; needs root), while
// kubelet writes its own values at any moment and other programs keep the host busy.
//
// koordlet runs in real time, with inotify on directories that a thread creates as kubelet would:
// first the pod's, then the container's, each with kubelet's values a little later, and for half of
// the pods once more within the next 1.5 seconds. Pods are created in bursts beside older pods.
// Lists of pods take as long as HTTP requests, and contain a container some time after its start.
//   young/stand-in/...   without a container runtime; kubelet lists a container within 60 ms, as
//                        koordctl up does
//   young/runtime/...    a container runtime reports a container at once, kubelet a second later
//   .../load             with eight busy processes
//
// A thread of real-time priority reads all values each two milliseconds. Figures are milliseconds
// until all values of a cgroup were right, and the number of cgroups above 200 ms:
//   sinceMade     since kubelet created the directory; includes kubelet's own delays
//   sinceKnown    since koordlet could know: the directory exists, kubelet or the runtime reports
//                 the container, and kubelet has written its values
//   sinceWrite    since kubelet wrote its own values once more
//   looksMaxMs    longest time between two reads: the precision of the figures

#include <fmt/core.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <queue>
#include <set>
#include <thread>

#include "api/codec.h"
#include "base/event_loop.h"
#include "base/file_limit.h"
#include "base/random.h"
#include "base/split.h"
#include "bench.h"
#include "koordlet/agent/agent.h"
#include "koordlet/system/open_files.h"
#include "koordlet/system/small_file.h"
#include "kube/fake_api.h"
#include "real_cgroups.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr int kOldPods = 100;
constexpr Duration kLife = 5s;  // of a pod

struct Load {
  int pods = 500;
  int busyProcesses = 0;
  bool runtime = false;
};

double milliseconds(SteadyClock::duration span) {
  return std::chrono::duration<double, std::milli>(span).count();
}

void writeText(const std::string& path, std::string_view text) {
  (void)writeSmallFile(path, text);
}

// Threads of this program and koordlet's share these.
struct YoungPod {
  std::string uid;
  std::string dir, container;  // cgroups
  bool contained = false, told = false, running = false;
};

// One wait for right values.
struct Wait {
  std::string dir;
  const char* kind;
  SteadyClock::time_point since;
};

std::string podText(const YoungPod& pod, bool told) {
  const std::string batch =
      R"({"kubernetes.io/batch-cpu":"250","kubernetes.io/batch-memory":"1Gi"})";
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"d","uid":"{0}","labels":{{"koordinator.sh/qosClass":"BE"}}}},
          "spec":{{"priority":5500,"containers":[{{"name":"c","image":"registry.example/app:v1",
            "command":["/bin/app","--serve"],"resources":{{"requests":{1},"limits":{1}}}}}]}},
          "status":{{"phase":"{2}","qosClass":"BestEffort","containerStatuses":[{3}]}}}})",
      pod.uid, batch, told ? "Running" : "Pending",
      told ? fmt::format(
                 R"({{"name":"c","containerID":"containerd://{}-c","state":{{"running":{{}}}}}})",
                 pod.uid)
           : "");
}

// What kubelet does, on a thread of its own.
class Kubelet {
 public:
  Kubelet(const RealCgroups& tree, const Load& load) : tree_(tree), load_(load), random_(7) {
    for (int i = 0; i < kOldPods; ++i) {
      auto pod = std::make_unique<YoungPod>(podOf(fmt::format("old-{}", i)));
      tree.make(pod->dir);
      tree.make(pod->container);
      pod->contained = pod->told = pod->running = true;
      pods_.push_back(std::move(pod));
    }
  }

  // Until all pods were made and watched.
  void run() {
    const auto begin = SteadyClock::now();
    auto at = begin;
    for (int i = 0; i < load_.pods;) {
      at += std::chrono::milliseconds(20 + random_.below(1500));
      for (auto burst = 1 + random_.below(8); burst > 0 && i < load_.pods; --burst, ++i)
        plan(at, [this, uid = fmt::format("young-{}", i)] { begins(uid); });
    }
    while (!plans_.empty()) {
      auto next = plans_.top();
      plans_.pop();
      std::this_thread::sleep_until(next.at);
      next.act();
    }
    done_ = true;
  }
  bool done() const { return done_; }

  std::string list() {
    const std::lock_guard lock(mutex_);
    std::string items;
    for (const auto& pod : pods_) items += (items.empty() ? "" : ",") + podText(*pod, pod->told);
    return fmt::format(R"({{"kind":"PodList","items":[{}]}})", items);
  }
  std::vector<RuntimeContainer> containers() {
    const std::lock_guard lock(mutex_);
    std::vector<RuntimeContainer> found;
    for (const auto& pod : pods_)
      if (pod->contained)
        found.push_back({pod->uid + "-c", "c", pod->uid, pod->running, "containerd"});
    return found;
  }

  // Looks at everything that is waited for. Of one thread; others are not held up while it reads.
  void look() {
    std::set<std::string> dirs;
    {
      const std::lock_guard lock(mutex_);
      for (const Wait& one : waits_) dirs.insert(one.dir);
    }
    for (const auto& dir : dirs) {
      const auto before = SteadyClock::now();
      if (!right(dir)) continue;
      const auto now = SteadyClock::now();
      const std::lock_guard lock(mutex_);
      std::erase_if(waits_, [&](const Wait& one) {
        if (one.dir != dir || one.since > before) return false;
        spans_[one.kind].push_back(milliseconds(now - one.since));
        return true;
      });
    }
  }

  // Removes cgroups of pods that are gone, on a thread of its own: the kernel takes its time for
  // each.
  void removeGone() {
    while (!done_) {
      std::this_thread::sleep_for(20ms);
      std::vector<std::string> gone;
      {
        const std::lock_guard lock(mutex_);
        gone.swap(gone_);
      }
      for (const auto& dir : gone) tree_.remove(dir);
    }
  }

  bench::Numbers numbers() {
    const std::lock_guard lock(mutex_);
    bench::Numbers numbers{{"stillWrong", static_cast<double>(stillWrong_)}};
    for (auto& [kind, spans] : spans_) {
      numbers[kind + "Count"] = static_cast<double>(spans.size());
      numbers[kind + "P50"] = bench::percentile(spans, 0.5);
      numbers[kind + "P99"] = bench::percentile(spans, 0.99);
      numbers[kind + "Max"] = std::ranges::max(spans);
      numbers[kind + "Over200"] =
          static_cast<double>(std::ranges::count_if(spans, [](double span) { return span > 200; }));
    }
    return numbers;
  }

 private:
  struct Plan {
    SteadyClock::time_point at;
    std::function<void()> act;
    bool operator<(const Plan& other) const { return at > other.at; }
  };
  static YoungPod podOf(const std::string& uid) {
    YoungPod pod;
    pod.uid = uid;
    pod.dir = podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, uid);
    pod.container = joinPath(pod.dir, uid + "-c");
    return pod;
  }
  void plan(SteadyClock::time_point at, std::function<void()> act) {
    plans_.push({at, std::move(act)});
  }
  void later(Duration least, Duration most, std::function<void()> act) {
    plan(SteadyClock::now() + least +
             Duration(static_cast<std::int64_t>(
                 random_.below(static_cast<std::uint64_t>((most - least).count())))),
         std::move(act));
  }

  void begins(const std::string& uid) {
    YoungPod* pod = nullptr;
    {
      const std::lock_guard lock(mutex_);
      pods_.push_back(std::make_unique<YoungPod>(podOf(uid)));
      pod = pods_.back().get();
      wait(pod->dir, "sinceMade");
      wait(pod->dir, "sinceKnown");
    }
    tree_.make(pod->dir);
    later(0ms, 5ms, [this, pod] {
      write(pod->dir, "sinceKnown");
      later(5ms, 50ms, [this, pod] { contain(pod); });
    });
    if (random_.chance(0.5))
      later(60ms, 1500ms, [this, pod] {
        write(pod->dir, "sinceWrite");
        if (pod->told || pod->running) write(pod->container, "sinceWrite");
      });
    later(kLife, kLife + 1s, [this, pod] {
      const std::lock_guard lock(mutex_);
      stillWrong_ += static_cast<int>(std::erase_if(waits_, [&](const Wait& one) {
        return one.dir == pod->dir || one.dir == pod->container;
      }));
      gone_.push_back(pod->dir);
      std::erase_if(pods_, [&](const auto& one) { return one.get() == pod; });
    });
  }
  void contain(YoungPod* pod) {
    {
      const std::lock_guard lock(mutex_);
      wait(pod->container, "sinceMade");
    }
    tree_.make(pod->container);
    write(pod->container, nullptr);
    {
      const std::lock_guard lock(mutex_);
      pod->contained = true;
    }
    later(5ms, 60ms, [this, pod] {
      const std::lock_guard lock(mutex_);
      pod->running = true;
      wait(pod->container, "sinceKnown");
      if (!load_.runtime) pod->told = true;
    });
    if (load_.runtime)
      later(500ms, 1500ms, [this, pod] {
        const std::lock_guard lock(mutex_);
        pod->told = true;
      });
  }
  // Kubelet's values; the benchmark waits again from then on.
  void write(const std::string& dir, const char* kind) {
    writeText(tree_.file("cpu", dir, "cpu.shares"), "2");
    writeText(tree_.file("cpu", dir, "cpu.cfs_quota_us"), "-1");
    writeText(tree_.file("memory", dir, "memory.limit_in_bytes"), "-1");
    if (!kind) return;
    const std::lock_guard lock(mutex_);
    std::erase_if(waits_, [&](const Wait& one) {
      return one.dir == dir && std::string_view(one.kind) != "sinceMade";
    });
    wait(dir, kind);
  }
  void wait(const std::string& dir, const char* kind) {
    waits_.push_back({dir, kind, SteadyClock::now()});
  }
  bool right(const std::string& dir) {
    const auto says = [&](std::string_view controller, std::string_view name,
                          std::string_view value) {
      return files_.read(tree_.file(controller, dir, name), text_) && trim(text_) == value;
    };
    return says("cpu", "cpu.shares", "256") && says("cpu", "cpu.cfs_quota_us", "25000") &&
           says("memory", "memory.limit_in_bytes", "1073741824");
  }

  const RealCgroups& tree_;
  Load load_;
  Random random_;
  std::priority_queue<Plan> plans_;  // of the thread that runs
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<YoungPod>> pods_;
  std::vector<Wait> waits_;
  std::vector<std::string> gone_;  // cgroups
  int stillWrong_ = 0;             // when their pods went
  std::map<std::string, std::vector<double>> spans_;
  OpenFiles files_;  // of the thread that looks, as is the text
  std::string text_;
};

struct ListedPods final : PodSource {
  ListedPods(Executor& itsExecutor, Kubelet& itsKubelet)
      : executor(itsExecutor), kubelet(itsKubelet) {}
  Executor& executor;
  Kubelet& kubelet;
  PodListDecoder decoder;
  Random random{3};
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node&) override {
    auto request = sleepFor(executor, std::chrono::milliseconds(1 + random.below(8)));
    co_await request;
    const std::string text = kubelet.list();
    auto answer = sleepFor(executor, std::chrono::milliseconds(1 + random.below(8)));
    co_await answer;
    co_return decoder.decode(text);
  }
};

struct ListedContainers final : ContainerRuntime {
  ListedContainers(Executor& itsExecutor, Kubelet& itsKubelet)
      : executor(itsExecutor), kubelet(itsKubelet) {}
  Executor& executor;
  Kubelet& kubelet;
  Future<Result<>> stop(const std::string&, Duration) override {
    return std::move(Future<Result<>>::make(executor).first);
  }
  Future<Result<std::vector<RuntimeContainer>>> list() override {
    auto [future, completer] = Future<Result<std::vector<RuntimeContainer>>>::make(executor);
    completer.complete(kubelet.containers());
    return std::move(future);
  }
};

void serveNode(kube::FakeApi& api) {
  api.answer = [](const kube::Request& request) -> Result<std::string> {
    const auto listOf = [](std::string_view object) {
      return fmt::format(R"({{"metadata":{{"resourceVersion":"1"}},"items":[{}]}})", object);
    };
    if (request.verb != kube::Verb::List) return std::string("{}");
    if (request.resource == "nodes")
      return listOf(R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"16","memory":"64Gi"},
                        "allocatable":{"cpu":"16","memory":"64Gi"}}})");
    if (request.resource == "nodeslos")
      return listOf(
          R"({"metadata":{"name":"n"},"spec":{"resourceUsedThresholdWithBE":{"enable":false}}})");
    return listOf(R"({"metadata":{"name":"n","generation":1},"spec":{}})");
  };
}

// A koordlet on its own thread.
class Koordlet {
 public:
  Koordlet(const RealCgroups& tree, Kubelet& kubelet, bool runtime) : loop_("koordlet") {
    loop_.runSync([&] {
      api_ = std::make_unique<kube::FakeApi>(loop_.loop());
      serveNode(*api_);
      AgentOptions options;
      options.nodeName = std::string("n");
      options.dirs = tree.dirs();
      options.watchCgroups = true;
      options.historyDir = options.dirs.runRoot + "history";
      options.prediction.directory = options.dirs.runRoot + "predictions";
      options.gates = *FeatureGates::parse("BEMemoryEvict=true");
      AgentSources sources{std::make_unique<ListedPods>(loop_.loop(), kubelet)};
      if (runtime) sources.runtime = std::make_unique<ListedContainers>(loop_.loop(), kubelet);
      agent_ = std::make_unique<Agent>(loop_.loop(), *api_, options, *Host::detect(options.dirs),
                                       metrics_, std::move(sources), Random(1));
      agent_->start();
    });
  }
  ~Koordlet() {
    loop_.runSync([this] {
      agent_.reset();
      api_.reset();
    });
  }

 private:
  LoopThread loop_;
  std::unique_ptr<kube::FakeApi> api_;
  Metrics metrics_;
  std::unique_ptr<Agent> agent_;
};

// Processes that only compute; they end with this one.
class BusyProcesses {
 public:
  explicit BusyProcesses(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::atomic<std::uint64_t> n = 0;; ++n) {
        }
      }
      if (pid > 0) pids_.push_back(pid);
    }
  }
  ~BusyProcesses() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

 private:
  std::vector<pid_t> pids_;
};

bench::Numbers young(const Load& load) {
  if (!RealCgroups::usable()) return {};
  const BusyProcesses busy(load.busyProcesses);  // before there are threads
  const RealCgroups tree("koordlet-young");
  Kubelet kubelet(tree, load);
  double slowest = 0;
  {
    const Koordlet koordlet(tree, kubelet, load.runtime);
    std::this_thread::sleep_for(3s);
    std::thread maker([&] { kubelet.run(); }), remover([&] { kubelet.removeGone(); });
    const sched_param priority{.sched_priority = 1};
    const bool realTime = ::sched_setscheduler(0, SCHED_RR, &priority) == 0;  // of this thread
    for (auto last = SteadyClock::now(); !kubelet.done();) {
      std::this_thread::sleep_for(2ms);
      kubelet.look();
      const auto now = SteadyClock::now();
      slowest = std::max(slowest, milliseconds(now - last));
      last = now;
    }
    const sched_param normal{};
    if (realTime) ::sched_setscheduler(0, SCHED_OTHER, &normal);
    maker.join();
    remover.join();
  }
  bench::Numbers numbers = kubelet.numbers();
  numbers["looksMaxMs"] = slowest;
  return numbers;
}

}  // namespace
}  // namespace koord::koordlet

// As koordlet has it.
extern "C" const char* const malloc_conf;
const char* const malloc_conf = "narenas:1,dirty_decay_ms:200,muzzy_decay_ms:0";

int main(int argc, char** argv) {
  using namespace koord;
  raiseFileLimit();  // as koordlet itself does
  std::vector<bench::Benchmark> benchmarks;
  for (const bool runtime : {false, true})
    for (const int busy : {0, 8}) {
      const koordlet::Load load{.busyProcesses = busy, .runtime = runtime};
      benchmarks.push_back(
          {fmt::format("young/{}/{}", runtime ? "runtime" : "stand-in", busy > 0 ? "load" : "idle"),
           {{"pods", load.pods}, {"busyProcesses", busy}},
           [=](const auto&) { return koordlet::young(load); }});
    }
  return bench::runAll(argc, argv, benchmarks);
}
