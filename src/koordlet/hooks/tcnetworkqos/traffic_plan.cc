#include "koordlet/hooks/tcnetworkqos/traffic_plan.h"

#include <algorithm>
#include <set>

// Class 1:1 is for all traffic and has the node's whole bandwidth. Below it are three classes: 1:2
// for the system and all traffic without a pod, 1:3 for LS pods, 1:4 for BE pods. The guaranteed
// rates of LS and BE are NodeSLO's requests, their ceilings its limits, or everything without a
// limit; the system's guaranteed rate is the rest. A pod with a limit (annotation
// koordinator.sh/networkQOS) has its own class below 1:1.
//
// A token bucket needs a rate: a class without a guaranteed rate gets kMinRate and can borrow more.
// Rules: TCNetworkQoS of upstream's koordlet, which converts bits to bytes twice for pods.

namespace koord::koordlet {
namespace {

constexpr std::uint64_t kMinRate = 8'000;  // bit/s

std::uint64_t promised(const std::optional<std::int64_t>& bits) {
  return bits ? static_cast<std::uint64_t>(*bits) : 0;
}

TrafficClass classOf(std::uint32_t minor, const Bandwidth& bandwidth, std::uint64_t total,
                     std::uint32_t prio) {
  const std::uint64_t limit = promised(bandwidth.egressMax);
  const std::uint64_t ceil = std::max(limit > 0 ? std::min(limit, total) : total, kMinRate);
  return {minor, kAllTraffic, std::clamp(promised(bandwidth.egressMin), kMinRate, ceil), ceil,
          prio};
}

}  // namespace

std::uint32_t TrafficNumbers::of(const std::string& uid) {
  if (const auto known = numbers_.find(uid); known != numbers_.end()) return known->second;
  std::set<std::uint32_t> taken;
  for (const auto& [pod, number] : numbers_) taken.insert(number);
  std::uint32_t free = kFirstPodTraffic;
  for (const std::uint32_t number : taken)
    if (number == free) ++free;
  if (free > kLastPodTraffic) return 0;
  numbers_.emplace(uid, free);
  return free;
}

void TrafficNumbers::keepOnly(std::span<const std::string> uids) {
  const std::set<std::string_view> kept(uids.begin(), uids.end());
  std::erase_if(numbers_, [&](const auto& entry) { return !kept.contains(entry.first); });
}

TrafficPlan planTraffic(const NodeBandwidth& bandwidth, std::span<const PodView> pods,
                        TrafficNumbers& numbers) {
  TrafficPlan plan;
  if (bandwidth.total <= 0) return plan;
  const auto total = std::max(static_cast<std::uint64_t>(bandwidth.total), kMinRate);
  const std::uint64_t others = promised(bandwidth.ls.egressMin) + promised(bandwidth.be.egressMin);
  plan.classes = {{kAllTraffic, 0, total, total, 0},
                  {kSystemTraffic, kAllTraffic,
                   std::max(total > others ? total - others : 0, kMinRate), total, 1},
                  classOf(kLsTraffic, bandwidth.ls, total, 2),
                  classOf(kBeTraffic, bandwidth.be, total, 3)};
  std::vector<std::string> limited;
  for (const auto& pod : pods)
    if (pod.active() && podBandwidth(pod, bandwidth.total).value_or(PodBandwidth{}).egress > 0)
      limited.push_back(pod.uid());
  numbers.keepOnly(limited);
  for (const auto& pod : pods) {
    if (!pod.active()) continue;
    const auto level = static_cast<std::uint32_t>(networkLevel(pod));
    std::uint32_t minor = kSystemTraffic + level;
    const auto own = podBandwidth(pod, bandwidth.total).value_or(PodBandwidth{}).egress;
    if (const std::uint32_t number = own > 0 ? numbers.of(pod.uid()) : 0; number != 0) {
      minor = number;
      const auto limit = std::max(static_cast<std::uint64_t>(own), kMinRate);
      plan.classes.push_back({minor, kAllTraffic, limit, limit, level + 1});
    }
    plan.pods[pod.uid()] = minor;
    // The address of a pod in the host network is the node's.
    if (pod.pod->spec.hostNetwork) continue;
    if (!pod.pod->status.podIP.empty()) plan.addresses[std::string(pod.pod->status.podIP)] = minor;
    for (const auto& address : pod.pod->status.podIPs)
      if (!address.ip.empty()) plan.addresses[std::string(address.ip)] = minor;
  }
  std::ranges::sort(plan.classes, {}, &TrafficClass::minor);
  return plan;
}

}  // namespace koord::koordlet
