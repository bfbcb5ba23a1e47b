// The JSON mapping of host_pod.h.

#include "api/codec_impl.h"
#include "cluster/hostnode/podspec/host_pod.h"

namespace koord::cluster::spec {

BOOST_DESCRIBE_STRUCT(KeyToPath, (), (key, path, mode))
BOOST_DESCRIBE_STRUCT(FieldRef, (), (fieldPath))
BOOST_DESCRIBE_STRUCT(ResourceFieldRef, (), (containerName, resource, divisor))
BOOST_DESCRIBE_STRUCT(KeyRef, (), (name, key, optional))
BOOST_DESCRIBE_STRUCT(ObjectRef, (), (name, optional))
BOOST_DESCRIBE_STRUCT(EnvValueFrom, (), (fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef))
BOOST_DESCRIBE_STRUCT(EnvVar, (), (name, value, valueFrom))
BOOST_DESCRIBE_STRUCT(EnvFrom, (), (prefix, configMapRef, secretRef))
BOOST_DESCRIBE_STRUCT(VolumeMount, (),
                      (name, mountPath, readOnly, recursiveReadOnly, subPath, subPathExpr,
                       mountPropagation))
BOOST_DESCRIBE_STRUCT(VolumeDevice, (), (name, devicePath))
BOOST_DESCRIBE_STRUCT(ExecAction, (), (command))
BOOST_DESCRIBE_STRUCT(HttpHeader, (), (name, value))
BOOST_DESCRIBE_STRUCT(HttpGetAction, (), (path, port, host, scheme, httpHeaders))
BOOST_DESCRIBE_STRUCT(TcpSocketAction, (), (port, host))
BOOST_DESCRIBE_STRUCT(GrpcAction, (), (port, service))
BOOST_DESCRIBE_STRUCT(SleepAction, (), (seconds))
BOOST_DESCRIBE_STRUCT(Probe, (),
                      (exec, httpGet, tcpSocket, grpc, initialDelaySeconds, timeoutSeconds,
                       periodSeconds, successThreshold, failureThreshold,
                       terminationGracePeriodSeconds))
BOOST_DESCRIBE_STRUCT(LifecycleHandler, (), (exec, httpGet, tcpSocket, sleep))
BOOST_DESCRIBE_STRUCT(Lifecycle, (), (postStart, preStop, stopSignal))
BOOST_DESCRIBE_STRUCT(Capabilities, (), (add, drop))
BOOST_DESCRIBE_STRUCT(SecurityProfile, (), (type))
BOOST_DESCRIBE_STRUCT(SecurityContext, (),
                      (capabilities, privileged, runAsUser, runAsGroup, runAsNonRoot,
                       readOnlyRootFilesystem, allowPrivilegeEscalation, seccompProfile,
                       appArmorProfile))
BOOST_DESCRIBE_STRUCT(Container, (),
                      (name, env, envFrom, volumeMounts, volumeDevices, livenessProbe,
                       readinessProbe, startupProbe, lifecycle, terminationMessagePath,
                       terminationMessagePolicy, securityContext, stdin_, stdinOnce, tty,
                       imagePullPolicy, restartPolicyRules, targetContainerName))
BOOST_DESCRIBE_STRUCT(HostPathSource, (), (path, type))
BOOST_DESCRIBE_STRUCT(EmptyDirSource, (), (medium, sizeLimit))
BOOST_DESCRIBE_STRUCT(ObjectSource, (), (name, secretName, items, defaultMode, optional))
BOOST_DESCRIBE_STRUCT(DownwardFile, (), (path, fieldRef, resourceFieldRef, mode))
BOOST_DESCRIBE_STRUCT(DownwardSource, (), (items, defaultMode))
BOOST_DESCRIBE_STRUCT(TokenSource, (), (audience, expirationSeconds, path))
BOOST_DESCRIBE_STRUCT(Projection, (),
                      (secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle,
                       podCertificate))
BOOST_DESCRIBE_STRUCT(ProjectedSource, (), (sources, defaultMode))
BOOST_DESCRIBE_STRUCT(ClaimSource, (), (claimName, readOnly))
BOOST_DESCRIBE_STRUCT(Volume, (),
                      (name, hostPath, emptyDir, secret, configMap, downwardAPI, projected,
                       persistentVolumeClaim, ephemeral))
BOOST_DESCRIBE_STRUCT(HostAlias, (), (ip, hostnames))
BOOST_DESCRIBE_STRUCT(ReadinessGate, (), (conditionType))
BOOST_DESCRIBE_STRUCT(PodOs, (), (name))
BOOST_DESCRIBE_STRUCT(PodSecurityContext, (),
                      (runAsUser, runAsGroup, runAsNonRoot, supplementalGroups, fsGroup,
                       seccompProfile, appArmorProfile, sysctls))
BOOST_DESCRIBE_STRUCT(PodDetails, (),
                      (volumes, initContainers, containers, ephemeralContainers, serviceAccountName,
                       hostPID, hostIPC, shareProcessNamespace, hostUsers, hostname,
                       imagePullSecrets, dnsPolicy, enableServiceLinks, dnsConfig, hostAliases,
                       readinessGates, securityContext, os))

}  // namespace koord::cluster::spec

KOORD_CODEC(koord::cluster::spec::PodDetails)
