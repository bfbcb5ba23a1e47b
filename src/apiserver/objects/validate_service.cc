// Services. The fields depend on the type: a headless service has no address and needs no port, an
// ExternalName service has neither address nor endpoints, and NodePort and LoadBalancer services
// have node ports. The server assigns addresses and node ports before this runs
// (service_addresses.h), so that a client's values and assigned values are checked alike.
//
// An assigned address cannot change: clients have it in connections and DNS caches. A change to
// ExternalName and back releases the address and assigns another one.
//
// The order of the checks is that of kube-apiserver, because causes are shown in it. Cost:
// O(ports). Rules: ValidateService and ValidateServiceUpdate of kube-apiserver.

#include <fmt/format.h>

#include <set>

#include "api/names.h"
#include "apiserver/objects/checks.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/formats.h"
#include "apiserver/objects/service_fields.h"
#include "apiserver/objects/validate.h"
#include "apiserver/objects/validate_kinds.h"

namespace koord::apiserver {
namespace {

constexpr std::int64_t kMaxAffinitySeconds = 86400;

class ServiceCheck {
 public:
  ServiceCheck(const json::value& service, FieldErrors& errors)
      : service_(service), spec_(orEmpty(find(service, "spec"))), errors_(errors) {}

  void run() {
    if (ports().empty() && !isHeadless() && type() != "ExternalName")
      errors_.required("spec.ports");
    checkType();
    checkPorts();
    checkSelector();
    checkAffinity();
    checkClusterIps();
    checkExternalIps();
    validateOneOf(spec_, "spec", "type", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"},
                  true, errors_);
    checkNodePorts();
    checkDuplicatePorts();
    checkLoadBalancer();
    checkTraffic();
  }

  void compareWith(const json::value& before) {
    const auto& old = orEmpty(find(before, "spec"));
    if (type() != "ExternalName" && textAt(old, "type") != "ExternalName") {
      keepsAddresses(old);
    }
    if (needsHealthCheckPort(before) && needsHealthCheckPort(service_) &&
        integerAt(old, 0, "healthCheckNodePort") != integerAt(spec_, 0, "healthCheckNodePort"))
      errors_.forbidden("spec.healthCheckNodePort", "field is immutable");
    const bool both = type() == "LoadBalancer" && textAt(old, "type") == "LoadBalancer";
    if (both && textAt(old, "loadBalancerClass") != textAt(spec_, "loadBalancerClass"))
      errors_.invalid("spec.loadBalancerClass", textAt(spec_, "loadBalancerClass"),
                      "may not change once set");
  }

 private:
  static const json::value& orEmpty(const json::value* value) {
    static const json::value none = json::object{};
    return value ? *value : none;
  }
  static const json::array& listAt(const json::value& object, const char* field) {
    static const json::array none;
    const auto* list = arrayAt(object, field);
    return list ? *list : none;
  }
  std::string_view type() const { return textAt(spec_, "type"); }
  const json::array& ports() const { return listAt(spec_, "ports"); }
  bool isHeadless() const {
    const auto& addresses = listAt(spec_, "clusterIPs");
    return addresses.size() == 1 && addresses[0] == "None";
  }
  static std::string portPath(std::size_t i) { return fmt::format("spec.ports[{}]", i); }

  void checkType() {
    if (isHeadless() && needsNodePort(service_))
      errors_.invalid("spec.clusterIPs[0]", "None",
                      fmt::format("may not be set to 'None' for {} services", type()));
    if (type() != "ExternalName") return;
    for (const auto* field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"})
      if (find(spec_, field))
        errors_.forbidden(fmt::format("spec.{}", field),
                          "may not be set for ExternalName services");
    auto name = textAt(spec_, "externalName");
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.empty()) {
      errors_.required("spec.externalName");
    } else if (const auto wrong = api::checkDnsSubdomain(name); !wrong.empty()) {
      errors_.invalid("spec.externalName", name, wrong);
    }
  }

  void checkPorts() {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < ports().size(); ++i) {
      const auto& port = ports()[i];
      const auto path = portPath(i);
      const auto name = textAt(port, "name");
      if (name.empty()) {
        if (ports().size() > 1) errors_.required(path + ".name");
      } else {
        if (const auto wrong = api::checkDnsLabel(name); !wrong.empty())
          errors_.invalid(path + ".name", name, wrong);
        if (!names.insert(name).second) errors_.duplicate(path + ".name", name);
      }
      validatePortNumber(integerAt(port, 0, "port"), path + ".port", errors_);
      validateOneOf(port, path, "protocol", {"SCTP", "TCP", "UDP"}, true, errors_);
      if (const auto* target = find(port, "targetPort"))
        validatePortNumberOrName(*target, path + ".targetPort", errors_);
      if (const auto* protocol = find(port, "appProtocol"); protocol && protocol->is_string())
        if (const auto wrong = api::checkQualifiedName(std::string_view(protocol->get_string()));
            !wrong.empty())
          errors_.invalid(path + ".appProtocol", *protocol, wrong);
    }
  }

