#pragma once

// Services and their endpoints with the fields that endpoint controllers, the service proxy and the
// DNS server read. api::Service has a selector only.

#include <optional>
#include <string>

#include "api/codec.h"
#include "api/core.h"
#include "api/list.h"
#include "api/meta.h"

namespace koord::cluster::services {

struct ServicePort {
  std::string name;
  std::string protocol;  // TCP when empty
  std::int32_t port = 0;
  std::optional<api::IntOrString> targetPort;  // absent: port
  std::int32_t nodePort = 0;
  std::optional<std::string> appProtocol;
};
struct ServiceSpec {
  api::List<ServicePort> ports;
  std::optional<api::StringMap> selector;
  std::string clusterIP;  // "None": headless
  std::string type;       // ClusterIP, NodePort, LoadBalancer, ExternalName
  std::string externalName;
  std::string sessionAffinity;
  std::string loadBalancerClass;
  bool publishNotReadyAddresses = false;
};
struct LoadBalancerIngress {
  std::string ip;
  std::string ipMode;
  bool operator==(const LoadBalancerIngress&) const = default;
};
struct LoadBalancerStatus {
  api::List<LoadBalancerIngress> ingress;
};
struct ServiceStatus {
  LoadBalancerStatus loadBalancer;
};
struct Service {
  static constexpr api::ResourceType kType{"", "v1", "services", "Service", true};
  api::ObjectMeta metadata;
  ServiceSpec spec;
  ServiceStatus status;
};

struct EndpointConditions {
  std::optional<bool> ready;
  std::optional<bool> serving;
  std::optional<bool> terminating;
  bool operator==(const EndpointConditions&) const = default;
};
struct TargetRef {
  std::string kind;
  std::string namespace_;
  std::string name;
  std::string uid;
  bool operator==(const TargetRef&) const = default;
};
struct Endpoint {
  api::List<std::string> addresses;
  EndpointConditions conditions;
  std::optional<std::string> hostname;
  std::optional<TargetRef> targetRef;
  std::optional<std::string> nodeName;
  bool operator==(const Endpoint&) const = default;
};
struct EndpointPort {
  std::string name;
  std::string protocol;
  std::optional<std::int32_t> port;
  std::optional<std::string> appProtocol;
  bool operator==(const EndpointPort&) const = default;
  auto operator<=>(const EndpointPort&) const = default;
};
struct EndpointSlice {
  static constexpr api::ResourceType kType{"discovery.k8s.io", "v1", "endpointslices",
                                           "EndpointSlice", true};
  api::ObjectMeta metadata;
  std::string addressType;
  api::List<Endpoint> endpoints;
  api::List<EndpointPort> ports;
};

struct EndpointAddress {
  std::string ip;
  std::optional<std::string> hostname;
  std::optional<std::string> nodeName;
  std::optional<TargetRef> targetRef;
  bool operator==(const EndpointAddress&) const = default;
};
struct EndpointSubset {
  api::List<EndpointAddress> addresses;
  api::List<EndpointAddress> notReadyAddresses;
  api::List<EndpointPort> ports;
  bool operator==(const EndpointSubset&) const = default;
};
struct Endpoints {
  static constexpr api::ResourceType kType{"", "v1", "endpoints", "Endpoints", true};
  api::ObjectMeta metadata;
  api::List<EndpointSubset> subsets;
};

// The name that a pod has in DNS. Pods of large clusters do not keep it (api/pod.h).
struct PodNameSpec {
  std::string hostname;
  std::string subdomain;
};
struct PodName {
  static constexpr api::ResourceType kType{"", "v1", "pods", "Pod", true};
  api::ObjectMeta metadata;
  PodNameSpec spec;
};

inline constexpr const char* kServiceNameLabel = "kubernetes.io/service-name";
inline constexpr const char* kManagedByLabel = "endpointslice.kubernetes.io/managed-by";
inline constexpr const char* kSkipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";
inline constexpr const char* kHeadlessLabel = "service.kubernetes.io/headless";

inline bool isHeadless(const Service& service) {
  return service.spec.clusterIP == "None";
}
inline const std::string& protocolOf(const std::string& protocol) {
  static const std::string kTcp = "TCP";
  return protocol.empty() ? kTcp : protocol;
}

}  // namespace koord::cluster::services

// Read as JSON: all of them are in the process of the API server.
namespace koord::api {
#define KOORD_JSON_ONLY(T)                              \
  template <>                                           \
  inline const Shape* shapeOf<cluster::services::T>() { \
    return nullptr;                                     \
  }
KOORD_JSON_ONLY(Service)
KOORD_JSON_ONLY(EndpointSlice)
KOORD_JSON_ONLY(Endpoints)
KOORD_JSON_ONLY(PodName)
#undef KOORD_JSON_ONLY
}  // namespace koord::api
