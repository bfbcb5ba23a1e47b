#pragma once

// Applies a TrafficPlan to the kernel: an HTB qdisc 1: with its classes on the interface of the
// default route, and koordlet's nf_tables table "koordlet_network_qos", which sets packets'
// priorities to their classes: for pods by address, before masquerading, for processes in the host
// network by cgroup. Both are read back and repaired; a plan without classes removes them.
//
// A qdisc of another program, which has a handle unlike the kernel's default, is never replaced.

#include "koordlet/hooks/tcnetworkqos/traffic_plan.h"
#include "koordlet/netlink/netlink.h"

namespace koord::koordlet {

class TrafficControl {
 public:
  // Works in the network namespace of the calling thread.
  static Result<TrafficControl> open();

  // `byNetCls`: the cgroup controller net_cls exists. An error says what the kernel refused; the
  // changes made before stay, and the next call continues.
  Result<> apply(const TrafficPlan& plan, bool byNetCls);
  // The interface that is shaped; "" before the first plan with classes.
  const std::string& interface() const { return interface_; }

  // A class as it is in the kernel now, and the bytes that it has sent.
  struct Counted {
    TrafficClass held;
    std::uint64_t bytes = 0;
  };
  // The kernel's classes on the interface, by minor.
  Result<std::map<std::uint32_t, Counted>> classes();

 private:
  TrafficControl(netlink::Socket route, netlink::Socket filter)
      : route_(std::move(route)), filter_(std::move(filter)) {}
  Result<> findInterface();
  // Returns true if the root qdisc is koordlet's. Fails if it belongs to another program.
  Result<bool> hasQdisc();
  Result<> makeQdisc();
  Result<> setClass(const TrafficClass& wanted);
  Result<> removeClass(std::uint32_t minor);
  Result<> applyClasses(const std::vector<TrafficClass>& wanted);
  Result<> applyTable(const TrafficPlan& plan, bool byNetCls);
  Result<> remove();

  netlink::Socket route_, filter_;
  std::string interface_;
  int index_ = 0;
  std::optional<TrafficPlan> installedPlan_;  // the plan whose addresses and cgroups the table has
  bool reportedCgroups_ = false;              // logged that this kernel cannot classify by cgroup
};

}  // namespace koord::koordlet
