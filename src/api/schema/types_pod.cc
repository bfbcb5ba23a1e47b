#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kPod = R"(
Pod: apiVersion string; kind string; metadata ObjectMeta; spec PodSpec; status PodStatus
PodTemplateSpec: metadata ObjectMeta; spec PodSpec
PodTemplate: apiVersion string; kind string; metadata ObjectMeta; template PodTemplateSpec
PodSpec: volumes [Volume] merge=name retainKeys; initContainers [Container] merge=name
  *containers [Container] merge=name; ephemeralContainers [EphemeralContainer] merge=name
  restartPolicy string; terminationGracePeriodSeconds int; activeDeadlineSeconds int; dnsPolicy string
  nodeSelector {string} atomic; serviceAccountName string; serviceAccount string
  automountServiceAccountToken bool; nodeName string; hostNetwork bool; hostPID bool; hostIPC bool
  shareProcessNamespace bool; securityContext PodSecurityContext
  imagePullSecrets [LocalObjectReference] merge=name; hostname string; subdomain string
  affinity Affinity; schedulerName string; tolerations [Toleration]
  hostAliases [HostAlias] merge=ip; priorityClassName string; priority int; dnsConfig PodDNSConfig
  readinessGates [PodReadinessGate]; runtimeClassName string; enableServiceLinks bool
  preemptionPolicy string; overhead {quantity}
  topologySpreadConstraints [TopologySpreadConstraint] merge=topologyKey keys=topologyKey,whenUnsatisfiable
  setHostnameAsFQDN bool; os PodOS; hostUsers bool; schedulingGates [PodSchedulingGate] merge=name
  resourceClaims [PodResourceClaim] merge=name retainKeys; resources ResourceRequirements
  hostnameOverride string
Container: *name string; image string; command [string]; args [string]; workingDir string
  ports [ContainerPort] merge=containerPort keys=containerPort,protocol; envFrom [EnvFromSource]
  env [EnvVar] merge=name; resources ResourceRequirements; resizePolicy [ContainerResizePolicy]
  restartPolicy string; restartPolicyRules [any]; volumeMounts [VolumeMount] merge=mountPath
  volumeDevices [VolumeDevice] merge=devicePath; livenessProbe Probe; readinessProbe Probe
  startupProbe Probe; lifecycle Lifecycle; terminationMessagePath string
  terminationMessagePolicy string; imagePullPolicy string; securityContext SecurityContext
  stdin bool; stdinOnce bool; tty bool
EphemeralContainer: *name string; image string; command [string]; args [string]; workingDir string
  ports [ContainerPort] merge=containerPort keys=containerPort,protocol; envFrom [EnvFromSource]
  env [EnvVar] merge=name; resources ResourceRequirements; resizePolicy [ContainerResizePolicy]
  restartPolicy string; restartPolicyRules [any]; volumeMounts [VolumeMount] merge=mountPath
  volumeDevices [VolumeDevice] merge=devicePath; livenessProbe Probe; readinessProbe Probe
  startupProbe Probe; lifecycle Lifecycle; terminationMessagePath string
  terminationMessagePolicy string; imagePullPolicy string; securityContext SecurityContext
  stdin bool; stdinOnce bool; tty bool; targetContainerName string
ContainerPort: name string; hostPort int; *containerPort int; protocol string; hostIP string
EnvFromSource: prefix string; configMapRef OptionalReference; secretRef OptionalReference
OptionalReference: name string; optional bool
EnvVar: *name string; value string; valueFrom EnvVarSource
EnvVarSource: fieldRef ObjectFieldSelector; resourceFieldRef ResourceFieldSelector
  configMapKeyRef KeySelector; secretKeyRef KeySelector; fileKeyRef any
