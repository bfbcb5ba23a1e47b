#include "apiserver/server/service_addresses.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <optional>

#include "apiserver/objects/edit.h"
#include "apiserver/objects/service_fields.h"

namespace koord::apiserver {
namespace {

constexpr std::int64_t kFirstPort = 30000;
constexpr std::int64_t kPorts = 2768;
// Services that do not name a port get one above these, so that the first ones, which manifests
// like to name, stay free: ServiceNodePortStaticSubrange of kube-apiserver.
constexpr std::int64_t kNamedPorts = 86;
constexpr int kAddressTries = 10'000;
constexpr const char* kRange = "10.96.0.0/12";
constexpr std::uint32_t kNetwork = 10U << 24 | 96U << 16;
constexpr std::uint32_t kHosts = 0x000fffff;

// nullopt for a text that is not an IPv4 address.
std::optional<std::uint32_t> ipv4(const std::string& text) {
  in_addr address{};
  if (text.find('\0') != std::string::npos || ::inet_pton(AF_INET, text.c_str(), &address) != 1)
    return std::nullopt;
  return ntohl(address.s_addr);
}

// Returns true for an address of the range, without that of the network and its broadcast address.
bool isInRange(std::uint32_t address) {
  const auto host = address & kHosts;
  return (address & ~kHosts) == kNetwork && host != 0 && host != kHosts;
}

std::vector<std::string> namesOf(const json::value& service) {
  std::vector<std::string> out;
  const auto* spec = find(service, "spec");
  if (!spec) return out;
  if (const auto* addresses = arrayAt(*spec, "clusterIPs"))
    for (const auto& address : *addresses)
      if (address.is_string() && address != "None" && !address.get_string().empty())
        out.emplace_back(address.get_string());
  const auto port = [&](std::int64_t number) {
    if (number != 0) out.push_back(std::to_string(number));
  };
  if (const auto* ports = arrayAt(*spec, "ports"))
    for (const auto& one : *ports) port(integerAt(one, 0, "nodePort"));
  port(integerAt(*spec, 0, "healthCheckNodePort"));
  return out;
}

}  // namespace

// Assigns addresses and ports to one service.
class ServiceAddresses::AddressAllocation {
 public:
  AddressAllocation(ServiceAddresses& all, json::value& service, const std::string& key,
                    Random& random)
      : all_(all), service_(service), key_(key), random_(random) {
    hold_.owner_ = &all;
  }

  Outcome<Hold> run() {
    if (needsClusterIp(service_))
      if (auto good = allocateAddress(); !good) return std::unexpected(std::move(good.error()));
    if (auto good = allocatePorts(); !good) return std::unexpected(std::move(good.error()));
    if (needsHealthCheckPort(service_))
      if (auto good = allocateHealthCheckPort(); !good)
        return std::unexpected(std::move(good.error()));
    return std::move(hold_);
  }

 private:
  json::object& spec() { return service_.get_object()["spec"].get_object(); }

  // Returns true if another service has it.
  bool taken(const std::string& name) const {
    for (const auto* map : {&all_.owners_, &all_.held_})
      if (const auto it = map->find(name); it != map->end() && it->second != key_) return true;
    return false;
  }
  bool owns(const std::string& name) const {
    const auto it = all_.owners_.find(name);
    return it != all_.owners_.end() && it->second == key_;
  }
  void keep(const std::string& name) {
    if (all_.held_.emplace(name, key_).second) hold_.names_.push_back(name);
  }
  std::unexpected<Failure> refused(std::string field, ShownValue value, std::string why) const {
    return refuse(FieldErrors()
                      .invalid(std::move(field), std::move(value), std::move(why))
                      .failure("Service", textAt(service_, "metadata", "name")));
  }

  Outcome<> allocateAddress() {
    auto& members = spec();
    if (isMissing(members, "clusterIP") || memberOf(members, "clusterIP") == "") {
      if (!isMissing(members, "clusterIPs")) return {};  // validation reports it
      std::string address;
      int tries = 0;
      do {
        if (++tries > kAddressTries)
          return refuse(ErrorCode::Internal, "failed to allocate a serviceIP: range is full");
        address = fmt::format("10.{}.{}.{}", 96 + random_.below(16), random_.below(256),
                              1 + random_.below(254));
      } while (taken(address));
      members["clusterIP"] = address;
      members["clusterIPs"] = json::array{json::string(address)};
      keep(address);
    } else if (const std::string address(textAt(service_, "spec", "clusterIP"));
               address != "None") {
      // Another address belongs to another host or to this one. Malformed ones are reported by
      // validation.
      const auto number = ipv4(address);
      if (number && !isInRange(*number) && !owns(address))
        return refused("spec.clusterIPs", json::value(json::array{json::string(address)}),
                       fmt::format("failed to allocate IP {0}: the provided IP ({0}) is not in the "
                                   "valid range. The range of valid IPs is {1}",
                                   address, kRange));
      if (taken(address))
        return refused(
            "spec.clusterIPs", json::value(json::array{json::string(address)}),
            fmt::format("failed to allocate IP {}: provided IP is already allocated", address));
      keep(address);
    }
    setDefault(members, "ipFamilies", json::array{"IPv4"});
    setDefault(members, "ipFamilyPolicy", "SingleStack");
    return {};
  }

