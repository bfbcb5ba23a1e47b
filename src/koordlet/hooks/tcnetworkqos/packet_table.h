#pragma once

// The nf_tables messages that make, replace and remove the table "koordlet_network_qos".

#include "koordlet/hooks/tcnetworkqos/traffic_plan.h"
#include "koordlet/netlink/netlink.h"

namespace koord::koordlet::packettable {

// One transaction: whatever the table had is replaced. `byNetCls`: there is that controller, and what processes in
// the node's network send is of the class that their cgroup says there.
std::vector<netlink::Message> replace(const TrafficPlan& plan, bool byNetCls);
std::vector<netlink::Message> remove();
// Asks for the table; NotFound when it is not there.
netlink::Message ask();

}  // namespace koord::koordlet::packettable
