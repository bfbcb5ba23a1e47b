#include "cluster/controllers/endpoints/endpoint_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cluster/controllers/pod_control.h"
#include "model/pod_requests.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kMaxInSlice = 100;
constexpr std::size_t kMaxInEndpoints = 1000;

using services::Endpoint;
using services::EndpointPort;
using services::EndpointSlice;

// The number of a container's port by its name; nullopt if the pod has no such port.
std::optional<std::int32_t> namedPort(const api::Pod& pod, const std::string& name,
                                      const std::string& protocol) {
  const auto find = [&](const api::Container& container) -> std::optional<std::int32_t> {
    for (const auto& port : container.ports)
      if (port.name == name && services::protocolOf(port.protocol) == protocol)
        return port.containerPort;
    return std::nullopt;
  };
  for (const auto& container : pod.spec.containers)
    if (auto port = find(container)) return port;
  for (const auto& container : pod.spec.initContainers)
    if (model::isSidecar(container))
      if (auto port = find(container)) return port;
  return std::nullopt;
}

std::vector<EndpointPort> portsOf(const services::Service& service, const api::Pod& pod) {
  std::vector<EndpointPort> ports;
  for (const auto& port : service.spec.ports) {
    const std::string& protocol = services::protocolOf(port.protocol);
    std::optional<std::int32_t> number = port.port;
    if (port.targetPort && port.targetPort->isText)
      number = namedPort(pod, port.targetPort->text, protocol);
    else if (port.targetPort && port.targetPort->number != 0)
      number = port.targetPort->number;
    if (number) ports.push_back({port.name, protocol, number, port.appProtocol});
  }
  return ports;
}

bool isIpv6(std::string_view address) {
  return address.find(':') != std::string_view::npos;
}

// The pod's address in slices of IPv4; "" if it has none, as on a node that joined by IPv6.
std::string ipv4Of(const api::Pod& pod) {
  for (const auto& address : pod.status.podIPs)
    if (const std::string ip(address.ip); !ip.empty() && !isIpv6(ip)) return ip;
  const std::string ip = pod.status.podIP.str();
  return isIpv6(ip) ? std::string() : ip;
}

// Stays the same while other fields of the endpoint change. Pods of one host share its address;
// what users write may lack the uid.
std::string identityOf(const Endpoint& endpoint) {
  return (endpoint.targetRef ? endpoint.targetRef->uid : std::string()) + "/" +
         (endpoint.addresses.empty() ? std::string() : *endpoint.addresses.begin());
}

std::string sliceName(const services::Service& service, std::uint64_t number) {
  // FNV-1a, with the letters of generated names.
  std::uint64_t hash = 14695981039346656037ULL + number;
  for (const char c : service.metadata.uid.empty() ? service.metadata.name : service.metadata.uid)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < 5; ++i, hash /= kLetters.size())
    suffix += kLetters[static_cast<std::size_t>(hash % kLetters.size())];
  return service.metadata.name + "-" + suffix;
}

bool samePorts(const EndpointSlice& slice, const std::vector<EndpointPort>& ports) {
  return std::ranges::equal(slice.ports, ports);
}

class Slicing {
 public:
  Slicing(const services::Service& service,
          const std::vector<std::shared_ptr<const EndpointSlice>>& existing, const SliceKind& kind)
      : service_(service), existing_(existing), kind_(kind), number_(kind.firstName) {
    for (const auto& slice : existing_) names_.insert(slice->metadata.name);
    std::erase_if(existing_,
                  [&](const auto& slice) { return slice->addressType != kind_.addressType; });
    std::ranges::sort(existing_, {}, [](const auto& slice) { return slice->metadata.name; });
  }

  SlicePlan run(const EndpointGroups& groups) {
    for (const auto& [ports, endpoints] : groups) place(ports, endpoints);
    // Nothing selects an address: one empty slice says that the controller has looked.
    if (groups.empty() && kind_.emptyOne) place({}, {});
    for (const auto& slice : existing_)
      if (!kept_.contains(slice->metadata.name)) plan_.remove.push_back(*slice);
    return std::move(plan_);
  }

 private:
  void place(const std::vector<EndpointPort>& ports, const std::vector<Endpoint>& endpoints) {
    std::map<std::string, const Endpoint*> waiting;
    for (const auto& endpoint : endpoints) waiting.emplace(identityOf(endpoint), &endpoint);
    std::vector<std::pair<const EndpointSlice*, std::vector<Endpoint>>> slices;
    for (const auto& slice : existing_) {
      if (!samePorts(*slice, ports) || kept_.contains(slice->metadata.name)) continue;
      std::vector<Endpoint> stay;
      for (const auto& endpoint : slice->endpoints) {
        const auto wanted = waiting.find(identityOf(endpoint));
        if (wanted == waiting.end()) continue;
        stay.push_back(*wanted->second);
        waiting.erase(wanted);
      }
      slices.emplace_back(slice.get(), std::move(stay));
    }
    auto next = waiting.begin();
    for (auto& [slice, stay] : slices)
      for (; stay.size() < kMaxInSlice && next != waiting.end(); ++next)
        stay.push_back(*next->second);
    const bool placeholder = endpoints.empty();
    bool any = false;
    for (auto& [slice, stay] : slices) {
      if (stay.empty() && (!placeholder || any)) continue;  // removed
      any = true;
      kept_.insert(slice->metadata.name);
      if (std::ranges::equal(slice->endpoints, stay)) continue;
      EndpointSlice changed = *slice;
      changed.endpoints = api::List<Endpoint>(stay.begin(), stay.end());
      plan_.update.push_back(std::move(changed));
    }
    while (next != waiting.end() || (placeholder && !any)) {
      any = true;
      EndpointSlice slice;
      slice.metadata.name = freeName();
      slice.addressType = kind_.addressType;
      slice.ports = api::List<EndpointPort>(ports.begin(), ports.end());
      for (std::size_t i = 0; i < kMaxInSlice && next != waiting.end(); ++i, ++next)
        slice.endpoints.push_back(*next->second);
      plan_.create.push_back(std::move(slice));
    }
  }

