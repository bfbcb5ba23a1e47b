// What koordlet costs on a full node: 250 pods with 500 containers, half of them best effort,
// measured and suppressed every second. The budget is 2% of one core and 30 MiB (the whole
// process).
//
// On virtual time, so ten minutes of a node's life take seconds; CPU time is that of the process.
//   koordlet/files/...     a fake tree of plain files in memory
//   koordlet/cgroups/...   real cgroups, made for the run and removed after it; needs root

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/codec.h"
#include "base/log.h"
#include "base/virtual_loop.h"
#include "bench.h"
#include "koordlet/agent/agent.h"
#include "koordlet/testing/fake_host.h"
#include "kube/fake_api.h"

namespace koord::koordlet {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kPods = 250;
constexpr int kContainersPerPod = 2;
constexpr int kSeconds = 600;

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
std::string podListJson() {
  json::array items;
  for (int pod = 0; pod < kPods; ++pod) {
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

struct JsonPods final : PodSource {
  std::string body = podListJson();
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node&) override {
    co_return decodePodList(body);
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

bench::Numbers live(const HostDirs& dirs) {
  VirtualLoop loop;
  kube::FakeApi api(loop);
  serveNode(api);
  Metrics metrics;
  AgentOptions options;
  options.nodeName = "n";
  options.dirs = dirs;
  options.historyDir = dirs.runRoot + "history";
  options.prediction.directory = dirs.runRoot + "predictions";
  options.gates = *FeatureGates::parse("BEMemoryEvict=true");
  Agent agent(loop, api, options, *Host::detect(dirs), metrics,
              AgentSources{std::make_unique<JsonPods>()}, Random(1));
  agent.start();
  loop.advance(30s);
  const double cpu = bench::cpuSeconds();
  loop.advance(std::chrono::seconds(kSeconds));
  const double used = bench::cpuSeconds() - cpu;
  return {{"cpuPercentOfOneCore", used / kSeconds * 100},
          {"metricCacheMiB", static_cast<double>(agent.cache().memoryBytes()) / (1 << 20)},
          {"processPeakMiB", bench::peakRssMib()}};
}

bench::Numbers onFiles(CgroupVersion version) {
  FakeHost host(version, {.cpus = 16});
  for (int pod = 0; pod < kPods; ++pod) {
    std::vector<std::string> ids;
    for (int i = 0; i < kContainersPerPod; ++i) ids.push_back(containerIdOf(pod, i));
    host.addPod(qosOf(pod), uidOf(pod), ids);
  }
  return live(host.dirs());
}

// kubepods below a cgroup of our own, in this machine's v1 hierarchies.
class RealCgroups {
 public:
  static constexpr std::string_view kControllers[] = {"cpu", "cpuacct", "cpuset", "memory"};

  RealCgroups() : name_(fmt::format("koordlet-bench-{}", ::getpid())) {
    for (const auto controller : kControllers) {
      make(controller, "");
      tree_.makeDir("cgroup");
      fs::create_directory_symlink(root(controller),
                                   tree_.path(fmt::format("cgroup/{}", controller)));
      for (const KubeQos qos : {KubeQos::Guaranteed, KubeQos::Burstable, KubeQos::BestEffort})
        make(controller, qosDir(CgroupDriver::Cgroupfs, qos));
      for (int pod = 0; pod < kPods; ++pod) {
        const std::string dir = podDir(CgroupDriver::Cgroupfs, qosOf(pod), uidOf(pod));
        make(controller, dir);
        for (int i = 0; i < kContainersPerPod; ++i)
          make(controller,
               joinPath(dir, *containerDirName(CgroupDriver::Cgroupfs, containerIdOf(pod, i))));
      }
    }
  }
  ~RealCgroups() {
    for (auto it = made_.rbegin(); it != made_.rend(); ++it) ::rmdir(it->c_str());
  }

  HostDirs dirs() const {
    HostDirs dirs = hostModeDirs();
    dirs.cgroupRoot = tree_.path("cgroup/");
    return dirs;
  }

 private:
  std::string root(std::string_view controller) const {
    return fmt::format("/sys/fs/cgroup/{}/{}", controller, name_);
  }
  void make(std::string_view controller, const std::string& dir) {
    const std::string path = root(controller) + "/" + dir;
    if (!fs::create_directory(path)) return;
    made_.push_back(path);
    if (controller != "cpuset") return;
    for (const auto* file : {"cpuset.cpus", "cpuset.mems"}) {
      std::string value;
      std::ifstream(fmt::format("/sys/fs/cgroup/cpuset/{}", file)) >> value;
      std::ofstream(fmt::format("{}/{}", path, file)) << value;
    }
  }

  std::string name_;
  TempTree tree_;
  std::vector<std::string> made_;
};

bool cgroupsUsable() {
  for (const auto controller : RealCgroups::kControllers)
    if (::access(fmt::format("/sys/fs/cgroup/{}/cgroup.procs", controller).c_str(), W_OK) != 0)
      return false;
  return true;
}

}  // namespace
}  // namespace koord::koordlet

int main(int argc, char** argv) {
  using namespace koord;
  log::setup({.program = "bench_koordlet", .quiet = true});
  rlimit files{};  // as koordlet itself does
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  const bench::Numbers node{{"pods", koordlet::kPods},
                            {"containers", koordlet::kPods * koordlet::kContainersPerPod}};
  std::vector<bench::Benchmark> benchmarks = {
      {"koordlet/files/v1", node,
       [](const auto&) { return koordlet::onFiles(koordlet::CgroupVersion::V1); }},
      {"koordlet/files/v2", node,
       [](const auto&) { return koordlet::onFiles(koordlet::CgroupVersion::V2); }},
  };
  if (koordlet::cgroupsUsable()) {
    benchmarks.push_back({"koordlet/cgroups/v1", node, [](const auto&) {
                            const koordlet::RealCgroups cgroups;
                            return koordlet::live(cgroups.dirs());
                          }});
  } else {
    fmt::print(
        stderr,
        "koordlet/cgroups/v1 left out: it needs root and cgroup v1 mounts in /sys/fs/cgroup\n");
  }
  return bench::runAll(argc, argv, benchmarks);
}