  void checkSelector() {
    const auto* selector = find(spec_, "selector");
    if (selector) validateLabels(selector, "spec.selector", errors_);
  }

  void checkAffinity() {
    validateOneOf(spec_, "spec", "sessionAffinity", {"ClientIP", "None"}, true, errors_);
    constexpr const char* kConfig = "spec.sessionAffinityConfig";
    const auto* config = find(spec_, "sessionAffinityConfig");
    if (textAt(spec_, "sessionAffinity") == "None") {
      if (config) errors_.forbidden(kConfig, "must not be set when session affinity is None");
    } else if (textAt(spec_, "sessionAffinity") == "ClientIP") {
      const auto* seconds = config ? at(*config, "clientIP", "timeoutSeconds") : nullptr;
      if (!seconds) {
        errors_.required(kConfig, "when session affinity type is ClientIP");
      } else if (const auto value = seconds->is_int64() ? seconds->get_int64() : 0;
                 value <= 0 || value > kMaxAffinitySeconds) {
        errors_.invalid(
            std::string(kConfig) + ".clientIP.timeoutSeconds", value,
            fmt::format("must be greater than 0 and less than {}", kMaxAffinitySeconds));
      }
    }
  }

  void checkClusterIps() {
    const auto& addresses = listAt(spec_, "clusterIPs");
    const auto first = textAt(spec_, "clusterIP");
    if (!addresses.empty() && first.empty())
      errors_.invalid("spec.clusterIPs", json::value(addresses),
                      "must be empty when `clusterIP` is not specified");
    else if (!addresses.empty() && addresses[0] != json::string_view(first))
      errors_.invalid("spec.clusterIPs", json::value(addresses),
                      "first value must match `clusterIP`");
    int four = 0;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (!addresses[i].is_string()) continue;
      const std::string_view address = addresses[i].get_string();
      if (address == "None") {
        if (addresses.size() > 1)
          errors_.invalid("spec.clusterIPs", json::value(addresses),
                          "'None' must be the first and only value");
        continue;
      }
      const auto path = fmt::format("spec.clusterIPs[{}]", i);
      if (!validateAddress(address, path, errors_)) continue;
      if (hasFormat(address, "ipv4"))
        ++four;
      else
        errors_.invalid(path, json::value(addresses), "IPv6 is not configured on this cluster");
    }
    if (addresses.size() == 2 && textAt(spec_, "ipFamilyPolicy") == "SingleStack")
      errors_.invalid("spec.ipFamilyPolicy", "SingleStack",
                      "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs "
                      "are specified");
    if (four > 1)
      errors_.invalid("spec.clusterIPs", json::value(addresses),
                      "may specify no more than one IP for each IP family");
    if (addresses.size() > 2)
      errors_.invalid("spec.clusterIPs", json::value(addresses), "may only hold up to 2 values");
    checkFamilies();
  }

  void checkFamilies() {
    std::set<std::string_view> seen;
    const auto& families = listAt(spec_, "ipFamilies");
    for (std::size_t i = 0; i < families.size(); ++i) {
      if (!families[i].is_string()) continue;
      const auto path = fmt::format("spec.ipFamilies[{}]", i);
      const std::string_view family = families[i].get_string();
      if (family != "IPv4" && family != "IPv6") {
        errors_.unsupported(path, family, {"IPv4", "IPv6"});
      } else if (!seen.insert(family).second) {
        errors_.duplicate(path, family);
      } else if (family == "IPv6" && !isHeadless()) {
        errors_.invalid(path, family, "not configured on this cluster");
      }
    }
    validateOneOf(spec_, "spec", "ipFamilyPolicy",
                  {"PreferDualStack", "RequireDualStack", "SingleStack"}, false, errors_);
    if (textAt(spec_, "ipFamilyPolicy") == "RequireDualStack" && !isHeadless())
      errors_.invalid("spec.ipFamilyPolicy", "RequireDualStack",
                      "this cluster is not configured for dual-stack services");
  }

