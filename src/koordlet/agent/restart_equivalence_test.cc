// A koordlet that is killed at any moment and started again leaves the same files as a koordlet
// that ran without a break, whatever changes while it is down: NodeSLO, the Node, pods, kubelet's
// values. The same is true for core scheduling cookies, the tasks' cache by resctrl and terway's
// files. Random histories are played on two fake hosts.

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "base/random.h"
#include "koordlet/agent/agent_testing.h"
#include "koordlet/system/resctrl.h"
#include "koordlet/system/small_file.h"
#include "koordlet/testing/complete_schemata.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr int kHistories = 40;
constexpr int kSteps = 12;
constexpr int kQuiet = 75;  // seconds; every file is checked once a minute

constexpr CgroupFile kCompared[] = {
    CgroupFile::CpuShares,        CgroupFile::CpuCfsQuota,    CgroupFile::CpuCfsBurst,
    CgroupFile::CpuBvtWarpNs,     CgroupFile::CpusetCpus,     CgroupFile::MemoryLimit,
    CgroupFile::MemoryMin,        CgroupFile::MemoryLow,      CgroupFile::MemoryHigh,
    CgroupFile::MemoryWmarkRatio, CgroupFile::MemoryPriority, CgroupFile::MemoryOomGroup,
    CgroupFile::CpuIdle,
};
constexpr CgroupFile kOfDisks[] = {
    CgroupFile::BlkioReadIops, CgroupFile::BlkioWriteIops,  CgroupFile::BlkioReadBps,
    CgroupFile::BlkioWriteBps, CgroupFile::BlkioCostWeight,
};

// The kernel's side of resctrl: a new group has all of both caches and their bandwidth, and a
// thread is in exactly one group.
class FakeResctrl {
 public:
  static constexpr const char* kAll = "L3:0=ff;1=ff;\nMB:0=100;1=100;\n";

  explicit FakeResctrl(TempTree& tree) : tree_(tree) {
    tree_.write("proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: cat_l3 mba\n");
    tree_.write("sys/fs/resctrl/info/L3/cbm_mask", "ff\n");
    tree_.write("sys/fs/resctrl/schemata", kAll);
  }
  // After koordlet's round.
  void settle() {
    for (const auto& group : listDirs(tree_.path(kRoot))) {
      if (group == "info") continue;
      const std::string dir = kRoot + group;
      if (!pathExists(tree_.path(dir + "/schemata"))) {
        tree_.write(dir + "/schemata", kAll);
        tree_.write(dir + "/tasks", "");
      }
      for (const int task :
           resctrl::readTasks(tree_.path(dir + "/tasks")).value_or(std::set<int>{}))
        if (members_[group].insert(task).second) take(task, group);
    }
  }
  std::string cacheOf(int task) const {
    const auto group = groups_.find(task);
    if (group == groups_.end()) return "all";
    const std::string schemata = tree_.read(kRoot + group->second + "/schemata");
    return resctrl::hasLine(schemata, kAll) ? "all" : schemata;
  }

 private:
  static inline const std::string kRoot = "sys/fs/resctrl/";

  void take(int task, const std::string& group) {
    const auto before = groups_.find(task);
    if (before != groups_.end()) {
      auto& left = members_[before->second];
      left.erase(task);
      tree_.write(kRoot + before->second + "/tasks", fmt::format("{}\n", fmt::join(left, "\n")));
    }
    groups_[task] = group;
  }

  TempTree& tree_;
  std::map<std::string, std::set<int>> members_;
  std::map<int, std::string> groups_;
};

// One fake host with its koordlet.
class RestartMachine : public AgentFixture {
 public:
  void TestBody() override {}

  RestartMachine() {
    options_.gates = *FeatureGates::parse(
        "CgroupReconcile=true,BlkIOReconcile=true,SystemConfig=true,CPUNormalization=true,"
        "GroupIdentity=true,BatchResource=true,CPUSetAllocator=true,CPUBurst=true,"
        "BECPUSuppress=true,OOMScoreAdj=true,CoreSched=true,RdtResctrl=true,Resctrl=true,"
        "TerwayQoS=true");
    options_.terwayDir = files_.tree().path("terway/");
    files_.tree().write("proc/sys/kernel/sched_core", "0\n");
    files_.tree().write("proc/sys/kernel/sched_group_identity_enabled", "1\n");
    files_.tree().write("sys/block/vda/dev", "253:0\n");
    files_.tree().write("proc/sys/vm/min_free_kbytes", "65536\n");
    files_.tree().write("proc/sys/vm/watermark_scale_factor", "10\n");
    for (const auto* name : {"cost.qos", "cost.model"})
      files_.tree().write((v2() ? "cgroup/io." : "cgroup/blkio/blkio.") + std::string(name), "");
    for (const KubeQos qos : kKubeQosClasses) complete(qosDir(CgroupDriver::Cgroupfs, qos));
    complete(ls_);
    complete(ls_.substr(0, ls_.rfind('/')));
  }