ObjectFieldSelector: apiVersion string; *fieldPath string
ResourceFieldSelector: containerName string; *resource string; divisor quantity
KeySelector: name string; *key string; optional bool
ResourceRequirements: limits {quantity}; requests {quantity}; claims [ResourceClaimRef] keys=name
ResourceClaimRef: *name string; request string
ContainerResizePolicy: *resourceName string; *restartPolicy string
VolumeMount: *name string; readOnly bool; recursiveReadOnly string; *mountPath string; subPath string
  mountPropagation string; subPathExpr string
VolumeDevice: *name string; *devicePath string
Probe: exec ExecAction; httpGet HTTPGetAction; tcpSocket TCPSocketAction; grpc GRPCAction
  initialDelaySeconds int; timeoutSeconds int; periodSeconds int; successThreshold int
  failureThreshold int; terminationGracePeriodSeconds int
ExecAction: command [string]
HTTPGetAction: path string; *port intstr; host string; scheme string; httpHeaders [HTTPHeader]
HTTPHeader: *name string; *value string
TCPSocketAction: *port intstr; host string
GRPCAction: *port int; service string
SleepAction: *seconds int
Lifecycle: postStart LifecycleHandler; preStop LifecycleHandler; stopSignal string
LifecycleHandler: exec ExecAction; httpGet HTTPGetAction; tcpSocket TCPSocketAction; sleep SleepAction
SecurityContext: capabilities Capabilities; privileged bool; seLinuxOptions SELinuxOptions
  windowsOptions any; runAsUser int; runAsGroup int; runAsNonRoot bool; readOnlyRootFilesystem bool
  allowPrivilegeEscalation bool; procMount string; seccompProfile SeccompProfile
  appArmorProfile SeccompProfile
Capabilities: add [string]; drop [string]
SELinuxOptions: user string; role string; type string; level string
SeccompProfile: *type string; localhostProfile string
PodSecurityContext: seLinuxOptions SELinuxOptions; windowsOptions any; runAsUser int; runAsGroup int
  runAsNonRoot bool; supplementalGroups [int]; supplementalGroupsPolicy string; fsGroup int
  sysctls [Sysctl]; fsGroupChangePolicy string; seccompProfile SeccompProfile
  appArmorProfile SeccompProfile; seLinuxChangePolicy string
Sysctl: *name string; *value string
Affinity: nodeAffinity NodeAffinity; podAffinity PodAffinity; podAntiAffinity PodAffinity
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution [PreferredSchedulingTerm]
NodeSelector: *nodeSelectorTerms [NodeSelectorTerm]
NodeSelectorTerm: matchExpressions [NodeSelectorRequirement]; matchFields [NodeSelectorRequirement]
NodeSelectorRequirement: *key string; *operator string; values [string]
PreferredSchedulingTerm: *weight int; *preference NodeSelectorTerm
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
  preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm]
PodAffinityTerm: labelSelector LabelSelector; namespaces [string]; *topologyKey string
  namespaceSelector LabelSelector; matchLabelKeys [string]; mismatchLabelKeys [string]
WeightedPodAffinityTerm: *weight int; *podAffinityTerm PodAffinityTerm
Toleration: key string; operator string; value string; effect string; tolerationSeconds int
HostAlias: *ip string; hostnames [string]
PodDNSConfig: nameservers [string]; searches [string]; options [PodDNSConfigOption]
PodDNSConfigOption: name string; value string
PodReadinessGate: *conditionType string
TopologySpreadConstraint: *maxSkew int; *topologyKey string; *whenUnsatisfiable string
  labelSelector LabelSelector; minDomains int; nodeAffinityPolicy string; nodeTaintsPolicy string
  matchLabelKeys [string]
