#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kWorkloads = R"(
WorkloadCondition: *type string; *status string; lastUpdateTime time; lastTransitionTime time
  lastProbeTime time; reason string; message string
ReplicationController: apiVersion string; kind string; metadata ObjectMeta
  spec ReplicationControllerSpec; status ReplicaSetStatus
ReplicationControllerSpec: replicas int; minReadySeconds int; selector {string} atomic
  template PodTemplateSpec
Deployment: apiVersion string; kind string; metadata ObjectMeta; spec DeploymentSpec
  status DeploymentStatus
DeploymentSpec: replicas int; *selector LabelSelector; *template PodTemplateSpec
  strategy DeploymentStrategy retainKeys; minReadySeconds int; revisionHistoryLimit int; paused bool
  progressDeadlineSeconds int
DeploymentStrategy: type string; rollingUpdate RollingUpdateDeployment
RollingUpdateDeployment: maxUnavailable intstr; maxSurge intstr
DeploymentStatus: observedGeneration int; replicas int; updatedReplicas int; readyReplicas int
  availableReplicas int; unavailableReplicas int; terminatingReplicas int
  conditions [WorkloadCondition] merge=type; collisionCount int
ReplicaSet: apiVersion string; kind string; metadata ObjectMeta; spec ReplicaSetSpec
  status ReplicaSetStatus
ReplicaSetSpec: replicas int; minReadySeconds int; *selector LabelSelector; template PodTemplateSpec
ReplicaSetStatus: replicas int; fullyLabeledReplicas int; readyReplicas int; availableReplicas int
  terminatingReplicas int; observedGeneration int; conditions [WorkloadCondition] merge=type
StatefulSet: apiVersion string; kind string; metadata ObjectMeta; spec StatefulSetSpec
  status StatefulSetStatus
StatefulSetSpec: replicas int; *selector LabelSelector; *template PodTemplateSpec
  volumeClaimTemplates [PersistentVolumeClaim]; serviceName string; podManagementPolicy string
  updateStrategy StatefulSetUpdateStrategy; revisionHistoryLimit int; minReadySeconds int
  persistentVolumeClaimRetentionPolicy ClaimRetentionPolicy; ordinals StatefulSetOrdinals
StatefulSetUpdateStrategy: type string; rollingUpdate RollingUpdateStatefulSet
RollingUpdateStatefulSet: partition int; maxUnavailable intstr
ClaimRetentionPolicy: whenDeleted string; whenScaled string
StatefulSetOrdinals: start int
StatefulSetStatus: observedGeneration int; replicas int; readyReplicas int; currentReplicas int
  updatedReplicas int; currentRevision string; updateRevision string; collisionCount int
  conditions [WorkloadCondition] merge=type; availableReplicas int
DaemonSet: apiVersion string; kind string; metadata ObjectMeta; spec DaemonSetSpec
  status DaemonSetStatus
DaemonSetSpec: *selector LabelSelector; *template PodTemplateSpec
  updateStrategy DaemonSetUpdateStrategy; minReadySeconds int; revisionHistoryLimit int
DaemonSetUpdateStrategy: type string; rollingUpdate RollingUpdateDeployment
DaemonSetStatus: currentNumberScheduled int; numberMisscheduled int; desiredNumberScheduled int
  numberReady int; observedGeneration int; updatedNumberScheduled int; numberAvailable int
  numberUnavailable int; collisionCount int; conditions [WorkloadCondition] merge=type
ControllerRevision: apiVersion string; kind string; metadata ObjectMeta; data any; *revision int
Job: apiVersion string; kind string; metadata ObjectMeta; spec JobSpec; status JobStatus
JobSpec: parallelism int; completions int; activeDeadlineSeconds int
  podFailurePolicy PodFailurePolicy; successPolicy SuccessPolicy; backoffLimit int
  backoffLimitPerIndex int; maxFailedIndexes int; selector LabelSelector; manualSelector bool
  *template PodTemplateSpec; ttlSecondsAfterFinished int; completionMode string; suspend bool
  podReplacementPolicy string; managedBy string
PodFailurePolicy: *rules [PodFailurePolicyRule]
PodFailurePolicyRule: *action string; onExitCodes PodFailureExitCodes
  onPodConditions [PodFailureCondition]
PodFailureExitCodes: containerName string; *operator string; *values [int]
PodFailureCondition: *type string; status string
SuccessPolicy: *rules [SuccessPolicyRule]
SuccessPolicyRule: succeededIndexes string; succeededCount int
JobStatus: conditions [WorkloadCondition] merge=type; startTime time; completionTime time; active int
  succeeded int; failed int; terminating int; completedIndexes string; failedIndexes string
  uncountedTerminatedPods UncountedTerminatedPods; ready int
UncountedTerminatedPods: succeeded [string]; failed [string]
CronJob: apiVersion string; kind string; metadata ObjectMeta; spec CronJobSpec; status CronJobStatus
CronJobSpec: *schedule string; timeZone string; startingDeadlineSeconds int; concurrencyPolicy string
  suspend bool; *jobTemplate JobTemplateSpec; successfulJobsHistoryLimit int
  failedJobsHistoryLimit int
JobTemplateSpec: metadata ObjectMeta; spec JobSpec
CronJobStatus: active [ObjectReference]; lastScheduleTime time; lastSuccessfulTime time
PodDisruptionBudget: apiVersion string; kind string; metadata ObjectMeta
  spec PodDisruptionBudgetSpec; status PodDisruptionBudgetStatus
PodDisruptionBudgetSpec: minAvailable intstr; selector LabelSelector replace; maxUnavailable intstr
  unhealthyPodEvictionPolicy string
PodDisruptionBudgetStatus: observedGeneration int; disruptedPods {time}; disruptionsAllowed int
  currentHealthy int; desiredHealthy int; expectedPods int; conditions [Condition] merge=type
HorizontalPodAutoscaler: apiVersion string; kind string; metadata ObjectMeta
  spec HorizontalPodAutoscalerSpec; status any
HorizontalPodAutoscalerSpec: *scaleTargetRef CrossVersionObjectReference; minReplicas int
  *maxReplicas int; metrics [any]; behavior any; targetCPUUtilizationPercentage int
CrossVersionObjectReference: *kind string; *name string; apiVersion string
Scale: apiVersion string; kind string; metadata ObjectMeta; spec ScaleSpec; status ScaleStatus
ScaleSpec: replicas int
ScaleStatus: *replicas int; selector string
)";

}  // namespace koord::api::tables
