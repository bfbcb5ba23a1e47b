#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kPod = R"(
Pod: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 PodSpec; status#3 PodStatus
PodTemplateSpec: metadata#1 ObjectMeta; spec#2 PodSpec
PodTemplate: apiVersion string; kind string; metadata#1 ObjectMeta; template#2 PodTemplateSpec
PodSpec: volumes#1 [Volume] merge=name retainKeys; initContainers#20 [Container] merge=name
  *containers#2 [Container] merge=name; ephemeralContainers#34 [EphemeralContainer] merge=name
  restartPolicy#3 string; terminationGracePeriodSeconds#4? int; activeDeadlineSeconds#5? int
  dnsPolicy#6 string; nodeSelector#7 {string} atomic; serviceAccountName#8 string
  serviceAccount#9 string; automountServiceAccountToken#21? bool; nodeName#10 string
  hostNetwork#11 bool; hostPID#12 bool; hostIPC#13 bool; shareProcessNamespace#27? bool
  securityContext#14? PodSecurityContext; imagePullSecrets#15 [LocalObjectReference] merge=name
  hostname#16 string; subdomain#17 string; affinity#18? Affinity; schedulerName#19 string
  tolerations#22 [Toleration]; hostAliases#23 [HostAlias] merge=ip; priorityClassName#24 string
  priority#25? int; dnsConfig#26? PodDNSConfig; readinessGates#28 [PodReadinessGate]
  runtimeClassName#29? string; enableServiceLinks#30? bool; preemptionPolicy#31? string
  overhead#32 {quantity}
  topologySpreadConstraints#33 [TopologySpreadConstraint] merge=topologyKey keys=topologyKey,whenUnsatisfiable
  setHostnameAsFQDN#35? bool; os#36? PodOS; hostUsers#37? bool
  schedulingGates#38 [PodSchedulingGate] merge=name; schedulingGroup#43? PodSchedulingGroup
  resourceClaims#39 [PodResourceClaim] merge=name retainKeys; resources#40? ResourceRequirements
  hostnameOverride#41? string
Container: *name#1 string; image#2 string; command#3 [string]; args#4 [string]
  workingDir#5 string; ports#6 [ContainerPort] merge=containerPort keys=containerPort,protocol
  envFrom#19 [EnvFromSource]; env#7 [EnvVar] merge=name; resources#8 ResourceRequirements
  resizePolicy#23 [ContainerResizePolicy]; restartPolicy#24? string
  restartPolicyRules#25 [ContainerRestartRule]; volumeMounts#9 [VolumeMount] merge=mountPath
  volumeDevices#21 [VolumeDevice] merge=devicePath; livenessProbe#10? Probe
  readinessProbe#11? Probe; startupProbe#22? Probe; lifecycle#12? Lifecycle
  terminationMessagePath#13 string; terminationMessagePolicy#20 string; imagePullPolicy#14 string
  securityContext#15? SecurityContext; stdin#16 bool; stdinOnce#17 bool; tty#18 bool
EphemeralContainer: *name#1.1 string; image#1.2 string; command#1.3 [string]; args#1.4 [string]
  workingDir#1.5 string
  ports#1.6 [ContainerPort] merge=containerPort keys=containerPort,protocol
  envFrom#1.19 [EnvFromSource]; env#1.7 [EnvVar] merge=name; resources#1.8 ResourceRequirements
  resizePolicy#1.23 [ContainerResizePolicy]; restartPolicy#1.24? string
  restartPolicyRules#1.25 [ContainerRestartRule]; volumeMounts#1.9 [VolumeMount] merge=mountPath
  volumeDevices#1.21 [VolumeDevice] merge=devicePath; livenessProbe#1.10? Probe
  readinessProbe#1.11? Probe; startupProbe#1.22? Probe; lifecycle#1.12? Lifecycle
  terminationMessagePath#1.13 string; terminationMessagePolicy#1.20 string
  imagePullPolicy#1.14 string; securityContext#1.15? SecurityContext; stdin#1.16 bool
  stdinOnce#1.17 bool; tty#1.18 bool; targetContainerName#2 string
ContainerPort: name#1 string; hostPort#2 int; *containerPort#3 int; protocol#4 string default=TCP
  hostIP#5 string
