// GPUs: the whole scheduler (queue, plugins, binding) places pods that ask for whole GPUs and for
// parts of them on nodes with eight, on an API that binds at once.
//
//   Devices/...   pods placed a second, while there is room.
//   Filling/...   pods come until no more fits: how much of the GPUs' memory is given then, in
//                 bytes, what part of the rest lies on GPUs that are shared, where no whole request
//                 can have it, and how many GPUs were given out beyond what they have. AsUpstream
//                 chooses devices as upstream does, among the nodes that we would choose from;
//                 InPercent has no pods that ask for bytes, which upstream rounds down to percent
//                 and we round up.

#include <fmt/format.h>

#include "base/virtual_loop.h"
#include "bench.h"
#include "model/well_known.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/deviceshare/devices/allocation.h"
#include "scheduler/plugins/deviceshare/devices/machine.h"
#include "scheduler/plugins/deviceshare/plugin.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/builders.h"

namespace {

using namespace koord;             // NOLINT: a program of its own
using namespace koord::scheduler;  // NOLINT
using bench::Numbers;
using scheduler::testing::aNode;
using scheduler::testing::aPod;
using scheduler::testing::DeviceMachine;
using scheduler::testing::NodeBuilder;

constexpr const char* kProfile = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: DeviceShare}]}}
)";
constexpr const char* kPacking = R"(  pluginConfig:
  - name: DeviceShare
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: koordinator.sh/gpu-memory-ratio, weight: 1}]}}
)";

class InstantBinder final : public Plugin, public BindPlugin {
 public:
  explicit InstantBinder(std::function<void(std::shared_ptr<const api::Pod>, api::Pod)> bound)
      : bound_(std::move(bound)) {}
  std::string_view name() const override { return "DefaultBinder"; }
  bool writesAnnotations() const override { return true; }
  Task<Status> bind(CycleState& state, PodPtr pod, std::string nodeName) override {
    api::Pod after = *pod->pod;
    for (const auto& [key, value] : state.annotations()) after.metadata.annotations[key] = value;
    after.spec.nodeName = nodeName;
    after.metadata.resourceVersion = "2";
    bound_(pod->pod, std::move(after));
    co_return Status{};
  }

 private:
  std::function<void(std::shared_ptr<const api::Pod>, api::Pod)> bound_;
};

std::string nodeName(int n) {
  return fmt::format("node-{}", n);
}

// Twenty classes: half of the pods take whole GPUs, up to `most`, the others parts of one.
std::shared_ptr<const api::Pod> pod(int n, int most, bool inPercent = false) {
  static constexpr int kWhole[] = {1, 1, 1, 2, 2, 2, 4, 4, 8, 1};
  const int c = n % 20;
  auto builder = aPod(fmt::format("pod-{}", n));
  builder.request("cpu", fmt::format("{}m", 500 + 100 * c)).request("memory", "2Gi");
  if (c % 2 == 0) {
    builder.request("nvidia.com/gpu", std::to_string(std::min(kWhole[c / 2], most)));
  } else if (c % 4 == 1 || inPercent) {
    builder.request("koordinator.sh/gpu", std::to_string(10 + 8 * (c / 2)));
  } else {
    builder.request("koordinator.sh/gpu-memory", fmt::format("{}Gi", 1 + c / 2));
  }
  return builder.build();
}

struct Bed {
  VirtualLoop loop;
  Registry registry = makeRegistry();
  std::unique_ptr<Scheduler> scheduler;
  std::vector<std::pair<std::shared_ptr<const api::Pod>, std::shared_ptr<const api::Pod>>> fresh;
  std::size_t bound = 0;

  Bed(int nodes, DeviceRules rules, bool packing) {
    registry["DefaultBinder"] = [this](Fields&, Handle&) -> std::unique_ptr<Plugin> {
      return std::make_unique<InstantBinder>([this](std::shared_ptr<const api::Pod> before,
                                                    api::Pod after) {
        fresh.emplace_back(std::move(before), std::make_shared<const api::Pod>(std::move(after)));
        ++bound;
      });
    };
    registry["DeviceShare"] = [rules](Fields& args, Handle& handle) -> std::unique_ptr<Plugin> {
      const DeviceShareArgs read = DeviceShareArgs::read(args);
      return std::make_unique<DeviceShare>(handle, read, rules);
    };
    SchedulerOptions options;
    options.configuration =
        parseConfiguration(std::string(kProfile) + (packing ? kPacking : "")).value();
    scheduler = Scheduler::create(std::move(options), registry, loop, nullptr).value();
    auto& devices = scheduler->stores().of<api::Device>();
    for (int n = 0; n < nodes; ++n) {
      NodeBuilder node = aNode(nodeName(n));
      node.allocatable("cpu", "192").allocatable("memory", "1Ti").allocatable("pods", "200");
      node.allocatable("nvidia.com/gpu", "8").allocatable("koordinator.sh/gpu", "800");
      node.allocatable("koordinator.sh/gpu-memory", "128Gi");
      scheduler->nodeAdded(node.build());
      api::Device device = DeviceMachine::eightGpus().device;
      device.metadata.name = nodeName(n);
      devices.set(std::make_shared<const api::Device>(std::move(device)));
    }
    scheduler->start();
    loop.runReady();
  }
  void confirm() {
    for (const auto& [before, after] : std::exchange(fresh, {}))
      scheduler->podUpdated(before, after);
    loop.advance(std::chrono::milliseconds(1));
    loop.runReady();
  }
};