PodOS: *name string
PodSchedulingGate: *name string
PodResourceClaim: *name string; resourceClaimName string; resourceClaimTemplateName string; source any
Volume: *name string; hostPath HostPathVolumeSource; emptyDir EmptyDirVolumeSource
  secret SecretVolumeSource; configMap ConfigMapVolumeSource; downwardAPI DownwardAPIVolumeSource
  persistentVolumeClaim ClaimVolumeSource; projected ProjectedVolumeSource; nfs NFSVolumeSource
  csi CSIVolumeSource; ephemeral EphemeralVolumeSource; image ImageVolumeSource
  gcePersistentDisk any; awsElasticBlockStore any; gitRepo any; iscsi any; glusterfs any; rbd any
  flexVolume any; cinder any; cephfs any; flocker any; fc any; azureFile any; vsphereVolume any
  quobyte any; azureDisk any; photonPersistentDisk any; portworxVolume any; scaleIO any; storageos any
HostPathVolumeSource: *path string; type string
EmptyDirVolumeSource: medium string; sizeLimit quantity
SecretVolumeSource: secretName string; items [KeyToPath]; defaultMode int; optional bool
ConfigMapVolumeSource: name string; items [KeyToPath]; defaultMode int; optional bool
KeyToPath: *key string; *path string; mode int
DownwardAPIVolumeSource: items [DownwardAPIVolumeFile]; defaultMode int
DownwardAPIVolumeFile: *path string; fieldRef ObjectFieldSelector; mode int
  resourceFieldRef ResourceFieldSelector
ClaimVolumeSource: *claimName string; readOnly bool
ProjectedVolumeSource: sources [VolumeProjection]; defaultMode int
VolumeProjection: secret ConfigMapVolumeSource; configMap ConfigMapVolumeSource
  downwardAPI DownwardAPIVolumeSource; serviceAccountToken ServiceAccountTokenProjection
  clusterTrustBundle any; podCertificate any
ServiceAccountTokenProjection: audience string; expirationSeconds int; *path string
NFSVolumeSource: *server string; *path string; readOnly bool
CSIVolumeSource: *driver string; readOnly bool; fsType string; volumeAttributes {string}
  nodePublishSecretRef LocalObjectReference
EphemeralVolumeSource: volumeClaimTemplate PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate: metadata ObjectMeta; *spec PersistentVolumeClaimSpec
ImageVolumeSource: reference string; pullPolicy string
PodStatus: observedGeneration int; phase string; conditions [PodCondition] merge=type; message string
  reason string; nominatedNodeName string; hostIP string; hostIPs [HostIP] merge=ip; podIP string
  podIPs [PodIP] merge=ip; startTime time; initContainerStatuses [ContainerStatus]
  containerStatuses [ContainerStatus]; qosClass string; ephemeralContainerStatuses [ContainerStatus]
  resize string; resourceClaimStatuses [PodResourceClaimStatus] merge=name retainKeys
  extendedResourceClaimStatus any; allocatedResources {quantity}; resources ResourceRequirements
HostIP: *ip string
PodIP: *ip string
PodCondition: *type string; *status string; observedGeneration int; lastProbeTime time
  lastTransitionTime time; reason string; message string
PodResourceClaimStatus: *name string; resourceClaimName string
ContainerStatus: *name string; state ContainerState; lastState ContainerState; ready bool
  restartCount int; image string; imageID string; containerID string; started bool
  allocatedResources {quantity}; resources ResourceRequirements
  volumeMounts [VolumeMountStatus] merge=mountPath; user any; allocatedResourcesStatus [any]
  stopSignal string
VolumeMountStatus: *name string; *mountPath string; readOnly bool; recursiveReadOnly string
ContainerState: waiting ContainerStateWaiting; running ContainerStateRunning
  terminated ContainerStateTerminated
ContainerStateWaiting: reason string; message string
ContainerStateRunning: startedAt time
ContainerStateTerminated: *exitCode int; signal int; reason string; message string; startedAt time
  finishedAt time; containerID string
Binding: apiVersion string; kind string; metadata ObjectMeta; *target ObjectReference
Eviction: apiVersion string; kind string; metadata ObjectMeta; deleteOptions DeleteOptions
)";

}  // namespace koord::api::tables