EnvFromSource: prefix#1 string; configMapRef#2? OptionalReference; secretRef#3? OptionalReference
OptionalReference: name#1.1 string; optional#2? bool
EnvVar: *name#1 string; value#2 string; valueFrom#3? EnvVarSource
EnvVarSource: fieldRef#1? ObjectFieldSelector; resourceFieldRef#2? ResourceFieldSelector
  configMapKeyRef#3? KeySelector; secretKeyRef#4? KeySelector; fileKeyRef#5? FileKeySelector
ObjectFieldSelector atomic: apiVersion#1 string; *fieldPath#2 string
ResourceFieldSelector atomic: containerName#1 string; *resource#2 string; divisor#3 quantity
KeySelector atomic: name#1.1 string; *key#2 string; optional#3? bool
ResourceRequirements: limits#1 {quantity}; requests#2 {quantity}
  claims#3 [ResourceClaimRef] keys=name
ResourceClaimRef: *name#1 string; request#2 string
ContainerResizePolicy: *resourceName#1 string; *restartPolicy#2 string
VolumeMount: *name#1 string; readOnly#2 bool; recursiveReadOnly#7? string; *mountPath#3 string
  subPath#4 string; mountPropagation#5? string; subPathExpr#6 string
VolumeDevice: *name#1 string; *devicePath#2 string
Probe: exec#1.1? ExecAction; httpGet#1.2? HTTPGetAction; tcpSocket#1.3? TCPSocketAction
  grpc#1.4? GRPCAction; initialDelaySeconds#2 int; timeoutSeconds#3 int; periodSeconds#4 int
  successThreshold#5 int; failureThreshold#6 int; terminationGracePeriodSeconds#7? int
ExecAction: command#1 [string]
HTTPGetAction: path#1 string; *port#2 intstr; host#3 string; scheme#4 string
  httpHeaders#5 [HTTPHeader]
HTTPHeader: *name#1 string; *value#2 string
TCPSocketAction: *port#1 intstr; host#2 string
GRPCAction: *port#1 int; service#2? string
SleepAction: *seconds#1 int
Lifecycle: postStart#1? LifecycleHandler; preStop#2? LifecycleHandler; stopSignal#3? string
LifecycleHandler: exec#1? ExecAction; httpGet#2? HTTPGetAction; tcpSocket#3? TCPSocketAction
  sleep#4? SleepAction
SecurityContext: capabilities#1? Capabilities; privileged#2? bool
  seLinuxOptions#3? SELinuxOptions; windowsOptions#10? WindowsSecurityContextOptions
  runAsUser#4? int; runAsGroup#8? int; runAsNonRoot#5? bool; readOnlyRootFilesystem#6? bool
  allowPrivilegeEscalation#7? bool; procMount#9? string; seccompProfile#11? SeccompProfile
  appArmorProfile#12? SeccompProfile
Capabilities: add#1 [string]; drop#2 [string]
SELinuxOptions: user#1 string; role#2 string; type#3 string; level#4 string
SeccompProfile: *type#1 string; localhostProfile#2? string
PodSecurityContext: seLinuxOptions#1? SELinuxOptions
  windowsOptions#8? WindowsSecurityContextOptions; runAsUser#2? int; runAsGroup#6? int
  runAsNonRoot#3? bool; supplementalGroups#4 [int]; supplementalGroupsPolicy#12? string
  fsGroup#5? int; sysctls#7 [Sysctl]; fsGroupChangePolicy#9? string
  seccompProfile#10? SeccompProfile; appArmorProfile#11? SeccompProfile
  seLinuxChangePolicy#13? string
Sysctl: *name#1 string; *value#2 string
Affinity: nodeAffinity#1? NodeAffinity; podAffinity#2? PodAffinity
  podAntiAffinity#3? PodAffinity
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution#1? NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution#2 [PreferredSchedulingTerm]
NodeSelector atomic: *nodeSelectorTerms#1 [NodeSelectorTerm]
NodeSelectorTerm atomic: matchExpressions#1 [NodeSelectorRequirement]
  matchFields#2 [NodeSelectorRequirement]
NodeSelectorRequirement: *key#1 string; *operator#2 string; values#3 [string]
PreferredSchedulingTerm: *weight#1 int; *preference#2 NodeSelectorTerm
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution#1 [PodAffinityTerm]
  preferredDuringSchedulingIgnoredDuringExecution#2 [WeightedPodAffinityTerm]
