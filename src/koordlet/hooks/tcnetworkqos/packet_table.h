#pragma once

// The nf_tables table "koordlet_network_qos", which puts packets into the classes of a TrafficPlan. Errors are those of
// netlink::Socket; an operation that fails changes nothing.

#include "koordlet/hooks/tcnetworkqos/traffic_plan.h"
#include "koordlet/netlink/netlink.h"

namespace koord::koordlet::packettable {

// Makes the table, in place of the one that may be there. `byNetCls`: the cgroup controller net_cls exists, and processes
// in the node's network are of the class that their cgroup has there.
Result<> replace(netlink::Socket& filter, const TrafficPlan& plan, bool byNetCls);
// Removes the table; not an error when it is absent.
Result<> remove(netlink::Socket& filter);
Result<bool> exists(netlink::Socket& filter);

}  // namespace koord::koordlet::packettable
