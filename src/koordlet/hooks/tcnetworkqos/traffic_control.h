#pragma once

// Brings the kernel to a TrafficPlan: an HTB qdisc 1: with its classes on the interface of the default route, and
// an nf_tables table of our own, "koordlet_network_qos", that puts packets into classes by their priority: those of
// pods by their address, before it is masqueraded, those of processes in the node's network by their
// cgroup. Both are read back and mended; a plan without classes takes them away.
//
// A qdisc that somebody made (it has a handle, which the kernel's own choice has not) is never replaced.

#include "koordlet/hooks/tcnetworkqos/traffic_plan.h"
#include "koordlet/netlink/netlink.h"

namespace koord::koordlet {

class TrafficControl {
 public:
  // In the network namespace of the calling thread.
  static Result<TrafficControl> open();

  // `byNetCls`: that controller is there. An error says what the kernel refused; what is done stays, and the next call
  // carries on.
  Result<> apply(const TrafficPlan& plan, bool byNetCls);
  // The interface that is shaped; "" before the first plan with classes.
  const std::string& interface() const { return interface_; }

  // What is in the kernel now, for one class: nullopt when it is not there.
  struct Counted {
    TrafficClass held;
    std::uint64_t bytes = 0;
  };
  Result<std::map<std::uint32_t, Counted>> classes();

 private:
  TrafficControl(netlink::Socket route, netlink::Socket filter)
      : route_(std::move(route)), filter_(std::move(filter)) {}
  Result<> findInterface();
  // Whether the root qdisc is ours; an error when it is somebody else's.
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
  std::optional<TrafficPlan> inTable_;  // the plan whose addresses and cgroups the table has
  bool toldOfCgroups_ = false;          // that this kernel cannot tell them
};

}  // namespace koord::koordlet