  // The same name each time: a second create, by a controller that has not seen the result of the
  // first one yet, is refused.
  std::string freeName() {
    while (true) {
      std::string name = sliceName(service_, number_++);
      if (names_.insert(name).second) return name;
    }
  }

  const services::Service& service_;
  std::vector<std::shared_ptr<const EndpointSlice>> existing_;
  std::set<std::string> names_;
  std::set<std::string> kept_;
  const SliceKind kind_;
  std::uint64_t number_;
  SlicePlan plan_;
};

}  // namespace

EndpointGroups endpointGroups(const services::Service& service,
                              const std::vector<std::shared_ptr<const api::Pod>>& pods,
                              const std::map<std::string, std::string>& hostnames) {
  EndpointGroups groups;
  for (const auto& pod : pods) {
    const std::string ip = ipv4Of(*pod);
    if (api::isTerminal(*pod) || ip.empty()) continue;
    // Without one of the named ports a pod is an endpoint without ports.
    auto ports = portsOf(service, *pod);
    const bool terminating = bool(pod->metadata.deletionTimestamp);
    const bool serving = isReady(*pod);
    Endpoint endpoint;
    endpoint.addresses = {ip};
    endpoint.conditions = {service.spec.publishNotReadyAddresses || (serving && !terminating),
                           serving, terminating};
    if (const auto name = hostnames.find(pod->metadata.name); name != hostnames.end())
      endpoint.hostname = name->second;
    endpoint.targetRef =
        services::TargetRef{"Pod", pod->metadata.namespace_, pod->metadata.name, pod->metadata.uid};
    if (!pod->spec.nodeName.empty()) endpoint.nodeName = pod->spec.nodeName;
    groups[std::move(ports)].push_back(std::move(endpoint));
  }
  return groups;
}

EndpointGroups endpointGroups(const services::Endpoints& endpoints,
                              const std::string& addressType) {
  EndpointGroups groups;
  for (const auto& subset : endpoints.subsets) {
    std::vector<EndpointPort> ports(subset.ports.begin(), subset.ports.end());
    for (auto& port : ports) port.protocol = services::protocolOf(port.protocol);
    const auto add = [&](const services::EndpointAddress& address, bool ready) {
      if (isIpv6(address.ip) != (addressType == "IPv6")) return;
      Endpoint endpoint;
      endpoint.addresses = {address.ip};
      endpoint.conditions.ready = ready;
      endpoint.hostname = address.hostname;
      endpoint.targetRef = address.targetRef;
      endpoint.nodeName = address.nodeName;
      groups[ports].push_back(std::move(endpoint));
    };
    for (const auto& address : subset.addresses) add(address, true);
    for (const auto& address : subset.notReadyAddresses) add(address, false);
  }
  return groups;
}

SlicePlan planSlices(const services::Service& service, const EndpointGroups& groups,
                     const std::vector<std::shared_ptr<const EndpointSlice>>& existing,
                     const SliceKind& kind) {
  return Slicing(service, existing, kind).run(groups);
}

SubsetPlan planSubsets(const services::Service& service, const EndpointGroups& groups) {
  SubsetPlan plan;
  const auto listed = [&](const Endpoint& endpoint) {
    return !endpoint.conditions.terminating.value_or(false) ||
           service.spec.publishNotReadyAddresses;
  };
  // A pod without any of the service's ports is in slices only.
  const auto reachable = [&](const std::vector<EndpointPort>& ports) {
    return !ports.empty() || service.spec.ports.empty();
  };
  std::size_t ready = 0;
  for (const auto& [ports, endpoints] : groups)
    for (const auto& endpoint : endpoints)
      if (reachable(ports) && listed(endpoint) && endpoint.conditions.ready.value_or(true)) ++ready;
  std::size_t readyLeft = std::min(ready, kMaxInEndpoints);
  std::size_t othersLeft = kMaxInEndpoints - readyLeft;
  for (const auto& [ports, endpoints] : groups) {
    if (!reachable(ports)) continue;
    services::EndpointSubset subset;
    subset.ports = api::List<EndpointPort>(ports.begin(), ports.end());
    for (const auto& endpoint : endpoints) {
      if (!listed(endpoint)) continue;
      const bool isReadyOne = endpoint.conditions.ready.value_or(true);
      std::size_t& left = isReadyOne ? readyLeft : othersLeft;
      if (left == 0) {
        plan.truncated = true;
        continue;
      }
      --left;
      services::EndpointAddress address{*endpoint.addresses.begin(), endpoint.hostname,
                                        endpoint.nodeName, endpoint.targetRef};
      (isReadyOne ? subset.addresses : subset.notReadyAddresses).push_back(std::move(address));
    }
    if (!subset.addresses.empty() || !subset.notReadyAddresses.empty())
      plan.subsets.push_back(std::move(subset));
  }
  return plan;
}

}  // namespace koord::cluster
