#pragma once

// The limits of a node's egress traffic: classes of a hierarchical token bucket, and the class of
// each pod's packets. Rates are in bits per second.

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "koordlet/states/bandwidth.h"

namespace koord::koordlet {

// Class 1:<minor>. It gets `rate` in any case and borrows up to `ceil` from other classes. Classes
// with a smaller `prio` borrow first.
struct TrafficClass {
  std::uint32_t minor = 0;
  std::uint32_t parent = 0;  // 0: the qdisc itself
  std::uint64_t rate = 0;
  std::uint64_t ceil = 0;
  std::uint32_t prio = 0;
  bool operator==(const TrafficClass&) const = default;
};

inline constexpr std::uint32_t kAllTraffic = 1, kSystemTraffic = 2, kLsTraffic = 3, kBeTraffic = 4;
inline constexpr std::uint32_t kFirstPodTraffic = 0x100, kLastPodTraffic = 0xfff0;
// The id of class 1:<minor> in the kernel's form, for net_cls.classid and a packet's priority.
constexpr std::uint32_t trafficId(std::uint32_t minor) {
  return 0x10000 | minor;
}

struct TrafficPlan {
  std::vector<TrafficClass> classes;               // parents first; empty: nothing is shaped
  std::map<std::string, std::uint32_t> addresses;  // minor, by the pods' IP addresses as text
  std::map<std::string, std::uint32_t> pods;       // minor, by uid
  // For pods in the host network, on cgroup version 2: by the cgroup's id; `level` is its depth.
  struct OfCgroup {
    int level = 0;
    std::uint32_t minor = 0;
    bool operator==(const OfCgroup&) const = default;
  };
  std::map<std::uint64_t, OfCgroup> cgroups;
  bool operator==(const TrafficPlan&) const = default;
};

// The minor numbers of single pods' classes. A pod keeps its number until keepOnly() drops it.
class TrafficNumbers {
 public:
  // The pod's number, a new one if it has none; 0 if all numbers are taken.
  std::uint32_t of(const std::string& uid);
  // Drops the numbers of all other pods.
  void keepOnly(std::span<const std::string> uids);

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

// The plan for these pods; without classes if the node's bandwidth is not known.
TrafficPlan planTraffic(const NodeBandwidth& bandwidth, std::span<const PodView> pods,
                        TrafficNumbers& numbers);

}  // namespace koord::koordlet
