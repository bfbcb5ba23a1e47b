#pragma once

// The names of a cluster in DNS, by the specification of github.com/kubernetes/dns: services, their
// ports (SRV), the endpoints of headless services, and the reverse names of cluster IPs. Immutable,
// so that the DNS server's thread can read it.

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cluster/services/proxy/rules.h"
#include "net/dns/message.h"

namespace koord::cluster::services {

inline constexpr const char* kClusterDomain = "cluster.local";

class ServiceNames {
 public:
  ServiceNames() = default;
  ServiceNames(const std::vector<ServicePtr>& services, const std::vector<SlicePtr>& slices);

  // nullopt: the name is not in the cluster's zone.
  std::optional<net::dns::Answer> answer(const net::dns::Question& question) const;

 private:
  // What each name has already, while the names are collected.
  using Seen = std::unordered_set<std::string>;

  void add(const Service& service);
  void addEndpoints(const Service& service, const EndpointSlice& slice, Seen& seen);
  // The answer of a name; the names above it exist from now on.
  net::dns::Answer& at(const std::string& name);

  std::unordered_map<std::string, net::dns::Answer> answers_;
};

}  // namespace koord::cluster::services