  bool v2() const { return GetParam() == CgroupVersion::V2; }
  void start() {
    startAgent();
    agent_->audit().onAdd(
        [this](const AuditEntry& entry) { completeSchemata(files_.tree(), entry); });
  }
  void kill() { agent_.reset(); }
  bool runs() const { return agent_ != nullptr; }
  void run(int count) {
    for (int i = 0; i < count; ++i) {
      second(use_, be_.empty() ? 0 : 1);
      resctrl_.settle();
    }
  }
  void setUse(double cores) { use_ = cores; }
  FakeCluster& cluster() { return cluster_; }

  void add(const std::string& name, KubeQos kubeQos, const std::string& qos,
           const std::string& resources, const api::StringMap& annotations, std::int64_t quota) {
    const std::string container = addPod(name, kubeQos, qos, 5000, resources);
    if (kubeQos == KubeQos::BestEffort) be_ = container;
    for (const auto& dir : {container, container.substr(0, container.rfind('/'))}) complete(dir);
    api::Pod pod = *pods_.pods.back();
    pod.metadata.annotations = annotations;
    pods_.pods.back() = std::make_shared<const api::Pod>(std::move(pod));
    for (const auto file : {CgroupFile::Procs, CgroupFile::Tasks})
      files_.setCgroupText(file, container, fmt::format("{}\n{}\n", next_, next_ + 1));
    tasks_[name] = {next_, next_ + 1};
    next_ += 2;
    quotas_[name] = quota;
    kubeletWrites(name);
  }
  // `value` "": the annotation is removed.
  void annotate(const std::string& name, const std::string& key, const std::string& value) {
    for (auto& known : pods_.pods) {
      if (known->metadata.name != name) continue;
      api::Pod pod = *known;
      value.empty() ? (void)pod.metadata.annotations.erase(key)
                    : (void)(pod.metadata.annotations[key] = value);
      known = std::make_shared<const api::Pod>(std::move(pod));
    }
  }
  void remove(const std::string& name) {
    std::erase_if(pods_.pods, [&](const auto& pod) {
      if (pod->metadata.name != name) return false;
      const KubeQos qos = viewOf(pod, CgroupDriver::Cgroupfs).kubeQos;
      const std::string dir = podDir(CgroupDriver::Cgroupfs, qos, name);
      if (be_.starts_with(dir)) be_.clear();
      files_.removePod(qos, name);
      files_.tree().remove("cgroup/blkio/" + dir);
      return true;
    });
    quotas_.erase(name);
    tasks_.erase(name);
  }
  // What it gives to a new pod, and after a resize or a restart of its own.
  void kubeletWrites(const std::string& name) {
    const auto quota = quotas_.find(name);
    if (quota == quotas_.end()) return;
    for (const auto& dir : dirsOf(name)) {
      files_.setCgroupText(CgroupFile::CpuShares, dir, v2() ? "1" : "2");
      const std::string value = quota->second > 0 ? std::to_string(quota->second)
                                : v2()            ? "max"
                                                  : "-1";
      files_.setCgroupText(CgroupFile::CpuCfsQuota, dir, v2() ? value + " 100000" : value);
    }
  }
  // Each file's content, by path.
  std::map<std::string, std::string> files() {
    files_.settle();
    std::map<std::string, std::string> result;
    std::vector<std::string> dirs;
    for (const KubeQos qos : kKubeQosClasses) dirs.push_back(qosDir(CgroupDriver::Cgroupfs, qos));
    for (const auto& pod : pods_.pods)
      for (auto& dir : dirsOf(pod->metadata.name)) dirs.push_back(std::move(dir));
    for (const auto& dir : dirs) {
      for (const CgroupFile file : kCompared)
        if (!fileNameIn(file, GetParam()).empty())
          result[fmt::format("{}/{}", dir, nameOf(file))] = inForce(file, dir);
      for (const auto& name : diskFiles()) result[dir + "/" + name] = diskText(dir, name);
    }
    for (const auto* path : {"proc/sys/vm/min_free_kbytes", "proc/sys/vm/watermark_scale_factor",
                             v2() ? "cgroup/io.cost.qos" : "cgroup/blkio/blkio.cost.qos",
                             "terway/global_bps_config", "terway/pod.json"})
      result[path] = asKernel(files_.tree().read(path));
    addTasks(result);
    return result;
  }

