// Endpoints and EndpointSlices, the addresses of a service, and autoscalers. An address must reach
// another host: a loopback or link-local address would send a pod's traffic to the node it comes
// from. On a cluster of one host it may be loopback (`loopback`), since all pods are there. A slice
// has one immutable address type, and limits of size, because every node reads all slices with
// every change.
//
// Cost: O(endpoints). Rules: ValidateEndpoints of core and ValidateEndpointSlice of discovery.

#include <fmt/format.h>

#include <set>

#include "api/names.h"
#include "apiserver/objects/checks.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/formats.h"
#include "apiserver/objects/validate_kinds.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxEndpoints = 1000;
constexpr std::size_t kMaxOfOne = 100;

const json::array& itemsOf(const json::value& object, const char* field) {
  static const json::array none;
  const auto* list = arrayAt(object, field);
  return list ? *list : none;
}

void validateHostname(const json::value& holder, const std::string& path, FieldErrors& errors) {
  const auto name = textAt(holder, "hostname");
  if (name.empty()) return;
  if (const auto wrong = api::checkDnsLabel(name); !wrong.empty())
    errors.invalid(path + ".hostname", name, wrong);
}

void validateAppProtocol(const json::value& port, const std::string& path, FieldErrors& errors) {
  const auto protocol = textAt(port, "appProtocol");
  if (protocol.empty()) return;
  if (const auto wrong = api::checkQualifiedName(protocol); !wrong.empty())
    errors.invalid(path + ".appProtocol", protocol, wrong);
}

void validatePort(const json::value& port, bool named, const std::string& path,
                  FieldErrors& errors) {
  const auto name = textAt(port, "name");
  if (name.empty()) {
    if (named) errors.required(path + ".name");
  } else if (const auto wrong = api::checkDnsLabel(name); !wrong.empty()) {
    errors.invalid(path + ".name", name, wrong);
  }
  validatePortNumber(integerAt(port, 0, "port"), path + ".port", errors);
  validateOneOf(port, path, "protocol", {"SCTP", "TCP", "UDP"}, true, errors);
  validateAppProtocol(port, path, errors);
}

void validateSliceAddress(const json::value& address, std::string_view type,
                          const std::string& path, FieldErrors& errors, bool loopback) {
  if (!address.is_string()) return;
  const std::string_view text = address.get_string();
  if (type == "FQDN") {
    if (const auto wrong = api::checkDnsSubdomain(text); !wrong.empty())
      errors.invalid(path, text, wrong);
    return;
  }
  const bool four = type == "IPv4";
  if (!four && type != "IPv6") return;
  if (hasFormat(text, four ? "ipv4" : "ipv6")) {
    validateReachable(text, path, errors, loopback);
  } else {
    errors.invalid(path, text,
                   four ? "must be a valid IPv4 address" : "must be a valid IPv6 address");
  }
}

void validateSlicePorts(const json::array& ports, FieldErrors& errors) {
  if (ports.size() > kMaxOfOne) {
    errors.tooMany("ports", ports.size(), kMaxOfOne);
    return;
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto path = fmt::format("ports[{}]", i);
    const auto name = textAt(ports[i], "name");
    if (!name.empty())
      if (const auto wrong = api::checkDnsLabel(name); !wrong.empty())
        errors.invalid(path + ".name", name, wrong);
    if (!names.insert(name).second) errors.duplicate(path + ".name", name);
    validateOneOf(ports[i], path, "protocol", {"SCTP", "TCP", "UDP"}, true, errors);
    if (const auto* number = find(ports[i], "port"); number && number->is_int64())
      validatePortNumber(number->get_int64(), path + ".port", errors);
    validateAppProtocol(ports[i], path, errors);
  }
}

}  // namespace

void validateEndpoints(const json::value& endpoints, FieldErrors& errors, bool loopback) {
  const auto& subsets = itemsOf(endpoints, "subsets");
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    const auto path = fmt::format("subsets[{}]", i);
    if (itemsOf(subsets[i], "addresses").empty() &&
        itemsOf(subsets[i], "notReadyAddresses").empty())
      errors.required(path, "must specify `addresses` or `notReadyAddresses`");
    for (const auto* field : {"addresses", "notReadyAddresses"}) {
      const auto& addresses = itemsOf(subsets[i], field);
      for (std::size_t k = 0; k < addresses.size(); ++k) {
        const auto at = fmt::format("{}.{}[{}]", path, field, k);
        const auto address = textAt(addresses[k], "ip");
        if (validateAddress(address, at + ".ip", errors))
          validateReachable(address, at + ".ip", errors, loopback);
        validateHostname(addresses[k], at, errors);
      }
    }
    const auto& ports = itemsOf(subsets[i], "ports");
    for (std::size_t k = 0; k < ports.size(); ++k)
      validatePort(ports[k], ports.size() > 1, fmt::format("{}.ports[{}]", path, k), errors);
  }
}

void validateEndpointSlice(const json::value& slice, const json::value* before, FieldErrors& errors,
                           bool loopback) {
  const auto type = textAt(slice, "addressType");
  if (type.empty()) {
    errors.required("addressType");
  } else if (type != "IPv4" && type != "IPv6" && type != "FQDN") {
    errors.unsupported("addressType", type, {"FQDN", "IPv4", "IPv6"});
  }
  const auto& endpoints = itemsOf(slice, "endpoints");
  if (endpoints.size() > kMaxEndpoints) {
    errors.tooMany("endpoints", endpoints.size(), kMaxEndpoints);
  } else {
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      const auto path = fmt::format("endpoints[{}]", i);
      const auto& addresses = itemsOf(endpoints[i], "addresses");
      if (addresses.empty())
        errors.required(path + ".addresses", "must contain at least 1 address");
      if (addresses.size() > kMaxOfOne)
        errors.tooMany(path + ".addresses", addresses.size(), kMaxOfOne);
      for (std::size_t k = 0; k < addresses.size(); ++k)
        validateSliceAddress(addresses[k], type, fmt::format("{}.addresses[{}]", path, k), errors,
                             loopback);
      validateHostname(endpoints[i], path, errors);
    }
  }
  validateSlicePorts(itemsOf(slice, "ports"), errors);
  if (before && type != textAt(*before, "addressType"))
    errors.invalid("addressType", type, "field is immutable");
}

void validateAutoscaler(const json::value& autoscaler, FieldErrors& errors) {
  const auto most = integerAt(autoscaler, 0, "spec", "maxReplicas");
  const auto* least = at(autoscaler, "spec", "minReplicas");
  const auto fewest = least && least->is_int64() ? least->get_int64() : 1;
  if (least && fewest < 1)
    errors.invalid("spec.minReplicas", fewest, "must be greater than or equal to 1");
  if (most < 1) errors.invalid("spec.maxReplicas", most, "must be greater than 0");
  if (least && most < fewest)
    errors.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`");
}

}  // namespace koord::apiserver
