#include "cluster/services/proxy/rules.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "cluster/services/proxy/service_device.h"

namespace koord::cluster::services {

namespace {

std::string keyOf(const std::string& namespace_, const std::string& name) {
  return namespace_ + "/" + name;
}

// "" for a protocol that is not translated, such as SCTP.
std::string ruleProtocol(const std::string& protocol) {
  const auto& name = protocolOf(protocol);
  return name == "TCP" ? "tcp" : name == "UDP" ? "udp" : "";
}

constexpr const char* kServiceRange = "10.96.0.0/12";
constexpr std::uint32_t kServiceNetwork = 10U << 24 | 96U << 16;
constexpr std::uint32_t kServiceMask = 0xfff00000;

bool isPort(std::int32_t number) {
  return number > 0 && number <= 65535;
}

bool isLoopback(const std::string& ip) {
  return ip.starts_with("127.");
}

// The address as a number of this host; nullopt if it is none. A text with a zero byte is none: the
// commands for nft would end there.
std::optional<std::uint32_t> numberOf(const std::string& text) {
  in_addr address{};
  if (text.find('\0') != std::string::npos || ::inet_pton(AF_INET, text.c_str(), &address) != 1)
    return std::nullopt;
  return ntohl(address.s_addr);
}

struct Backends {
  std::set<AddressPort> ready;
  std::set<AddressPort> terminating;  // but serving
};

// The endpoints of a service by the name of its port.
using PortBackends = std::map<std::string, Backends>;

void addSlice(const EndpointSlice& slice, const std::set<std::string>& nodes,
              PortBackends& backends) {
  if (slice.addressType != "IPv4") return;
  for (const auto& endpoint : slice.endpoints) {
    if (endpoint.nodeName && !nodes.contains(*endpoint.nodeName)) continue;
    if (endpoint.addresses.empty() || !isIpv4(*endpoint.addresses.begin())) continue;
    const auto& conditions = endpoint.conditions;
    const bool ready = conditions.ready.value_or(true);
    if (!ready && !(conditions.serving.value_or(false) && conditions.terminating.value_or(false)))
      continue;
    for (const auto& port : slice.ports) {
      if (!port.port || !isPort(*port.port)) continue;
      auto& known = backends[port.name];
      (ready ? known.ready : known.terminating).insert({*endpoint.addresses.begin(), *port.port});
    }
  }
}

// "10.96.0.1 . tcp . 443"
std::string element(const AddressPort& front, const std::string& protocol) {
  return fmt::format("{} . {} . {}", front.ip, protocol, front.port);
}

std::string vmap(const std::vector<std::string>& elements) {
  if (elements.empty()) return {};
  return fmt::format("    ip daddr . meta l4proto . th dport vmap {{ {} }}\n",
                     fmt::join(elements, ", "));
}

// Of a service with several endpoints.
std::string choice(const ServiceRule& rule) {
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < rule.backends.size(); ++i)
    elements.push_back(fmt::format("{} : {} . {}", i, rule.backends[i].ip, rule.backends[i].port));
  return fmt::format("    meta l4proto {} dnat ip to {} mod {} map {{ {} }}\n", rule.protocol,
                     rule.sticky ? "jhash ip saddr" : "numgen random", rule.backends.size(),
                     fmt::join(elements, ", "));
}

// Of all services with one endpoint.
std::string translations(const std::vector<ServiceRule>& rules, std::string_view protocol) {
  std::vector<std::string> elements;
  for (const auto& rule : rules)
    if (rule.protocol == protocol && rule.backends.size() == 1)
      for (const auto& front : rule.fronts)
        elements.push_back(fmt::format("{} . {} : {} . {}", front.ip, front.port,
                                       rule.backends.front().ip, rule.backends.front().port));
  if (elements.empty()) return {};
  return fmt::format("    meta l4proto {0} dnat ip to ip daddr . {0} dport map {{ {1} }}\n",
                     protocol, fmt::join(elements, ", "));
}

void addRules(ServiceRule rule, std::vector<ServiceRule>& rules) {
  const auto here = [](const AddressPort& place) { return isLoopback(place.ip); };
  if (!std::ranges::all_of(rule.backends, here)) {
    ServiceRule inside = rule;
    std::erase_if(inside.fronts, std::not_fn(here));
    std::erase_if(inside.backends, std::not_fn(here));
    std::erase_if(rule.fronts, here);
    if (!inside.fronts.empty()) rules.push_back(std::move(inside));
  }
  if (!rule.fronts.empty()) rules.push_back(std::move(rule));
}

}  // namespace

