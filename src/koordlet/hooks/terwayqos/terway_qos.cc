#include "koordlet/hooks/terwayqos/terway_qos.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr const char* kNodeFile = "global_bps_config";
constexpr const char* kPodFile = "pod.json";
constexpr std::string_view kPolicy = "terway-qos";  // of netQOSPolicy

std::int64_t bytes(const std::optional<std::int64_t>& bits) {
  return bits.value_or(0) / 8;
}

}  // namespace

std::string terwayNodeText(const NodeBandwidth& bandwidth) {
  std::string text = fmt::format("hw_tx_bps_max {0}\nhw_rx_bps_max {0}\n", bandwidth.total / 8);
  const auto add = [&](int level, const Bandwidth& one) {
    text += fmt::format(
        "offline_l{0}_tx_bps_min {1}\noffline_l{0}_tx_bps_max {2}\n"
        "offline_l{0}_rx_bps_min {3}\noffline_l{0}_rx_bps_max {4}\n",
        level, bytes(one.egressMin), bytes(one.egressMax), bytes(one.ingressMin),
        bytes(one.ingressMax));
  };
  add(1, bandwidth.ls);
  add(2, bandwidth.be);
  return text;
}

json::object terwayPod(const PodView& pod, std::int64_t total) {
  const PodBandwidth limits = podBandwidth(pod, total).value_or(PodBandwidth{});
  const auto& metadata = pod.pod->metadata;
  return {{"podName", metadata.name},
          {"podNamespace", metadata.namespace_},
          {"podUID", metadata.uid},
          {"prio", networkLevel(pod)},
          {"cgroupDir", joinPath("/sys/fs/cgroup/net_cls", pod.dir)},
          {"qosConfig", json::object{{"ingressBandwidth", limits.ingress / 8},
                                     {"egressBandwidth", limits.egress / 8}}}};
}

TerwayQosHook::TerwayQosHook(std::string directory, ResourceExecutor& executor)
    : directory_(withSlash(std::move(directory))), executor_(executor) {}

void TerwayQosHook::write(const std::string& file, const std::string& text) {
  const std::string path = directory_ + file;
  Result<> done;
  if (pathExists(path)) {
    const auto updated = executor_.updateFile({path, text, "netqos reconcile"});
    if (!updated) done = fail(updated.error());
  } else {
    executor_.forgetFile(path);
    done = makeDirs(directory_, 0755);
    if (done) done = replaceFile(path, text);
  }
  const std::string problem = done ? "" : done.error().message;
  if (!problem.empty() && problem != problem_)
    log::warn("terway: {}; its agent keeps the last files", problem);
  problem_ = problem;
}

void TerwayQosHook::prepare(const States& states, HookUpdates&) {
  if (!states.slo()) return;
  if (!usesNetPolicy(*states.slo(), kPolicy)) {
    for (const auto* file : {kNodeFile, kPodFile}) ::unlink((directory_ + file).c_str());
    return;
  }
  const NodeBandwidth bandwidth = nodeBandwidth(*states.slo());
  json::object pods;
  for (const auto& pod : states.pods())
    if (pod.active()) pods[pod.uid()] = terwayPod(pod, bandwidth.total);
  write(kNodeFile, terwayNodeText(bandwidth));
  write(kPodFile, toJson(pods));
}

}  // namespace koord::koordlet