  void checkExternalIps() {
    const auto& addresses = listAt(spec_, "externalIPs");
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (!addresses[i].is_string()) continue;
      const std::string_view address = addresses[i].get_string();
      const auto path = fmt::format("spec.externalIPs[{}]", i);
      if (validateAddress(address, path, errors_)) validateReachable(address, path, errors_);
    }
  }

  void checkNodePorts() {
    std::set<std::pair<std::int64_t, std::string_view>> seen;
    for (std::size_t i = 0; i < ports().size(); ++i) {
      const auto number = integerAt(ports()[i], 0, "nodePort");
      if (number == 0) continue;
      if (type() == "ClusterIP")
        errors_.forbidden(portPath(i) + ".nodePort", "may not be used when `type` is 'ClusterIP'");
      if (!seen.emplace(number, textAt(ports()[i], "protocol")).second)
        errors_.duplicate(portPath(i) + ".nodePort", number);
    }
  }

  void checkDuplicatePorts() {
    std::set<std::pair<std::int64_t, std::string_view>> seen;
    for (std::size_t i = 0; i < ports().size(); ++i) {
      const auto number = integerAt(ports()[i], 0, "port");
      const auto protocol = textAt(ports()[i], "protocol");
      if (!seen.emplace(number, protocol).second)
        errors_.duplicate(portPath(i), json::value{{"protocol", protocol}, {"port", number}});
    }
  }

  void checkLoadBalancer() {
    const bool balancer = type() == "LoadBalancer";
    constexpr const char* kOnly = "may only be used when `type` is 'LoadBalancer'";
    const auto& ranges = listAt(spec_, "loadBalancerSourceRanges");
    if (!ranges.empty() && !balancer) errors_.forbidden("spec.LoadBalancerSourceRanges", kOnly);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (!ranges[i].is_string()) continue;
      std::string_view range = ranges[i].get_string();
      while (range.starts_with(' ')) range.remove_prefix(1);
      while (range.ends_with(' ')) range.remove_suffix(1);
      validateNetwork(range, fmt::format("spec.LoadBalancerSourceRanges[{}]", i), errors_);
    }
    if (!balancer && find(spec_, "allocateLoadBalancerNodePorts"))
      errors_.forbidden("spec.allocateLoadBalancerNodePorts", kOnly);
    if (const auto* name = find(spec_, "loadBalancerClass"); name && name->is_string()) {
      if (!balancer) {
        errors_.forbidden("spec.loadBalancerClass", kOnly);
      } else if (const auto wrong = api::checkQualifiedName(std::string_view(name->get_string()));
                 !wrong.empty()) {
        errors_.invalid("spec.loadBalancerClass", *name, wrong);
      }
    }
  }

  bool isExternal() const {
    return needsNodePort(service_) ||
           (type() == "ClusterIP" && !listAt(spec_, "externalIPs").empty());
  }

  void checkTraffic() {
    if (isExternal()) {
      validateOneOf(spec_, "spec", "externalTrafficPolicy", {"Cluster", "Local"}, true, errors_);
    } else if (const auto policy = textAt(spec_, "externalTrafficPolicy"); !policy.empty()) {
      errors_.invalid("spec.externalTrafficPolicy", policy,
                      "may only be set for externally-accessible services");
    }
    const auto port = integerAt(spec_, 0, "healthCheckNodePort");
    if (needsHealthCheckPort(service_)) {
      validatePortNumber(port, "spec.healthCheckNodePort", errors_);
    } else if (port != 0) {
      errors_.invalid("spec.healthCheckNodePort", port,
                      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` "
                      "is 'Local'");
    }
    validateOneOf(spec_, "spec", "internalTrafficPolicy", {"Cluster", "Local"},
                  needsClusterIp(service_), errors_);
    validateOneOf(spec_, "spec", "trafficDistribution",
                  {"PreferClose", "PreferSameNode", "PreferSameZone"}, false, errors_);
  }

  void keepsAddresses(const json::value& old) {
    const auto& before = listAt(old, "clusterIPs");
    const auto& now = listAt(spec_, "clusterIPs");
    if (!before.empty() && now.empty())
      errors_.invalid("spec.clusterIPs[0]", json::value(now), "primary clusterIP can not be unset");
    for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i)
      if (before[i] != now[i])
        errors_.invalid(fmt::format("spec.clusterIPs[{}]", i), json::value(now),
                        "may not change once set");
  }

  const json::value& service_;
  const json::value& spec_;
  FieldErrors& errors_;
};

}  // namespace

void validateService(const json::value& service, const json::value* before, FieldErrors& errors) {
  ServiceCheck check(service, errors);
  if (before) check.compareWith(*before);
  check.run();
}

}  // namespace koord::apiserver
