#pragma once

// The nf_tables table "koordlet_network_qos", which puts packets into the classes of a TrafficPlan.
// Errors are those of netlink::Socket; an operation that fails changes nothing.

#include "koordlet/hooks/tcnetworkqos/traffic_plan.h"
#include "koordlet/netlink/netlink.h"

namespace koord::koordlet::packettable {

// Creates the table or replaces the existing one. `byNetCls`: the cgroup controller net_cls exists;
// it gives the class of processes in the host network.
Result<> replace(netlink::Socket& filter, const TrafficPlan& plan, bool byNetCls);
// Removes the table. Succeeds if it is absent.
Result<> remove(netlink::Socket& filter);
Result<bool> exists(netlink::Socket& filter);

}  // namespace koord::koordlet::packettable
