// What koordlet costs on a full node: 250 pods with 500 containers, half of them best effort,
// measured and suppressed every second. The aim is 1% of one core and 30 MiB (the whole
// process).
//
// On virtual time, so ten minutes of a node's life take seconds; CPU time is that of the process.
//   koordlet/files/...     a fake tree of plain files in memory
//   koordlet/cgroups/...   real cgroups, made for the run and removed after it; needs root
// processMiB is what the process has at the end, of which harnessMiB were there before koordlet;
// peaks are those of all benchmarks so far, so one at a time is worth more (--filter).

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "api/codec.h"
#include "base/file_limit.h"
#include "base/virtual_loop.h"
#include "bench.h"
#include "koordlet/agent/agent.h"
#include "koordlet/testing/fake_host.h"
#include "kube/fake_api.h"
#include "real_cgroups.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr int kContainersPerPod = 2;

// What is measured; times are virtual.
struct Load {
  int pods = 250;
  int seconds = 600;
  bool pressure = false;  // PSICollector on, and with it the interference detector
};

std::string uidOf(int pod) {
  return fmt::format("6f1c1f0e-0000-4000-8000-{:012d}", pod);
}
std::string containerIdOf(int pod, int container) {
  return fmt::format("containerd://{:063d}{}", pod, container);
}
bool isBestEffort(int pod) {
  return pod % 2 == 0;
}
KubeQos qosOf(int pod) {
  return isBestEffort(pod) ? KubeQos::BestEffort : KubeQos::Burstable;
}

// As kubelet would send it, with fields that koordlet does not read.
std::string podListJson(int pods) {
  json::array items;
  for (int pod = 0; pod < pods; ++pod) {
    json::array containers, statuses;
    for (int i = 0; i < kContainersPerPod; ++i) {
      const std::string name = fmt::format("c{}", i);
      json::object resources;
      if (isBestEffort(pod))
        resources = {
            {"requests",
             {{"kubernetes.io/batch-cpu", "500"}, {"kubernetes.io/batch-memory", "1Gi"}}},
            {"limits",
             {{"kubernetes.io/batch-cpu", "1000"}, {"kubernetes.io/batch-memory", "1Gi"}}}};
      containers.push_back(
          {{"name", name},
           {"image", "registry.example/app:v1"},
           {"command", {"/bin/app", "--serve"}},
           {"env", json::array(20, json::object{{"name", "A"}, {"value", "some value"}})},
           {"resources", resources},
           {"terminationMessagePath", "/dev/termination-log"}});
      statuses.push_back({{"name", name},
                          {"containerID", containerIdOf(pod, i)},
                          {"image", "registry.example/app:v1"},
                          {"state", {{"running", {{"startedAt", "2026-01-01T00:00:00Z"}}}}}});
    }
    items.push_back(
        {{"metadata",
          {{"name", fmt::format("pod-{}", pod)},
           {"namespace", "default"},
           {"uid", uidOf(pod)},
           {"labels", {{"koordinator.sh/qosClass", isBestEffort(pod) ? "BE" : "LS"}}}}},
         {"spec", {{"containers", containers}, {"priority", isBestEffort(pod) ? 5500 : 9500}}},
         {"status",
          {{"phase", "Running"},
           {"qosClass", model::textOf(qosOf(pod))},
           {"containerStatuses", statuses}}}});
  }
  return toJson(json::object{{"kind", "PodList"}, {"items", std::move(items)}});
}

// The answer is mapped from a file while it is read: what kubelet and the network hold of it is not
// koordlet's.
struct JsonPods final : PodSource {
  explicit JsonPods(int pods) { tree.write("pods.json", podListJson(pods)); }
  TempTree tree;
  PodListDecoder decoder;
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node&) override {
    const int fd = ::open(tree.path("pods.json").c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info{};
    if (fd < 0 || ::fstat(fd, &info) != 0) co_return fail(ErrorCode::Io, "no list of pods");
    const auto size = static_cast<std::size_t>(info.st_size);
    void* const text = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    ::close(fd);
    if (text == MAP_FAILED) co_return fail(ErrorCode::Io, "the list of pods is not mapped");
    auto pods = decoder.decode({static_cast<const char*>(text), size});
    ::munmap(text, size);
    co_return pods;
  }
};

std::string listOf(std::string_view object) {
  return fmt::format(R"({{"metadata":{{"resourceVersion":"1"}},"items":[{}]}})", object);
}