 private:
  // Core scheduling switches identities off, whatever they are.
  std::string inForce(CgroupFile file, const std::string& dir) {
    const bool off = files_.tree().read("proc/sys/kernel/sched_group_identity_enabled") == "0";
    return file == CgroupFile::CpuBvtWarpNs && off ? "0" : asKernel(files_.cgroupText(file, dir));
  }
  // The tasks that each task shares a core with, and its part of the cache.
  void addTasks(std::map<std::string, std::string>& result) {
    std::map<std::uint64_t, int> first;  // task with that cookie
    for (const auto& [name, tasks] : tasks_)
      for (const int task : tasks) {
        const std::uint64_t cookie = cookies_.of[task];
        result[fmt::format("cookie of {}", task)] =
            cookie == 0 ? "none"
                        : fmt::format("that of {}", first.emplace(cookie, task).first->second);
        result[fmt::format("cache of {}", task)] = resctrl_.cacheOf(task);
      }
  }
  std::vector<std::string> dirsOf(const std::string& name) const {
    for (const auto& pod : pods_.pods)
      if (pod->metadata.name == name) {
        const PodView view = viewOf(pod, CgroupDriver::Cgroupfs);
        return {view.dir, view.containers.at(0).dir};
      }
    return {};
  }
  std::vector<std::string> diskFiles() const {
    if (v2()) return {"io.max", "io.weight"};
    std::vector<std::string> names;
    for (const CgroupFile file : kOfDisks) names.emplace_back(nameOf(file));
    return names;
  }
  // The kernel shows whole pages, and no difference between a disk whose limits were removed and a
  // disk that never had limits.
  static std::string asKernel(std::string text) {
    if (text == "253:0 enable=0") return "";
    return text == "9223372036854775807" || text == "9223372036854771712" ? "max" : text;
  }
  // The kernel shows no line without a limit.
  std::string diskText(const std::string& dir, const std::string& name) {
    const auto text = files_.tree().read((v2() ? "cgroup/" : "cgroup/blkio/") + dir + "/" + name);
    const bool none = text == "253:0 0" || text == "253:0 100" ||
                      text == "253:0 rbps=max wbps=max riops=max wiops=max";
    return none ? "" : text;
  }
  // Files that the fake host does not make by itself.
  void complete(const std::string& dir) {
    files_.setCgroupText(CgroupFile::MemoryMin, dir, "0\n");
    files_.setCgroupText(CgroupFile::MemoryLow, dir, "0\n");
    files_.setCgroupText(CgroupFile::MemoryHigh, dir, v2() ? "max\n" : "9223372036854771712\n");
    files_.setCgroupText(CgroupFile::MemoryOomGroup, dir, "0\n");
    files_.setCgroupText(CgroupFile::MemoryWmarkRatio, dir, "0\n");
    files_.setCgroupText(CgroupFile::MemoryPriority, dir, "0\n");
    files_.setCgroupText(CgroupFile::CpuCfsBurst, dir, "0\n");
    files_.setCgroupText(CgroupFile::CpuBvtWarpNs, dir, "0\n");
    files_.setCgroupText(CgroupFile::CpuIdle, dir, "0\n");
    for (const auto& name : diskFiles())
      files_.tree().write((v2() ? "cgroup/" : "cgroup/blkio/") + dir + "/" + name, "");
  }

  double use_ = 1;
  std::map<std::string, std::int64_t> quotas_;
  std::map<std::string, std::vector<int>> tasks_;
  int next_ = 100;
  FakeResctrl resctrl_{files_.tree()};
};

using HistoryStep = std::function<void(RestartMachine&)>;