PodAffinityTerm: labelSelector#1? LabelSelector; namespaces#2 [string]; *topologyKey#3 string
  namespaceSelector#4? LabelSelector; matchLabelKeys#5 [string]; mismatchLabelKeys#6 [string]
WeightedPodAffinityTerm: *weight#1 int; *podAffinityTerm#2 PodAffinityTerm
Toleration: key#1 string; operator#2 string; value#3 string; effect#4 string
  tolerationSeconds#5? int
HostAlias: *ip#1 string; hostnames#2 [string]
PodDNSConfig: nameservers#1 [string]; searches#2 [string]; options#3 [PodDNSConfigOption]
PodDNSConfigOption: name#1 string; value#2? string
PodReadinessGate: *conditionType#1 string
TopologySpreadConstraint: *maxSkew#1 int; *topologyKey#2 string; *whenUnsatisfiable#3 string
  labelSelector#4? LabelSelector; minDomains#5? int; nodeAffinityPolicy#6? string
  nodeTaintsPolicy#7? string; matchLabelKeys#8 [string]
PodOS: *name#1 string
PodSchedulingGate: *name#1 string
PodSchedulingGroup: podGroupName#1? string
PodResourceClaim: *name#1 string; resourceClaimName#3? string
  resourceClaimTemplateName#4? string; source any
Volume: *name#1 string; hostPath#2.1? HostPathVolumeSource; emptyDir#2.2? EmptyDirVolumeSource
  secret#2.6? SecretVolumeSource; configMap#2.19? ConfigMapVolumeSource
  downwardAPI#2.16? DownwardAPIVolumeSource; persistentVolumeClaim#2.10? ClaimVolumeSource
  projected#2.26? ProjectedVolumeSource; nfs#2.7? NFSVolumeSource; csi#2.28? CSIVolumeSource
  ephemeral#2.29? EphemeralVolumeSource; image#2.30? ImageVolumeSource
  gcePersistentDisk#2.3? GCEPersistentDiskVolumeSource
  awsElasticBlockStore#2.4? AWSElasticBlockStoreVolumeSource; gitRepo#2.5? GitRepoVolumeSource
  iscsi#2.8? ISCSIVolumeSource; glusterfs#2.9? GlusterfsVolumeSource; rbd#2.11? RBDVolumeSource
  flexVolume#2.12? FlexVolumeSource; cinder#2.13? CinderVolumeSource
  cephfs#2.14? CephFSVolumeSource; flocker#2.15? FlockerVolumeSource; fc#2.17? FCVolumeSource
  azureFile#2.18? AzureFileVolumeSource; vsphereVolume#2.20? VsphereVirtualDiskVolumeSource
  quobyte#2.21? QuobyteVolumeSource; azureDisk#2.22? AzureDiskVolumeSource
  photonPersistentDisk#2.23? PhotonPersistentDiskVolumeSource
  portworxVolume#2.24? PortworxVolumeSource; scaleIO#2.25? ScaleIOVolumeSource
  storageos#2.27? StorageOSVolumeSource
HostPathVolumeSource: *path#1 string; type#2? string
EmptyDirVolumeSource: medium#1 string; sizeLimit#2? quantity
SecretVolumeSource: secretName#1 string; items#2 [KeyToPath]; defaultMode#3? int
  optional#4? bool
ConfigMapVolumeSource: name#1.1 string; items#2 [KeyToPath]; defaultMode#3? int; optional#4? bool
KeyToPath: *key#1 string; *path#2 string; mode#3? int
DownwardAPIVolumeSource: items#1 [DownwardAPIVolumeFile]; defaultMode#2? int
DownwardAPIVolumeFile: *path#1 string; fieldRef#2? ObjectFieldSelector; mode#4? int
  resourceFieldRef#3? ResourceFieldSelector
ClaimVolumeSource: *claimName#1 string; readOnly#2 bool
ProjectedVolumeSource: sources#1 [VolumeProjection] kept; defaultMode#2? int
VolumeProjection: secret#1? ConfigMapVolumeSource; configMap#3? ConfigMapVolumeSource
  downwardAPI#2? DownwardAPIVolumeSource; serviceAccountToken#4? ServiceAccountTokenProjection
  clusterTrustBundle#5? ClusterTrustBundleProjection; podCertificate#6? PodCertificateProjection