bool isIpv4(const std::string& text) {
  return numberOf(text).has_value();
}

bool isClusterIp(const std::string& text) {
  const auto number = numberOf(text);
  return number && (*number & kServiceMask) == kServiceNetwork;
}

std::string loadBalancerIp(const Service& service) {
  const auto& ip = service.spec.clusterIP;
  if (service.spec.type != "LoadBalancer" || !service.spec.loadBalancerClass.empty() ||
      !isClusterIp(ip))
    return {};
  return "127" + ip.substr(ip.find('.'));
}

std::vector<ServiceRule> rulesOf(std::vector<ServicePtr> services,
                                 const std::vector<SlicePtr>& slices,
                                 const std::set<std::string>& nodes, const std::string& nodeIp) {
  std::map<std::string, PortBackends> backends;
  for (const auto& slice : slices)
    if (const auto* name = api::findIn(slice->metadata.labels, std::string_view(kServiceNameLabel)))
      addSlice(*slice, nodes, backends[keyOf(slice->metadata.namespace_, *name)]);
  std::ranges::sort(services, {}, [](const ServicePtr& service) {
    return keyOf(service->metadata.namespace_, service->metadata.name);
  });
  std::vector<ServiceRule> rules;
  std::set<std::string> taken;
  for (const auto& service : services) {
    if (service->spec.type == "ExternalName" || !isClusterIp(service->spec.clusterIP)) continue;
    const std::string key = keyOf(service->metadata.namespace_, service->metadata.name);
    const std::string balancer = loadBalancerIp(*service);
    for (const auto& port : service->spec.ports) {
      ServiceRule rule{fmt::format("{}:{}", key, port.port), ruleProtocol(port.protocol)};
      if (rule.protocol.empty()) continue;
      rule.sticky = service->spec.sessionAffinity == "ClientIP";
      const auto front = [&](const std::string& ip, std::int32_t number) {
        if (!ip.empty() && isPort(number) &&
            taken.insert(element({ip, number}, rule.protocol)).second)
          rule.fronts.push_back({ip, number});
      };
      front(service->spec.clusterIP, port.port);
      front(nodeIp, port.nodePort);
      front(balancer, port.port);
      const auto& known = backends[key][port.name];
      const auto& used = known.ready.empty() ? known.terminating : known.ready;
      rule.backends.assign(used.begin(), used.end());
      addRules(std::move(rule), rules);
    }
  }
  return rules;
}

std::string tableText(const std::vector<ServiceRule>& rules, const std::string& table,
                      const std::string& device) {
  std::vector<std::string> chosen;
  std::vector<std::string> refused;
  std::string chains;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& rule = rules[i];
    if (rule.backends.size() == 1) continue;
    for (const auto& front : rule.fronts) {
      if (rule.backends.empty())
        refused.push_back(element(front, rule.protocol) + " : goto refuse");
      else
        chosen.push_back(fmt::format("{} : goto s{}", element(front, rule.protocol), i));
    }
    if (!rule.backends.empty()) chains += fmt::format("  chain s{} {{\n{}  }}\n", i, choice(rule));
  }
  // The first line makes the second one succeed. The kernel removes a table with an owner when the
  // owner's socket is closed, also by kill -9. In the chain "output" a translated packet still has
  // the device of its first route, so the address says whether it was translated. Only connections
  // that begin with the device's address get another one when they leave the host: others were
  // translated by another program, such as Docker, and their servers see where they come from.
  return fmt::format(
      "table ip {0} {{ flags owner; }}\n"
      "delete table ip {0}\n"
      "table ip {0} {{\n"
      "  flags owner;\n"
      "  chain refuse {{\n"
      "    meta l4proto tcp reject with tcp reset\n"
      "    reject with icmp type port-unreachable\n"
      "  }}\n"
      "{1}"
      "  chain output-nat {{\n"
      "    type nat hook output priority -100; policy accept;\n"
      "{2}"
      "  }}\n"
      "  chain output {{\n"
      "    type filter hook output priority 0; policy accept;\n"
      "{3}"
      "    oifname \"{4}\" ip daddr {5} goto refuse\n"
      "  }}\n"
      "  chain leaving {{\n"
      "    type nat hook postrouting priority 100; policy accept;\n"
      "    ip saddr {6} ct status dnat oifname != \"lo\" masquerade\n"
      "  }}\n"
      "}}\n",
      table, chains, translations(rules, "tcp") + translations(rules, "udp") + vmap(chosen),
      vmap(refused), device, kServiceRange, kServiceDeviceAddress);
}

}  // namespace koord::cluster::services
