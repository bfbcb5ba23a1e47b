#pragma once

// A pod as its node needs it. api::Pod has the fields that schedulers and controllers use, in
// little memory. The rest of a PodSpec (volumes, probes, hooks, security contexts) matters only to
// the node that runs the pod, and is here. Names are those of the API.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/codec.h"
#include "api/pod.h"
#include "api/shape.h"

namespace koord::cluster {

namespace spec {

struct KeyToPath {
  std::string key;
  std::string path;
  std::optional<std::int32_t> mode;
};
struct FieldRef {
  std::string fieldPath;
};
struct ResourceFieldRef {
  std::string containerName;
  std::string resource;  // limits.cpu
  Quantity divisor;      // 0 counts as 1
};
struct KeyRef {
  std::string name;
  std::string key;
  bool optional = false;
};
struct ObjectRef {
  std::string name;
  bool optional = false;
};
struct EnvValueFrom {
  std::optional<FieldRef> fieldRef;
  std::optional<ResourceFieldRef> resourceFieldRef;
  std::optional<KeyRef> configMapKeyRef;
  std::optional<KeyRef> secretKeyRef;
};
struct EnvVar {
  std::string name;
  std::string value;
  std::optional<EnvValueFrom> valueFrom;
};
struct EnvFrom {
  std::string prefix;
  std::optional<ObjectRef> configMapRef;
  std::optional<ObjectRef> secretRef;
};

struct VolumeMount {
  std::string name;
  std::string mountPath;
  bool readOnly = false;
  std::string recursiveReadOnly;  // Enabled, IfPossible, Disabled
  std::string subPath;
  std::string subPathExpr;
  std::string mountPropagation;  // None, HostToContainer, Bidirectional
};
struct VolumeDevice {
  std::string name;
  std::string devicePath;
};

struct ExecAction {
  api::List<std::string> command;
};
struct HttpHeader {
  std::string name;
  std::string value;
};
struct HttpGetAction {
  std::string path;
  api::IntOrString port;
  std::string host;
  std::string scheme;
  api::List<HttpHeader> httpHeaders;
};
struct TcpSocketAction {
  api::IntOrString port;
  std::string host;
};
struct GrpcAction {
  std::int32_t port = 0;
  std::string service;
};
struct SleepAction {
  std::int64_t seconds = 0;
};
struct Probe {
  std::optional<ExecAction> exec;
  std::optional<HttpGetAction> httpGet;
  std::optional<TcpSocketAction> tcpSocket;
  std::optional<GrpcAction> grpc;
  std::int32_t initialDelaySeconds = 0;
  std::int32_t timeoutSeconds = 1;
  std::int32_t periodSeconds = 10;
  std::int32_t successThreshold = 1;
  std::int32_t failureThreshold = 3;
  std::optional<std::int64_t> terminationGracePeriodSeconds;
};
struct LifecycleHandler {
  std::optional<ExecAction> exec;
  std::optional<HttpGetAction> httpGet;
  std::optional<TcpSocketAction> tcpSocket;
  std::optional<SleepAction> sleep;
};
struct Lifecycle {
  std::optional<LifecycleHandler> postStart;
  std::optional<LifecycleHandler> preStop;
  std::string stopSignal;
};

struct Capabilities {
  api::List<std::string> add;
  api::List<std::string> drop;
};
struct SecurityProfile {
  std::string type;  // RuntimeDefault, Unconfined, Localhost
};
struct SecurityContext {
  std::optional<Capabilities> capabilities;
  std::optional<bool> privileged;
  std::optional<std::int64_t> runAsUser;
  std::optional<std::int64_t> runAsGroup;
  std::optional<bool> runAsNonRoot;
  std::optional<bool> readOnlyRootFilesystem;
  std::optional<bool> allowPrivilegeEscalation;
  std::optional<SecurityProfile> seccompProfile;
  std::optional<SecurityProfile> appArmorProfile;
};
struct Container {
  std::string name;
  api::List<EnvVar> env;
  api::List<EnvFrom> envFrom;
  api::List<VolumeMount> volumeMounts;
  api::List<VolumeDevice> volumeDevices;
  std::optional<Probe> livenessProbe;
  std::optional<Probe> readinessProbe;
  std::optional<Probe> startupProbe;
  std::optional<Lifecycle> lifecycle;
  std::string terminationMessagePath;
  std::string terminationMessagePolicy;
  std::optional<SecurityContext> securityContext;
  bool stdin_ = false;
  bool stdinOnce = false;
  bool tty = false;
  std::string imagePullPolicy;
  json::value restartPolicyRules;
  std::string targetContainerName;  // of an ephemeral container
};

struct HostPathSource {
  std::string path;
  std::string type;
};
struct EmptyDirSource {
  std::string medium;
  std::optional<Quantity> sizeLimit;
};
// For a volume or a projection; a secret's name is secretName in the first and name in the second.
struct ObjectSource {
  std::string name;
  std::string secretName;
  api::List<KeyToPath> items;
  std::optional<std::int32_t> defaultMode;
  bool optional = false;
};
struct DownwardFile {
  std::string path;
  std::optional<FieldRef> fieldRef;
  std::optional<ResourceFieldRef> resourceFieldRef;
  std::optional<std::int32_t> mode;
};
struct DownwardSource {
  api::List<DownwardFile> items;
  std::optional<std::int32_t> defaultMode;
};
struct TokenSource {
  std::string audience;
  std::int64_t expirationSeconds = 3600;
  std::string path;
};
struct Projection {
  std::optional<ObjectSource> secret;
  std::optional<ObjectSource> configMap;
  std::optional<DownwardSource> downwardAPI;
  std::optional<TokenSource> serviceAccountToken;
  json::value clusterTrustBundle;
  json::value podCertificate;
};
struct ProjectedSource {
  api::List<Projection> sources;
  std::optional<std::int32_t> defaultMode;
};
struct ClaimSource {
  std::string claimName;
  bool readOnly = false;
};
struct Volume {
  std::string name;
  std::optional<HostPathSource> hostPath;
  std::optional<EmptyDirSource> emptyDir;
  std::optional<ObjectSource> secret;
  std::optional<ObjectSource> configMap;
  std::optional<DownwardSource> downwardAPI;
  std::optional<ProjectedSource> projected;
  std::optional<ClaimSource> persistentVolumeClaim;
  json::value ephemeral;
  std::string otherType;  // the name of a source that is none of these: "nfs"
};

struct HostAlias {
  std::string ip;
  api::List<std::string> hostnames;
};
struct ReadinessGate {
  std::string conditionType;
};
struct PodOs {
  std::string name;
};
struct PodSecurityContext {
  std::optional<std::int64_t> runAsUser;
  std::optional<std::int64_t> runAsGroup;
  std::optional<bool> runAsNonRoot;
  api::List<std::int64_t> supplementalGroups;
  std::optional<std::int64_t> fsGroup;
  std::optional<SecurityProfile> seccompProfile;
  std::optional<SecurityProfile> appArmorProfile;
  json::value sysctls;
};
struct PodDetails {
  api::List<Volume> volumes;
  api::List<Container> initContainers;
  api::List<Container> containers;
  api::List<Container> ephemeralContainers;
  std::string serviceAccountName;
  bool hostPID = false;
  bool hostIPC = false;
  bool shareProcessNamespace = false;
  std::optional<bool> hostUsers;
  std::string hostname;
  api::List<ObjectRef> imagePullSecrets;
  std::string dnsPolicy;
  std::optional<bool> enableServiceLinks;
  json::value dnsConfig;
  api::List<HostAlias> hostAliases;
  api::List<ReadinessGate> readinessGates;
  std::optional<PodSecurityContext> securityContext;
  std::optional<PodOs> os;
};

}  // namespace spec

struct HostPod : api::Pod {
  spec::PodDetails details;
  std::vector<api::Container> ephemeralContainers;  // as spec.containers has the others

  // The details of a container, init container or ephemeral container. The spec must have that
  // name.
  const spec::Container& container(std::string_view name) const;
};
using HostPodPtr = std::shared_ptr<const HostPod>;

}  // namespace koord::cluster

namespace koord::api {
template <>
Result<cluster::HostPod> decode<cluster::HostPod>(const json::value& document, Reading reading);
// Read from JSON: the node is in the process of the API server.
template <>
inline const Shape* shapeOf<cluster::HostPod>() {
  return nullptr;
}
}  // namespace koord::api