std::string randomSlo(Random& random) {
  const auto boolean = [&] { return random.chance(0.5) ? "true" : "false"; };
  const auto memory = [&] {
    return fmt::format(
        R"({{"enable":{},"minLimitPercent":{},"lowLimitPercent":{},"throttlingPercent":{},"oomKillGroup":1,
             "priority":{}}})",
        boolean(), random.below(60), random.below(100), 10 * random.below(10), random.below(12));
  };
  const auto disks = [&] {
    return fmt::format(
        R"({{"enable":{},"blocks":[{{"name":"/dev/vda","type":"device","ioCfg":{{"readIOPS":{},"writeBPS":{}}}}}]}})",
        boolean(), random.below(500), 4096 * random.below(500));
  };
  const auto cache = [&] {
    return fmt::format(
        R"({{"enable":{},"catRangeStartPercent":0,"catRangeEndPercent":{},"mbaPercent":{}}})",
        boolean(), 25 + 25 * random.below(4), 10 * (1 + random.below(10)));
  };
  const char* policies[] = {"none", "auto", "cpuBurstOnly", "cfsQuotaBurstOnly"};
  return fmt::format(
      R"({{"metadata":{{"name":"n1"}},"spec":{{
        "resourceUsedThresholdWithBE":{{"enable":{},"cpuSuppressThresholdPercent":{},"cpuSuppressPolicy":"{}"}},
        "resourceQOSStrategy":{{
          "policies":{{"cpuPolicy":"{}","netQOSPolicy":"{}"}},
          "lsrClass":{{"memoryQOS":{},"cpuQOS":{{"enable":{},"groupIdentity":2}}}},
          "lsClass":{{"memoryQOS":{},"cpuQOS":{{"enable":{},"groupIdentity":2,"coreExpeller":true}},"resctrlQOS":{}}},
          "beClass":{{"memoryQOS":{},"cpuQOS":{{"enable":{},"groupIdentity":-1,"schedIdle":1}},"blkioQOS":{},"resctrlQOS":{}}},
          "cgroupRoot":{{"blkioQOS":{}}}}},
        "cpuBurstStrategy":{{"policy":"{}","cpuBurstPercent":{}}},
        "systemStrategy":{{"minFreeKbytesFactor":{},"watermarkScaleFactor":{},"totalNetworkBandwidth":"10G"}}}}}})",
      boolean(), 50 + random.below(40), random.chance(0.5) ? "cpuset" : "cfsQuota",
      random.chance(0.5) ? "groupIdentity" : "coreSched", random.chance(0.5) ? "tc" : "terway-qos",
      memory(), boolean(), memory(), boolean(), cache(), memory(), boolean(), disks(), cache(),
      disks(), policies[random.below(4)], 100 * random.below(11), 50 + random.below(100),
      10 + random.below(200));
}

HistoryStep nodeStep(Random& random) {
  const char* ratios[] = {"", "1.00", "1.25", "2.00"};
  const std::string ratio = ratios[random.below(4)];
  const std::string annotation =
      ratio.empty()
          ? ""
          : fmt::format(R"(,"annotations":{{"node.koordinator.sh/cpu-normalization-ratio":"{}"}})",
                        ratio);
  return [annotation](RestartMachine& machine) {
    machine.cluster().put("nodes", fmt::format(R"({{"metadata":{{"name":"n1","uid":"node"{}}},
      "status":{{"capacity":{{"cpu":"16","memory":"64Gi"}},"allocatable":{{"cpu":"16","memory":"64Gi"}}}}}})",
                                               annotation));
  };
}

std::pair<std::string, std::string> randomAnnotation(Random& random) {
  constexpr const char* kCaches[] = {
      R"({"llc":{"schemata":{"range":[0,50]}}})",
      R"({"llc":{"schemataPerCache":[{"cacheID":1,"range":[0,25]}]}})",
      R"({"mb":{"schemata":{"percent":50}}})",
      R"({"llc":{"schemata":{"range":[50,100]}},"mb":{"schemataPerCache":[{"cacheID":0,"percent":20}]}})",
  };
  const char* policies[] = {"none", "auto", "cpuBurstOnly"};
  switch (random.below(5)) {
    case 3:
      return {"node.koordinator.sh/resctrl", kCaches[random.below(std::size(kCaches))]};
    case 4:
      return {"koordinator.sh/networkQOS", R"({"egressLimit":"80M"})"};
    case 0:
      return {"koordinator.sh/cpuBurst",
              fmt::format(R"({{"policy":"{}"}})", policies[random.below(3)])};
    case 1:
      return {"koordinator.sh/blkioQOS",
              random.chance(0.3)
                  ? R"({"blocks":[]})"
                  : R"({"blocks":[{"name":"/dev/vda","type":"device","ioCfg":{"readBPS":8192}}]})"};
    default:
      return {"koordinator.sh/memoryQOS",
              fmt::format(R"({{"policy":"{}"}})", policies[random.below(2)])};
  }
}

