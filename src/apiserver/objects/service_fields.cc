#include "apiserver/objects/service_fields.h"

#include <map>
#include <set>
#include <string>

#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

std::string_view typeOf(const json::value& service) {
  return textAt(service, "spec", "type");
}

bool same(const json::value& a, const json::value& b, const char* field) {
  const auto* x = at(a, "spec", field);
  const auto* y = at(b, "spec", field);
  return x && y ? *x == *y : x == y;
}

const json::array& portsOf(const json::value& service) {
  static const json::array none;
  const auto* spec = find(service, "spec");
  const auto* ports = spec ? arrayAt(*spec, "ports") : nullptr;
  return ports ? *ports : none;
}

std::int64_t nodePortOf(const json::value& port) {
  return integerAt(port, 0, "nodePort");
}

std::set<std::int64_t> nodePortsOf(const json::value& service) {
  std::set<std::int64_t> out;
  for (const auto& port : portsOf(service))
    if (nodePortOf(port) != 0) out.insert(nodePortOf(port));
  return out;
}

void take(json::object& spec, const json::value& before, const char* field) {
  if (const auto* had = at(before, "spec", field)) spec[field] = *had;
}

bool isEmpty(const json::object& spec, const char* field) {
  const auto* value = spec.if_contains(field);
  return !value || value->is_null() || *value == "" || *value == 0 ||
         (value->is_array() && value->get_array().empty());
}

// A port without a node port keeps the node port of the old port with its name.
void keepNodePorts(json::object& spec, const json::value& service, const json::value& before) {
  auto* ports = arrayAt(spec, "ports");
  if (!ports) return;
  std::map<std::string, std::int64_t, std::less<>> byName;
  for (const auto& port : portsOf(before))
    byName[std::string(textAt(port, "name"))] = nodePortOf(port);
  const auto now = nodePortsOf(service);
  for (auto& port : *ports) {
    if (!port.is_object() || nodePortOf(port) != 0) continue;
    const auto had = byName.find(textAt(port, "name"));
    if (had != byName.end() && had->second != 0 && !now.contains(had->second))
      port.get_object()["nodePort"] = had->second;
  }
}

void keepAllocated(json::object& spec, const json::value& service, const json::value& before) {
  if (needsClusterIp(before) && needsClusterIp(service)) {
    if (isEmpty(spec, "clusterIP")) take(spec, before, "clusterIP");
    if (isEmpty(spec, "clusterIPs") && same(service, before, "clusterIP"))
      take(spec, before, "clusterIPs");
  }
  if (needsNodePort(before) && needsNodePort(service)) keepNodePorts(spec, service, before);
  if (needsHealthCheckPort(before) && needsHealthCheckPort(service) &&
      isEmpty(spec, "healthCheckNodePort"))
    take(spec, before, "healthCheckNodePort");
}

bool isExternal(const json::value& service) {
  const auto* addresses = at(service, "spec", "externalIPs");
  return needsNodePort(service) || (typeOf(service) == "ClusterIP" && addresses &&
                                    addresses->is_array() && !addresses->get_array().empty());
}

void dropFieldsOfOtherTypes(json::object& spec, const json::value& service,
                            const json::value& before) {
  const auto drop = [&](const char* field) {
    if (same(service, before, field)) eraseMember(spec, field);
  };
  if (typeOf(before) == "ExternalName" && typeOf(service) != "ExternalName") drop("externalName");
  if (needsClusterIp(before) && !needsClusterIp(service))
    for (const auto* field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"})
      drop(field);
  if (needsNodePort(before) && !needsNodePort(service) &&
      nodePortsOf(before) == nodePortsOf(service))
    if (auto* ports = arrayAt(spec, "ports"))
      for (auto& port : *ports)
        if (port.is_object()) eraseMember(port.get_object(), "nodePort");
  if (needsHealthCheckPort(before) && !needsHealthCheckPort(service)) drop("healthCheckNodePort");
  if (typeOf(before) == "LoadBalancer" && typeOf(service) != "LoadBalancer")
    for (const auto* field : {"allocateLoadBalancerNodePorts", "loadBalancerClass"}) drop(field);
  if (isExternal(before) && !isExternal(service)) drop("externalTrafficPolicy");
}

// clusterIP and the first of clusterIPs are the same: a client that changes one of them means both.
void completeClusterIps(json::object& spec, const json::value& service, const json::value* before) {
  if (!before || same(service, *before, "clusterIP")) {
    if (!before && !isEmpty(spec, "clusterIP") && isEmpty(spec, "clusterIPs"))
      spec["clusterIPs"] = json::array{memberOf(spec, "clusterIP")};
    return;
  }
  if (!same(service, *before, "clusterIPs")) return;
  if (isEmpty(spec, "clusterIP")) {
    eraseMember(spec, "clusterIPs");
  } else {
    const json::value address = memberOf(spec, "clusterIP");
    spec["clusterIPs"] = json::array{address};
  }
}

}  // namespace

bool needsClusterIp(const json::value& service) {
  const auto type = typeOf(service);
  return type == "ClusterIP" || type == "NodePort" || type == "LoadBalancer";
}

bool needsNodePort(const json::value& service) {
  return typeOf(service) == "NodePort" || typeOf(service) == "LoadBalancer";
}

bool needsHealthCheckPort(const json::value& service) {
  return typeOf(service) == "LoadBalancer" &&
         textAt(service, "spec", "externalTrafficPolicy") == "Local";
}

void completeService(json::value& service, const json::value* before) {
  auto& spec = objectAt(service.get_object(), "spec");
  if (before) {
    keepAllocated(spec, service, *before);
    dropFieldsOfOtherTypes(spec, service, *before);
  }
  completeClusterIps(spec, service, before);
}

}  // namespace koord::apiserver
