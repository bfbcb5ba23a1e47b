#pragma once

// The /etc/resolv.conf of a pod, from its dnsPolicy and dnsConfig, as kubelet writes it.

#include <optional>
#include <string>

#include "base/json.h"

namespace koord::cluster::services {

struct PodDns {
  std::string policy;  // "" is ClusterFirst
  json::value config;  // spec.dnsConfig, or null
  bool hostNetwork = false;
};

// nullopt: the host's file as it is. `host` is its text; `server` is the cluster IP of the
// cluster's DNS server, or "" without one.
std::optional<std::string> resolvConfOf(const PodDns& pod, const std::string& namespace_,
                                        const std::string& host, const std::string& server);

}  // namespace koord::cluster::services