  // Ports with the same number and different protocols share a node port.
  Outcome<> allocatePorts() {
    const auto* ports = arrayAt(spec(), "ports");
    if (!ports) return {};
    const bool allocates =
        textAt(service_, "spec", "type") == "NodePort" ||
        (needsNodePort(service_) && flagAt(service_, "spec", "allocateLoadBalancerNodePorts"));
    std::map<std::int64_t, std::int64_t> given;
    for (const auto& port : *ports)
      if (const auto wanted = integerAt(port, 0, "nodePort"); wanted != 0)
        given.emplace(integerAt(port, 0, "port"), wanted);
    for (std::size_t i = 0; i < ports->size(); ++i) {
      json::value& port = (*arrayAt(spec(), "ports"))[i];
      if (!port.is_object()) continue;
      auto number = integerAt(port, 0, "nodePort");
      if (number == 0) {
        if (!allocates) continue;
        auto& known = given[integerAt(port, 0, "port")];
        if (known == 0) known = freePort();
        if (known == 0)
          return refuse(ErrorCode::Internal, "failed to allocate a nodePort: range is full");
        number = known;
        port.get_object()["nodePort"] = number;
      }
      if (needsNodePort(service_))
        if (auto good = reservePort(number, fmt::format("spec.ports[{}].nodePort", i)); !good)
          return good;
    }
    return {};
  }

  Outcome<> allocateHealthCheckPort() {
    auto number = integerAt(service_, 0, "spec", "healthCheckNodePort");
    if (number == 0) number = freePort();
    if (number == 0)
      return refuse(ErrorCode::Internal, "failed to allocate a nodePort: range is full");
    spec()["healthCheckNodePort"] = number;
    return reservePort(number, "spec.healthCheckNodePort");
  }

  Outcome<> reservePort(std::int64_t number, std::string field) {
    const auto name = std::to_string(number);
    if (number < kFirstPort || number >= kFirstPort + kPorts)
      return refused(std::move(field), number,
                     fmt::format("provided port is not in the valid range. The range of valid "
                                 "ports is {}-{}",
                                 kFirstPort, kFirstPort + kPorts - 1));
    if (taken(name)) return refused(std::move(field), number, "provided port is already allocated");
    keep(name);
    return {};
  }

  // Returns 0 if none is free.
  std::int64_t freePort() {
    constexpr std::int64_t kOthers = kPorts - kNamedPorts;
    const auto start = static_cast<std::int64_t>(random_.below(kOthers));
    for (std::int64_t i = 0; i < kPorts; ++i) {
      const auto number =
          kFirstPort + (i < kOthers ? kNamedPorts + (start + i) % kOthers : i - kOthers);
      const auto name = std::to_string(number);
      if (taken(name) || all_.held_.contains(name)) continue;
      if (const auto own = all_.owners_.find(name); own != all_.owners_.end()) continue;
      keep(name);
      return number;
    }
    return 0;
  }

  ServiceAddresses& all_;
  json::value& service_;
  const std::string& key_;
  Random& random_;
  Hold hold_;
};

ServiceAddresses::Hold::~Hold() {
  if (!owner_) return;
  for (const auto& name : names_) owner_->held_.erase(name);
}

void ServiceAddresses::changed(const std::string& key, const json::value* service) {
  if (const auto had = namesByService_.find(key); had != namesByService_.end()) {
    for (const auto& name : had->second)
      if (const auto it = owners_.find(name); it != owners_.end() && it->second == key)
        owners_.erase(it);
    namesByService_.erase(had);
  }
  if (!service) return;
  auto names = namesOf(*service);
  for (const auto& name : names) owners_.emplace(name, key);
  namesByService_.emplace(key, std::move(names));
}

Outcome<ServiceAddresses::Hold> ServiceAddresses::complete(json::value& service,
                                                           const std::string& key, Random& random) {
  return AddressAllocation(*this, service, key, random).run();
}

}  // namespace koord::apiserver
