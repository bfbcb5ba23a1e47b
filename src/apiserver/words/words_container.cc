#include "apiserver/words/words.h"

namespace koord::apiserver::words {

const char* const kContainer = R"(
Container: One container of a pod.
  name: Name of the container, unique in the pod.
  image: The image, as docker.io/library/nginx:1.27.
  command: The program and its first arguments. Default: the entry point of the image.
  args: Arguments of the program. Default: those of the image.
  workingDir: Folder that the program starts in. Default: that of the image.
  ports: Ports that the container listens on. For information and for names.
  envFrom: ConfigMaps and Secrets whose keys become environment variables.
  env: Environment variables.
  resources: Requests and limits of the container.
  resizePolicy: Whether a change of resources restarts the container.
  restartPolicy: Of an init container: Always makes it a sidecar.
  restartPolicyRules: By exit codes: whether the container is restarted.
  volumeMounts: Where volumes are in the container.
  volumeDevices: Where block devices are in the container.
  livenessProbe: The container is restarted when this check fails.
  readinessProbe: The pod gets traffic while this check passes.
  startupProbe: The other checks begin when this one has passed.
  lifecycle: What runs after the start and before the end.
  terminationMessagePath: File whose text becomes the message of the ended container.
  terminationMessagePolicy: File (default), or FallbackToLogsOnError for the end of the log.
  imagePullPolicy: Always, IfNotPresent or Never.
  securityContext: Users and rights of the container. Overrides that of the pod.
  stdin: True if standard input stays open for kubectl attach.
  stdinOnce: True if standard input is closed when the first client leaves.
  tty: True for a terminal.
EphemeralContainer: A container that was added to a running pod to debug it.
  name: Name of the container, unique in the pod.
  image: The image, as busybox.
  command: The program and its first arguments. Default: the entry point of the image.
  args: Arguments of the program. Default: those of the image.
  workingDir: Folder that the program starts in. Default: that of the image.
  env: Environment variables.
  envFrom: ConfigMaps and Secrets whose keys become environment variables.
  volumeMounts: Where volumes are in the container.
  imagePullPolicy: Always, IfNotPresent or Never.
  securityContext: Users and rights of the container. Overrides that of the pod.
  stdin: True if standard input stays open for kubectl attach.
  tty: True for a terminal.
  targetContainerName: The container whose processes this one sees.
ContainerPort: A port that a container listens on.
  name: Name of the port, for services and probes.
  hostPort: Port of the node that leads to it.
  containerPort: The port in the container.
  protocol: TCP (default), UDP or SCTP.
  hostIP: Address of the node that hostPort is bound to.
EnvFromSource: A ConfigMap or Secret whose keys become environment variables.
  prefix: Text before each name.
  configMapRef: The ConfigMap.
  secretRef: The Secret.
OptionalReference: A ConfigMap or Secret in the same namespace.
  name: Name of the object.
  optional: True if the object may be missing.
EnvVar: An environment variable.
  name: Name of the variable.
  value: Its value. $(NAME) stands for a variable above.
  valueFrom: Where the value comes from, instead of value.
EnvVarSource: Where the value of a variable comes from. One of these.
  fieldRef: A field of the pod, as metadata.name or status.podIP.
  resourceFieldRef: A request or limit of a container.
  configMapKeyRef: A key of a ConfigMap.
  secretKeyRef: A key of a Secret.
  fileKeyRef: A key of a file in a volume.
ObjectFieldSelector: A field of the pod.
  apiVersion: Version in which the field is named. Default: v1.
  fieldPath: The field, as metadata.labels['app'].
ResourceFieldSelector: A request or limit of a container.
  containerName: The container. Needed in volumes.
  resource: The resource, as limits.cpu.
  divisor: Unit of the value, as 1Mi. Default: 1.
KeySelector: A key of a ConfigMap or Secret.
  name: Name of the object.
  key: The key.
  optional: True if the object or key may be missing.
ResourceRequirements: Requests and limits of a container.
  limits: At most this much, as cpu, memory, nvidia.com/gpu.
  requests: What the scheduler sets aside. Default: the limits. BE pods of Koordinator request
    kubernetes.io/batch-cpu and kubernetes.io/batch-memory.
  claims: Entries of the pod's resourceClaims that the container uses.
ResourceClaimRef: An entry of the pod's resourceClaims.
  name: Name of the entry.
  request: The request of the claim that is used. Empty: all of them.
ContainerResizePolicy: What a change of one resource does.
  resourceName: cpu or memory.
  restartPolicy: NotRequired or RestartContainer.
VolumeMount: Where a volume is in a container.
  name: Name of the volume in the pod.
  readOnly: True if the container cannot write.
  recursiveReadOnly: Whether mounts below are read-only too: Disabled, IfPossible or Enabled.
  mountPath: The path in the container.
  subPath: A folder or file in the volume, instead of its root.
  mountPropagation: Whether later mounts are seen by the node and by the container.
  subPathExpr: As subPath, with environment variables as $(NAME).
VolumeDevice: Where a block device is in a container.
  name: Name of the volume in the pod.
  devicePath: The path in the container.
Probe: A check of a container, repeated.
  exec: Runs a command. Exit code 0 passes.
  httpGet: Sends a GET request. 200 to 399 passes.
  tcpSocket: Opens a connection.
  grpc: Calls the health service of gRPC.
  initialDelaySeconds: Seconds after the start until the first check.
  timeoutSeconds: Seconds for an answer. Default 1.
  periodSeconds: Seconds between checks. Default 10.
  successThreshold: Checks in a row that must pass. Default 1.
  failureThreshold: Checks in a row that must fail. Default 3.
  terminationGracePeriodSeconds: Grace period of a container that fails the check.
ExecAction: Runs a command in the container, without a shell.
  command: The program and its arguments.
HTTPGetAction: Sends a GET request to the container.
  path: Path of the request.
  port: Number or name of the port.
  host: Host to ask. Default: the address of the pod.
  scheme: HTTP (default) or HTTPS.
  httpHeaders: Headers of the request.
HTTPHeader: A header of a request.
  name: Name of the header.
  value: Value of the header.
TCPSocketAction: Opens a connection to the container.
  port: Number or name of the port.
  host: Host to connect to. Default: the address of the pod.
GRPCAction: Calls the health service of gRPC.
  port: Number of the port.
  service: Name of the service to ask about.
SleepAction: Waits.
  seconds: How long.
Lifecycle: What runs after the start and before the end of a container.
  postStart: Runs right after the start. The container is restarted if it fails.
  preStop: Runs before SIGTERM, within the grace period.
  stopSignal: The signal instead of SIGTERM.
LifecycleHandler: What is done. One of these.
  exec: Runs a command in the container.
  httpGet: Sends a GET request to the container.
  tcpSocket: Not supported.
  sleep: Waits.
SecurityContext: Users and rights of a container.
  capabilities: Capabilities of Linux to add and drop.
  privileged: True for the rights of root on the node.
  seLinuxOptions: SELinux labels of the processes.
  windowsOptions: Settings for Windows.
  runAsUser: User ID of the processes.
  runAsGroup: Group ID of the processes.
  runAsNonRoot: True if the container must not run as root.
  readOnlyRootFilesystem: True if only volumes can be written.
  allowPrivilegeEscalation: False if a process cannot get more rights than its parent.
  procMount: How /proc is mounted: Default or Unmasked.
  seccompProfile: Which system calls are allowed.
  appArmorProfile: The AppArmor profile of the processes.
Capabilities: Capabilities of Linux, as NET_ADMIN.
  add: Capabilities to add.
  drop: Capabilities to drop. ALL drops all.
SELinuxOptions: SELinux labels.
  user: The user.
  role: The role.
  type: The type.
  level: The level.
SeccompProfile: A profile of seccomp or AppArmor.
  type: RuntimeDefault, Unconfined or Localhost.
  localhostProfile: With Localhost: the profile on the node.
Volume: A volume of a pod. It has one source.
  name: Name of the volume, for volumeMounts.
  hostPath: A file or folder of the node.
  emptyDir: An empty folder that lives as long as the pod.
  secret: Files from a Secret.
  configMap: Files from a ConfigMap.
  downwardAPI: Files with fields of the pod.
  persistentVolumeClaim: The volume of a claim.
  projected: Files from several sources in one folder.
  nfs: A folder of an NFS server.
  csi: A volume of a CSI driver that lives as long as the pod.
  ephemeral: A claim that is created for the pod and deleted with it.
  image: The files of an image.
HostPathVolumeSource: A file or folder of the node.
  path: The path on the node.
  type: What must be there, as Directory or DirectoryOrCreate. Empty: no check.
EmptyDirVolumeSource: An empty folder that lives as long as the pod.
  medium: Memory for a tmpfs. Default: the disk of the node.
  sizeLimit: At most this much.
SecretVolumeSource: Files from a Secret.
  secretName: Name of the Secret.
  items: Keys that become files. Default: all of them.
  defaultMode: Mode of the files. Default 0644.
  optional: True if the Secret may be missing.
ConfigMapVolumeSource: Files from a ConfigMap.
  name: Name of the object.
  items: Keys that become files. Default: all of them.
  defaultMode: Mode of the files. Default 0644.
  optional: True if the object may be missing.
KeyToPath: A key that becomes a file.
  key: The key.
  path: Path of the file in the volume.
  mode: Mode of the file.
DownwardAPIVolumeSource: Files with fields of the pod.
  items: The files.
  defaultMode: Mode of the files. Default 0644.
DownwardAPIVolumeFile: A file with a field of the pod.
  path: Path of the file in the volume.
  fieldRef: The field.
  mode: Mode of the file.
  resourceFieldRef: A request or limit of a container.
ClaimVolumeSource: The volume of a PersistentVolumeClaim.
  claimName: Name of the claim.
  readOnly: True if containers cannot write.
ProjectedVolumeSource: Files from several sources in one folder.
  sources: The sources.
  defaultMode: Mode of the files. Default 0644.
VolumeProjection: One source of a projected volume.
  secret: A Secret.
  configMap: A ConfigMap.
  downwardAPI: Fields of the pod.
  serviceAccountToken: A token of the service account.
  clusterTrustBundle: Certificates of authorities.
  podCertificate: A certificate of the pod.
ServiceAccountTokenProjection: A token of the service account, renewed before it expires.
  audience: Who should accept the token. Default: the API server.
  expirationSeconds: Life of the token. Default 3600.
  path: Path of the file in the volume.
NFSVolumeSource: A folder of an NFS server.
  server: Name or address of the server.
  path: The folder.
  readOnly: True if containers cannot write.
CSIVolumeSource: A volume of a CSI driver.
  driver: Name of the driver.
  readOnly: True if containers cannot write.
  fsType: The file system.
  volumeAttributes: What the driver wants to know.
  nodePublishSecretRef: Secret for the driver.
EphemeralVolumeSource: A claim that is created for the pod.
  volumeClaimTemplate: The claim.
PersistentVolumeClaimTemplate: A claim that is created for a pod.
  metadata: Labels and annotations of the claim.
  spec: What the claim asks for.
ImageVolumeSource: The files of an image.
  reference: The image.
  pullPolicy: Always, IfNotPresent or Never.
ContainerStatus: State of a container.
  name: Name of the container.
  state: What the container does now.
  lastState: How it ended the last time.
  ready: True if the container is ready.
  restartCount: How often it was restarted.
  image: The image that runs.
  imageID: Digest of the image.
  containerID: ID in the runtime, as containerd://ID.
  started: True when the startup probe has passed.
  allocatedResources: What the node has set aside for the container.
  resources: Requests and limits that are in force.
  volumeMounts: State of the mounts.
  user: User and groups of the first process.
  allocatedResourcesStatus: Health of the devices of the container.
  stopSignal: The signal that ends the container.
ContainerState: What a container does. One of these.
  waiting: It does not run yet.
  running: It runs.
  terminated: It has ended.
ContainerStateWaiting: A container that does not run yet.
  reason: A word on why, as ImagePullBackOff.
  message: A sentence on why.
ContainerStateRunning: A container that runs.
  startedAt: When it started.
ContainerStateTerminated: A container that has ended.
  exitCode: Exit code of the first process.
  signal: The signal that ended it.
  reason: A word on why, as OOMKilled or Completed.
  message: Its last words, from terminationMessagePath.
  startedAt: When it started.
  finishedAt: When it ended.
  containerID: ID in the runtime.
)";

}  // namespace koord::apiserver::words