void serveNode(kube::FakeApi& api) {
  api.answer = [](const kube::Request& request) -> Result<std::string> {
    if (request.verb != kube::Verb::List) return std::string("{}");
    if (request.resource == "nodes")
      return listOf(R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"16","memory":"64Gi"},
                        "allocatable":{"cpu":"16","memory":"64Gi"}}})");
    if (request.resource == "nodeslos")
      return listOf(
          R"({"metadata":{"name":"n"},"spec":{"resourceUsedThresholdWithBE":{"enable":true}}})");
    return listOf(R"({"metadata":{"name":"n","generation":1},"spec":{}})");
  };
}

// Bytes that this thread has asked for so far; 0 without jemalloc.
extern "C" [[gnu::weak]] int mallctl(const char*, void*, std::size_t*, void*, std::size_t);
double allocated() {
  std::uint64_t bytes = 0;
  std::size_t size = sizeof bytes;
  if (mallctl) mallctl("thread.allocated", &bytes, &size, nullptr, 0);
  return static_cast<double>(bytes);
}

// Latency-sensitive pods want all CPUs at once: how long the round takes that sees it, to its last
// write, in wall time and in CPU time, which a busy machine does not stretch. `demand` makes the
// counters say so; in the seconds between two of them best effort gets its CPUs back.
void addSpikes(VirtualLoop& loop, Agent& agent, const std::function<void()>& demand,
               bench::Numbers& numbers) {
  constexpr int kSpikes = 20;
  std::vector<double> wall, cpu;
  bench::Stopwatch watch;
  double before = 0, lastWall = 0, lastCpu = 0;
  agent.audit().onAdd([&](const AuditEntry&) {
    lastWall = watch.seconds();
    lastCpu = bench::cpuSeconds() - before;
  });
  for (int i = 0; i < kSpikes; ++i) {
    loop.advance(500ms);  // between two rounds
    demand();
    const auto writes = agent.audit().added();
    watch = {};
    before = bench::cpuSeconds();
    loop.advance(500ms);
    if (agent.audit().added() > writes) {
      wall.push_back(lastWall * 1000);
      cpu.push_back(lastCpu * 1000);
    }
    loop.advance(15s);
  }
  numbers["spikesAnswered"] = static_cast<double>(wall.size());
  if (wall.empty()) return;
  numbers["spikeToLastWriteMsP50"] = bench::percentile(wall, 0.5);
  numbers["spikeToLastWriteMsMax"] = std::ranges::max(wall);
  numbers["spikeCpuMsP50"] = bench::percentile(cpu, 0.5);
  numbers["spikeCpuMsMax"] = std::ranges::max(cpu);
}

bench::Numbers live(const HostDirs& dirs, const Load& load, const std::function<void()>& demand) {
  VirtualLoop loop;
  kube::FakeApi api(loop);
  auto pods = std::make_unique<JsonPods>(load.pods);
  const double harness =
      bench::rssMib();  // the program as such, the fake machine, kubelet's answer
  serveNode(api);
  Metrics metrics;
  AgentOptions options;
  options.nodeName = std::string("n");  // from a literal g++ 12 warns of a copy without end
  options.dirs = dirs;
  options.historyDir = dirs.runRoot + "history";
  options.prediction.directory = dirs.runRoot + "predictions";
  options.gates = *FeatureGates::parse(load.pressure ? "BEMemoryEvict=true,PSICollector=true"
                                                     : "BEMemoryEvict=true");
  Agent agent(loop, api, options, *Host::detect(dirs), metrics, AgentSources{std::move(pods)},
              Random(1));
  agent.start();
  loop.advance(30s);
  const double cpu = bench::cpuSeconds();
  constexpr int kStep = 600, kSixHours = 6 * 3600;
  double atStart = 0, afterSixHours = 0;
  // The fake API keeps all requests, which would be a day of NodeMetrics.
  for (int done = 0; done < load.seconds; done += kStep, api.calls.clear()) {
    loop.advance(std::chrono::seconds(std::min(load.seconds - done, kStep)));
    if (done == 0) atStart = bench::rssMib();
    if (done + kStep == kSixHours) afterSixHours = bench::rssMib();
  }
  const double used = bench::cpuSeconds() - cpu;
  const double rss = bench::rssMib();
  const double bytes = allocated();
  const auto writes = agent.audit().added();
  std::vector<double> seconds;  // what each of them asked for
  for (int i = 0; i < 60; ++i) {
    const double before = allocated();
    loop.advance(1s);
    seconds.push_back(allocated() - before);
  }
  std::ranges::sort(seconds);
  bench::Numbers numbers{
      {"cpuPercentOfOneCore", used / load.seconds * 100},
      {"metricCacheMiB", static_cast<double>(agent.cache().memoryBytes()) / (1 << 20)},
      {"allocatedKiBASecond", (allocated() - bytes) / 60 / 1024},
      {"allocatedKiBInMostSeconds", seconds[seconds.size() / 2] / 1024},
      {"writesAMinute", static_cast<double>(agent.audit().added() - writes)},
      {"harnessMiB", harness},
      {"processMiB", rss},
      {"processPeakMiB", bench::peakRssMib()}};
  if (load.seconds > kStep) numbers["processMiBAfter10Minutes"] = atStart;
  if (load.seconds > kSixHours) numbers["processMiBAfter6Hours"] = afterSixHours;
  if (demand) addSpikes(loop, agent, demand, numbers);
  return numbers;
}

