#pragma once

// What the service proxy does, as data: the addresses under which a service answers on this host,
// and the endpoints behind them. And the same as a table of nftables.
//
// Connections are translated where they begin: in the output hook, since all pods of the host node
// and all other clients have the host's network. Nothing listens, so a service and a pod may use
// the same port, and nothing is reachable from other hosts.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/services/objects/objects.h"

namespace koord::cluster::services {

using ServicePtr = std::shared_ptr<const Service>;
using SlicePtr = std::shared_ptr<const EndpointSlice>;

struct AddressPort {
  std::string ip;  // IPv4
  std::int32_t port = 0;
  auto operator<=>(const AddressPort&) const = default;
};

bool isIpv4(const std::string& text);
// Returns true for an address of 10.96.0.0/12. An address elsewhere belongs to another host, or to
// this one: a service that had it would take over connections of all programs.
bool isClusterIp(const std::string& text);

// One port of one service.
struct ServiceRule {
  std::string service;              // "namespace/name:port", for the log
  std::string protocol;             // tcp, udp
  std::vector<AddressPort> fronts;  // cluster IP, node port, load balancer
  std::vector<AddressPort> backends;
  bool sticky = false;  // sessionAffinity: ClientIP
  bool operator==(const ServiceRule&) const = default;
};

// The rules in the order of the services' names. `nodes`: this host and those that joined;
// endpoints on other nodes are simulated, nothing answers there. Ready endpoints are used; if there
// are none, those that still serve while they terminate. An address and port of two services
// belongs to the first.
//
// Packets from 127.0.0.0/8 do not leave a host, so node ports and load balancers lead to endpoints
// on this host only; a port then has two rules.
std::vector<ServiceRule> rulesOf(std::vector<ServicePtr> services,
                                 const std::vector<SlicePtr>& slices,
                                 const std::set<std::string>& nodes, const std::string& nodeIp);

// The loopback address of a service of type LoadBalancer: 127.b.c.d for the cluster IP a.b.c.d. ""
// for other services, and for those of another class of load balancers.
std::string loadBalancerIp(const Service& service);

// Commands that replace the table `table` by one with these rules, in one transaction. Addresses of
// `device` without a service, and services without endpoints, refuse connections. Services with one
// endpoint are elements of a map, since the kernel takes a millisecond for each chain.
std::string tableText(const std::vector<ServiceRule>& rules, const std::string& table,
                      const std::string& device);

}  // namespace koord::cluster::services