ServiceAccountTokenProjection: audience#1 string; expirationSeconds#2? int; *path#3 string
NFSVolumeSource: *server#1 string; *path#2 string; readOnly#3 bool
CSIVolumeSource: *driver#1 string; readOnly#2? bool; fsType#3? string
  volumeAttributes#4 {string}; nodePublishSecretRef#5? LocalObjectReference
EphemeralVolumeSource: volumeClaimTemplate#1? PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate: metadata#1 ObjectMeta; *spec#2 PersistentVolumeClaimSpec
ImageVolumeSource: reference#1 string; pullPolicy#2 string
PodStatus: observedGeneration#17 int; phase#1 string; conditions#2 [PodCondition] merge=type
  message#3 string; reason#4 string; nominatedNodeName#11 string; hostIP#5 string
  hostIPs#16 [HostIP] merge=ip atomic; podIP#6 string; podIPs#12 [PodIP] merge=ip
  startTime#7? time; initContainerStatuses#10 [ContainerStatus]
  containerStatuses#8 [ContainerStatus]; qosClass#9 string
  ephemeralContainerStatuses#13 [ContainerStatus]; resize#14 string
  resourceClaimStatuses#15 [PodResourceClaimStatus] merge=name retainKeys
  extendedResourceClaimStatus#18? PodExtendedResourceClaimStatus
  allocatedResources#19 {quantity}; resources#20? ResourceRequirements
HostIP: *ip#1 string
PodIP: *ip#1 string
PodCondition: *type#1 string; *status#2 string; observedGeneration#7 int; lastProbeTime#3 time
  lastTransitionTime#4 time; reason#5 string; message#6 string
PodResourceClaimStatus: *name#1 string; resourceClaimName#2? string
ContainerStatus: *name#1 string; state#2 ContainerState kept; lastState#3 ContainerState kept
  ready#4 bool kept; restartCount#5 int kept; image#6 string kept; imageID#7 string kept
  containerID#8 string; started#9? bool
  allocatedResources#10 {quantity}; resources#11? ResourceRequirements
  volumeMounts#12 [VolumeMountStatus] merge=mountPath; user#13? ContainerUser
  allocatedResourcesStatus#14 [ResourceStatus] merge=name; stopSignal#15? string
VolumeMountStatus: *name#1 string; *mountPath#2 string; readOnly#3 bool
  recursiveReadOnly#4? string
ContainerState: waiting#1? ContainerStateWaiting; running#2? ContainerStateRunning
  terminated#3? ContainerStateTerminated
ContainerStateWaiting: reason#1 string; message#2 string
ContainerStateRunning: startedAt#1 time
ContainerStateTerminated: *exitCode#1 int; signal#2 int; reason#3 string; message#4 string
  startedAt#5 time; finishedAt#6 time; containerID#7 string
Binding: apiVersion string; kind string; metadata#1 ObjectMeta; *target#2 ObjectReference
Eviction: apiVersion string; kind string; metadata#1 ObjectMeta; deleteOptions#2? DeleteOptions
WindowsSecurityContextOptions: gmsaCredentialSpecName#1? string; gmsaCredentialSpec#2? string
  runAsUserName#3? string; hostProcess#4? bool
ContainerRestartRule: action#1 string; exitCodes#2? ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: operator#1 string; values#2 [int] set
FileKeySelector atomic: *volumeName#1 string; *path#2 string; *key#3 string; optional#4? bool
ClusterTrustBundleProjection: name#1? string; signerName#2? string
  labelSelector#3? LabelSelector; optional#5? bool; *path#4 string; user#6? int
PodExtendedResourceClaimStatus: requestMappings#1 [ContainerExtendedResourceRequest] kept
  resourceClaimName#2 string
ContainerExtendedResourceRequest: *containerName#1 string; *resourceName#2 string
  *requestName#3 string
ContainerUser: linux#1? LinuxContainerUser
LinuxContainerUser: *uid#1 int; *gid#2 int; supplementalGroups#3 [int]
ResourceStatus: name#1 string; resources#2 [ResourceHealth] keys=resourceID
ResourceHealth: *resourceID#1 string; health#2 string; message#6? string
)";

}  // namespace koord::api::tables