HistoryStep podStep(Random& random, const std::string& name) {
  api::StringMap annotations;
  if (random.chance(0.3)) annotations.insert(randomAnnotation(random));
  if (random.chance(0.4)) {
    const auto cores = 1 + static_cast<std::int64_t>(random.below(4));
    return [=](RestartMachine& machine) {
      machine.add(
          name, KubeQos::BestEffort, "BE",
          fmt::format(
              R"("requests":{{"kubernetes.io/batch-cpu":"{0}","kubernetes.io/batch-memory":"1Gi"}},
                                 "limits":{{"kubernetes.io/batch-cpu":"{0}","kubernetes.io/batch-memory":"1Gi"}})",
              cores * 1000),
          annotations, -1);
    };
  }
  const bool pinned = random.chance(0.3);
  const auto cores = 2 + static_cast<std::int64_t>(random.below(3));
  if (pinned)
    annotations["scheduling.koordinator.sh/resource-status"] =
        fmt::format(R"({{"cpuset":"{0},{1}"}})", cores, cores + 8);
  return [=](RestartMachine& machine) {
    machine.add(name, pinned ? KubeQos::Guaranteed : KubeQos::Burstable, pinned ? "LSR" : "LS",
                fmt::format(R"("requests":{{"cpu":"1","memory":"1Gi"}},
                               "limits":{{"cpu":"{}","memory":"2Gi"}})",
                            cores),
                annotations, cores * 100'000);
  };
}

struct RandomHistory {
  struct Event {
    HistoryStep step;
    int seconds = 0;       // that pass after it
    bool toggles = false;  // the koordlet of the second host is killed, or started again, before it
  };
  std::vector<Event> events;
};

RandomHistory randomHistory(Random& random) {
  RandomHistory history;
  std::vector<std::string> names;
  int number = 0;
  for (int i = 0; i < kSteps; ++i) {
    HistoryStep step;
    const auto kind = names.empty() ? random.below(5) : random.below(10);
    if (kind <= 1) {
      step = [slo = randomSlo(random)](RestartMachine& machine) {
        machine.cluster().put("nodeslos", slo);
      };
    } else if (kind == 2) {
      step = nodeStep(random);
    } else if (kind <= 4) {
      names.push_back(fmt::format("pod-{}", number++));
      step = podStep(random, names.back());
    } else {
      const auto at = random.below(names.size());
      const std::string name = names[at];
      if (kind == 5) {
        names.erase(names.begin() + static_cast<std::ptrdiff_t>(at));
        step = [name](RestartMachine& machine) { machine.remove(name); };
      } else if (kind == 6 || kind == 9) {
        auto annotation = randomAnnotation(random);
        if (kind == 9) annotation.second.clear();
        step = [=](RestartMachine& machine) {
          machine.annotate(name, annotation.first, annotation.second);
        };
      } else if (kind == 7) {
        step = [name](RestartMachine& machine) { machine.kubeletWrites(name); };
      } else {
        step = [use = static_cast<double>(random.below(10))](RestartMachine& machine) {
          machine.setUse(use);
        };
      }
    }
    history.events.push_back(
        {std::move(step), 1 + static_cast<int>(random.below(8)), random.chance(0.4)});
  }
  return history;
}

class RestartEquivalence : public testing::TestWithParam<CgroupVersion> {};
INSTANTIATE_TEST_SUITE_P(V1AndV2, RestartEquivalence,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2),
                         [](const auto& info) {
                           return info.param == CgroupVersion::V1 ? "V1" : "V2";
                         });

// KOORD_HISTORIES overrides the number of histories.
TEST_P(RestartEquivalence, AKoordletThatWasKilledEndsInTheSameFilesAsOneThatRanThrough) {
  const char* more = std::getenv("KOORD_HISTORIES");
  const int histories = more ? std::atoi(more) : kHistories;
  for (int seed = 1; seed <= histories && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(static_cast<std::uint64_t>(seed));
    const RandomHistory history = randomHistory(random);
    RestartMachine through, killed;
    for (RestartMachine* machine : {&through, &killed}) machine->start();
    for (const auto& event : history.events) {
      if (event.toggles) killed.runs() ? killed.kill() : killed.start();
      for (RestartMachine* machine : {&through, &killed}) {
        event.step(*machine);
        machine->run(event.seconds);
      }
    }
    if (!killed.runs()) killed.start();
    for (RestartMachine* machine : {&through, &killed}) {
      machine->setUse(2);
      machine->run(kQuiet);
    }
    const auto expected = through.files();
    for (const auto& [path, text] : killed.files()) EXPECT_EQ(text, expected.at(path)) << path;
  }
}

}  // namespace
}  // namespace koord::koordlet
