#include "cluster/services/service_environment.h"

#include <fmt/format.h>

#include <cctype>

#include "base/ascii.h"

namespace koord::cluster::services {

namespace {

std::string upper(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) out += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return out;
}

void add(const Service& service, std::map<std::string, std::string>& values) {
  const auto& ip = service.spec.clusterIP;
  if (ip.empty() || ip == "None" || service.spec.ports.empty()) return;
  const std::string name = upper(service.metadata.name);
  const auto& first = *service.spec.ports.begin();
  values[name + "_SERVICE_HOST"] = ip;
  values[name + "_SERVICE_PORT"] = std::to_string(first.port);
  for (const auto& port : service.spec.ports) {
    const std::string protocol = lowered(protocolOf(port.protocol));
    const std::string url = fmt::format("{}://{}:{}", protocol, ip, port.port);
    const std::string prefix = fmt::format("{}_PORT_{}_{}", name, port.port, upper(protocol));
    if (!port.name.empty())
      values[fmt::format("{}_SERVICE_PORT_{}", name, upper(port.name))] = std::to_string(port.port);
    if (&port == &first) values[name + "_PORT"] = url;
    values[prefix] = url;
    values[prefix + "_PROTO"] = protocol;
    values[prefix + "_PORT"] = std::to_string(port.port);
    values[prefix + "_ADDR"] = ip;
  }
}

}  // namespace

std::map<std::string, std::string> serviceEnvironment(const std::vector<ServicePtr>& services,
                                                      const std::string& namespace_, bool links) {
  std::map<std::string, std::string> values;
  for (const auto& service : services)
    if (service->metadata.namespace_ == "default" && service->metadata.name == "kubernetes")
      add(*service, values);
  if (!links) return values;
  for (const auto& service : services)
    if (service->metadata.namespace_ == namespace_) add(*service, values);
  return values;
}

}  // namespace koord::cluster::services
