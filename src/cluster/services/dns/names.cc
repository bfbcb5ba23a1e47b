#include "cluster/services/dns/names.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/ascii.h"

namespace koord::cluster::services {

namespace {

constexpr std::string_view kReverse = ".in-addr.arpa";

std::string domainOf(const Service& service) {
  return fmt::format("{}.{}.svc.{}", service.metadata.name, service.metadata.namespace_,
                     kClusterDomain);
}

// "_http._tcp"; "" for a port without a name, which has no SRV record.
std::string serviceLabel(const std::string& port, const std::string& protocol) {
  return port.empty() ? std::string() : fmt::format("_{}._{}", port, lowered(protocolOf(protocol)));
}

// "4.3.96.10.in-addr.arpa" for 10.96.3.4
std::string reverseName(const std::string& ip) {
  in_addr address{};
  ::inet_pton(AF_INET, ip.c_str(), &address);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&address);
  return fmt::format("{}.{}.{}.{}{}", bytes[3], bytes[2], bytes[1], bytes[0], kReverse);
}

// More do not fit into a message.
constexpr std::size_t kMostOfName = 4000;

// Adds a value that has this text to a name, once.
template <class T>
void insertOnce(std::unordered_set<std::string>& seen, const std::string& name, std::string text,
                std::vector<T>& values, T value) {
  if (values.size() < kMostOfName && seen.insert(name + " " + std::move(text)).second)
    values.push_back(std::move(value));
}

// The address of "10-1-2-3.shop.pod.cluster.local"; nullopt for another name.
std::optional<std::string> podAddress(const std::string& name) {
  const std::string suffix = fmt::format(".pod.{}", kClusterDomain);
  if (!name.ends_with(suffix)) return std::nullopt;
  const auto dot = name.find('.');
  if (name.find('.', dot + 1) != name.size() - suffix.size()) return std::nullopt;
  std::string ip = name.substr(0, dot);
  std::ranges::replace(ip, '-', '.');
  if (!isIpv4(ip)) return std::nullopt;
  return ip;
}

}  // namespace

ServiceNames::ServiceNames(const std::vector<ServicePtr>& services,
                           const std::vector<SlicePtr>& slices) {
  at(std::string(kClusterDomain));
  at(fmt::format("pod.{}", kClusterDomain));
  at(fmt::format("svc.{}", kClusterDomain));
  std::map<std::pair<std::string, std::string>, const Service*> headless;
  for (const auto& service : services) {
    add(*service);
    if (isHeadless(*service))
      headless[{service->metadata.namespace_, service->metadata.name}] = service.get();
  }
  Seen seen;
  for (const auto& slice : slices) {
    const auto* name = api::findIn(slice->metadata.labels, std::string_view(kServiceNameLabel));
    if (!name || slice->addressType != "IPv4") continue;
    const auto service = headless.find({slice->metadata.namespace_, *name});
    if (service != headless.end()) addEndpoints(*service->second, *slice, seen);
  }
}

net::dns::Answer& ServiceNames::at(const std::string& name) {
  for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const auto above = name.substr(dot + 1);
    if (!above.ends_with(kClusterDomain) || !answers_.try_emplace(above).second) break;
  }
  return answers_[name];
}

void ServiceNames::add(const Service& service) {
  const std::string domain = domainOf(service);
  auto& own = at(domain);
  if (service.spec.type == "ExternalName") {
    own.alias = service.spec.externalName;
    return;
  }
  const std::string& ip = service.spec.clusterIP;
  if (!isIpv4(ip)) return;
  own.addresses = {ip};
  at(reverseName(ip)).pointer = domain;
  for (const auto& port : service.spec.ports)
    if (const auto label = serviceLabel(port.name, port.protocol); !label.empty())
      at(label + "." + domain).services = {{static_cast<std::uint16_t>(port.port), domain}};
}

void ServiceNames::addEndpoints(const Service& service, const EndpointSlice& slice, Seen& seen) {
  const std::string domain = domainOf(service);
  for (const auto& endpoint : slice.endpoints) {
    if (!endpoint.conditions.ready.value_or(true) || endpoint.addresses.empty()) continue;
    const std::string ip = *endpoint.addresses.begin();
    if (!isIpv4(ip)) continue;
    std::string label = endpoint.hostname.value_or("");
    const bool named = !label.empty();
    if (!named) {
      label = ip;
      std::ranges::replace(label, '.', '-');
    }
    const std::string name = label + "." + domain;
    insertOnce(seen, domain, ip, at(domain).addresses, ip);
    insertOnce(seen, name, ip, at(name).addresses, ip);
    // Pods of this host share its address, which has the name of no single pod.
    if (named && !ip.starts_with("127.")) at(reverseName(ip)).pointer = name;
    for (const auto& port : slice.ports)
      if (const auto srv = serviceLabel(port.name, port.protocol); port.port && !srv.empty()) {
        const std::string full = srv + "." + domain;
        insertOnce(seen, full, fmt::format("{} {}", *port.port, name), at(full).services,
                   {static_cast<std::uint16_t>(*port.port), name});
      }
  }
}

std::optional<net::dns::Answer> ServiceNames::answer(const net::dns::Question& question) const {
  if (const auto known = answers_.find(question.name); known != answers_.end())
    return known->second;
  const std::string inside = std::string(".") + kClusterDomain;
  if (!question.name.ends_with(inside)) return std::nullopt;
  net::dns::Answer answer;
  if (auto ip = podAddress(question.name)) {
    answer.addresses = {*std::move(ip)};
    return answer;
  }
  answer.exists = false;
  return answer;
}

}  // namespace koord::cluster::services