void addPressure(FakeHost& host, const std::string& dir) {
  for (const CgroupFile file :
       {CgroupFile::CpuPressure, CgroupFile::MemoryPressure, CgroupFile::IoPressure})
    host.setCgroupText(file, dir,
                       "some avg10=1.25 avg60=0.80 avg300=0.40 total=123456789\n"
                       "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
}

bench::Numbers onFiles(CgroupVersion version, const Load& load) {
  FakeHost host(version, {.cpus = 16});
  std::string service;
  for (int pod = 0; pod < load.pods; ++pod) {
    std::vector<std::string> ids;
    for (int i = 0; i < kContainersPerPod; ++i) ids.push_back(containerIdOf(pod, i));
    const auto dir = host.addPod(qosOf(pod), uidOf(pod), ids);
    if (!isBestEffort(pod)) service = host.containerDir(dir, ids.front());
    if (!load.pressure) continue;
    addPressure(host, dir);
    for (const std::string& id : ids) addPressure(host, host.containerDir(dir, id));
  }
  return live(host.dirs(), load, [&] {
    host.consumeCpu(service, 14, 1s);
    host.consumeSystemCpu(0, 1s);
  });
}

bench::Numbers onCgroups(const Load& load) {
  const RealCgroups cgroups("koordlet-bench");
  for (int pod = 0; pod < load.pods; ++pod) {
    const std::string dir = podDir(CgroupDriver::Cgroupfs, qosOf(pod), uidOf(pod));
    cgroups.make(dir);
    for (int i = 0; i < kContainersPerPod; ++i)
      cgroups.make(joinPath(dir, *containerDirName(CgroupDriver::Cgroupfs, containerIdOf(pod, i))));
  }
  return live(cgroups.dirs(), load, nullptr);
}

}  // namespace
}  // namespace koord::koordlet

// As koordlet has it.
extern "C" const char* const malloc_conf;
const char* const malloc_conf = "narenas:1,dirty_decay_ms:200,muzzy_decay_ms:0";

int main(int argc, char** argv) {
  using namespace koord;
  raiseFileLimit();  // as koordlet itself does
  using koordlet::CgroupVersion, koordlet::Load;
  const auto params = [](const Load& load) {
    return bench::Numbers{{"pods", load.pods},
                          {"containers", load.pods * koordlet::kContainersPerPod},
                          {"seconds", load.seconds}};
  };
  std::vector<bench::Benchmark> benchmarks;
  const auto onFiles = [&](const char* name, CgroupVersion version, Load load) {
    benchmarks.push_back(
        {name, params(load), [=](const auto&) { return koordlet::onFiles(version, load); }});
  };
  onFiles("koordlet/files/v1", CgroupVersion::V1, {});
  onFiles("koordlet/files/v2", CgroupVersion::V2, {});
  onFiles("koordlet/files/v2/psi", CgroupVersion::V2, {.pressure = true});
  onFiles("koordlet/files/v2/1000", CgroupVersion::V2, {.pods = 1000});
  // Long enough for whatever grows to have grown; --filter day is a day, and minutes of CPU.
  onFiles("koordlet/files/v2/hours", CgroupVersion::V2, {.seconds = 3 * 3600});
  if (argc > 2 && std::string_view(argv[2]) == "day")
    onFiles("koordlet/files/v2/day", CgroupVersion::V2, {.seconds = 24 * 3600});
  if (koordlet::RealCgroups::usable()) {
    benchmarks.push_back(
        {"koordlet/cgroups/v1", params({}), [](const auto&) { return koordlet::onCgroups({}); }});
  } else {
    fmt::print(
        stderr,
        "koordlet/cgroups/v1 skipped: it needs root and cgroup v1 mounts in /sys/fs/cgroup\n");
  }
  return bench::runAll(argc, argv, benchmarks);
}
