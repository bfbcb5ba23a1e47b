#include "koordlet/topology/topology_reporter.h"

#include "base/log.h"
#include "koordlet/system/procfs.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kCompareAnyway = 1min;
// A refusal may be a webhook of kubelet's that does not reach the API server.
constexpr Duration kPatience = 1min;
constexpr api::ResourceType kTopologyType{"topology.node.k8s.io", "v1alpha1",
                                          "noderesourcetopologies", "NodeResourceTopology", false};

}  // namespace

TopologyReporter::TopologyReporter(kube::Api& api, Executor& executor, const Host& host,
                                   const States& states, KubeletConfigSource* kubelet,
                                   Options options)
    : api_(api),
      executor_(executor),
      host_(host),
      states_(states),
      kubelet_(kubelet),
      options_(std::move(options)),
      manager_(host.dirs) {}

void TopologyReporter::start() {
  if (options_.interval > Duration::zero()) tasks_.spawn(loop());
}

Task<Result<>> TopologyReporter::write(NodeTopology wanted, std::shared_ptr<const api::Node> node) {
  json::value whole = newTopologyObject(wanted, *node);
  const SteadyTime now = executor_.steadyNow();
  if (reported_ && *reported_ == whole && now - compared_ < kCompareAnyway) co_return Result<>{};
  const api::ObjectKey key{"", options_.nodeName};
  auto getting = kube::getObject(api_, kTopologyType, key);
  const auto existing = co_await getting;
  if (!existing && existing.error().code != ErrorCode::NotFound) co_return fail(existing.error());
  if (!existing) {
    auto creating = kube::createObject(api_, kTopologyType, key, whole);
    const auto created = co_await creating;
    if (!created) co_return fail(created.error());
  } else if (json::value patch = topologyPatch(wanted, *existing); !patch.is_null()) {
    auto patching = kube::mergePatch(api_, kTopologyType, key, std::move(patch));
    const auto patched = co_await patching;
    if (!patched) co_return fail(patched.error());
  }
  reported_ = std::move(whole);
  compared_ = now;
  co_return Result<>{};
}

Task<Result<>> TopologyReporter::refreshKubelet(const api::Node& node) {
  const SteadyTime now = executor_.steadyNow();
  if (!kubelet_ || (configAt_ && now - *configAt_ < kCompareAnyway)) co_return Result<>{};
  auto asking = kubelet_->config(node);
  const auto answer = co_await asking;
  if (answer) {
    auto config = kubeletCpuConfigOf(*answer);
    if (!config) co_return fail(config.error());
    config_ = *std::move(config);
    refusedSince_.reset();
  } else if (!config_ && answer.error().code != ErrorCode::NotFound && !refuses(answer.error())) {
    co_return fail(answer.error());
  }
  configAt_ = now;
  co_return Result<>{};
}

bool TopologyReporter::refuses(const Error& error) {
  if (error.code != ErrorCode::Unauthorized && error.code != ErrorCode::Forbidden) return false;
  const SteadyTime now = executor_.steadyNow();
  if (!refusedSince_) refusedSince_ = now;
  if (now - *refusedSince_ < kPatience) return false;
  if (!configAt_)
    log::warn(
        "kubelet does not serve its configuration, NodeResourceTopology {} uses the state file of "
        "its CPU manager: {}",
        options_.nodeName, error.message);
  return true;
}

Task<Result<>> TopologyReporter::report() {
  const auto node = states_.node();
  if (!node || !states_.podsSynced() || !host_.topology)
    co_return fail(ErrorCode::Unavailable, "the node, pods or CPUs are not known yet");
  auto refreshing = refreshKubelet(*node);
  const auto refreshed = co_await refreshing;
  if (!refreshed) co_return fail(refreshed.error());
  if (auto read = manager_.refresh(); !read) co_return fail(std::move(read.error()));
  const CpuManagerState& state = manager_.state();
  auto memory = readZoneMemory(host_.dirs);
  if (!memory) co_return fail(memory.error());
  auto config = config_;
  if (refusedSince_) config.emplace().cpuManagerPolicy = state.policy;
  Sources sources{node,
                  states_.versions().pods,
                  std::move(config),
                  state,
                  host_.topology->cpus,
                  *std::move(memory),
                  readCpuBasicInfo(host_.dirs)};
  if (sources == reportedFrom_ && executor_.steadyNow() - compared_ < kCompareAnyway)
    co_return Result<>{};
  auto wanted = nodeTopology({*node, *host_.topology, sources.basic, sources.config, sources.state,
                              states_.pods(), sources.memory, options_.hugePages});
  if (!wanted) co_return fail(wanted.error());
  reportedFrom_.reset();
  auto writing = write(*std::move(wanted), node);
  auto written = co_await writing;
  if (written) reportedFrom_ = std::move(sources);
  co_return written;
}

Task<void> TopologyReporter::loop() {
  for (;;) {
    auto reporting = report();
    const auto reported = co_await reporting;
    std::string problem = reported ? "" : reported.error().message;
    if (!problem.empty() && problem != problem_ && states_.podsSynced())
      log::warn("NodeResourceTopology {} not reported: {}", options_.nodeName, problem);
    problem_ = std::move(problem);
    auto pause = sleepFor(executor_, options_.interval);
    co_await pause;
  }
}

}  // namespace koord::koordlet