Numbers place(const Numbers& params) {
  Bed bed(static_cast<int>(params.at("nodes")), DeviceRules::Ours, false);
  std::vector<std::shared_ptr<const api::Pod>> pods;
  for (int n = 0; n < params.at("pods"); ++n) pods.push_back(pod(n, 4));
  const double cpu = bench::cpuSeconds();
  const bench::Stopwatch all;
  for (const auto& each : pods) bed.scheduler->podAdded(each);
  for (std::size_t before = ~std::size_t{0}; before != bed.bound && bed.bound < pods.size();) {
    before = bed.bound;
    bed.confirm();
  }
  const auto count = static_cast<double>(bed.bound);
  return {{"placed", count},
          {"pods_per_second", count / all.seconds()},
          {"cpu_ms_per_pod", 1000 * (bench::cpuSeconds() - cpu) / count},
          {"peak_rss_mib", bench::peakRssMib()}};
}

Numbers fill(const Numbers& params, DeviceRules rules, bool packing) {
  const bool inPercent = params.contains("in_percent");
  const int nodes = static_cast<int>(params.at("nodes"));
  Bed bed(nodes, rules, packing);
  for (int n = 0; n < params.at("pods"); ++n) {
    bed.scheduler->podAdded(pod(n, 8, inPercent));
    if (n % 512 == 511) bed.confirm();
  }
  for (std::size_t before = ~std::size_t{0}; before != bed.bound;) {
    before = bed.bound;
    for (int i = 0; i < 3; ++i) bed.confirm();
  }
  constexpr double kGpu = 16.0 * (1 << 30);  // bytes
  double used = 0, free = 0, shared = 0, annotated = 0;
  int beyond = 0;
  for (int n = 0; n < nodes; ++n) {
    const Cluster& cluster = bed.scheduler->cluster();
    std::map<int, double> bytes, percent;
    for (const PodPtr& each : cluster.node(*cluster.findNode(nodeName(n))).pods) {
      const auto& annotations = each->pod->metadata.annotations;
      const auto* text = api::findIn(annotations, model::kAnnotationDeviceAllocated);
      const auto given = text ? parseAllocatedDevices(*text) : Result<AllocatedDevices>();
      if (!given) continue;
      for (const AllocatedDevice& gpu : scheduler::at(*given, DeviceType::Gpu)) {
        bytes[gpu.minor] += static_cast<double>(gpu.amounts[DeviceResource::GpuMemory]);
        percent[gpu.minor] += static_cast<double>(gpu.amounts[DeviceResource::GpuMemoryRatio]);
      }
    }
    for (int minor = 0; minor < 8; ++minor) {
      const double taken = std::min(bytes[minor] / kGpu, 1.0);
      beyond += bytes[minor] > kGpu ? 1 : 0;
      annotated += std::min(percent[minor], 100.0) / 100;
      used += taken;
      free += 1 - taken;
      if (taken > 0) shared += 1 - taken;
    }
  }
  return {{"memory_used_percent", 100 * used / (used + free)},
          {"memory_used_percent_as_annotated", 100 * annotated / (used + free)},
          {"gpus_with_more_than_they_have", static_cast<double>(beyond)},
          {"pods", static_cast<double>(bed.bound)},
          {"free_on_shared_percent", free == 0 ? 0 : 100 * shared / free},
          {"free_gpus", free}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Benchmark> all;
  all.push_back({"Devices/2000Nodes_6000Pods", {{"nodes", 2000}, {"pods", 6000}}, place});
  for (const bool packing : {false, true}) {
    for (const bool inPercent : {false, true}) {
      Numbers params{{"nodes", 500}, {"pods", 5000}};
      if (inPercent) params["in_percent"] = 1;
      for (const auto rules : {DeviceRules::Ours, DeviceRules::AsUpstream}) {
        all.push_back({fmt::format("Filling{}{}/500Nodes{}", packing ? "Packing" : "",
                                   inPercent ? "InPercent" : "",
                                   rules == DeviceRules::Ours ? "" : "_AsUpstream"),
                       params, [rules, packing](const Numbers& given) {
                         return fill(given, rules, packing);
                       }});
      }
    }
  }
  return bench::runAll(argc, argv, all);
}
