#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kWorkloads = R"(
WorkloadCondition: *type#1 string; *status#2 string; lastTransitionTime#3 time; reason#4 string
  message#5 string
ReplicationController: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 ReplicationControllerSpec; status#3 ReplicaSetStatus
ReplicationControllerSpec: replicas#1? int; minReadySeconds#4 int; selector#2 {string} atomic
  template#3? PodTemplateSpec
Deployment: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 DeploymentSpec
  status#3 DeploymentStatus
DeploymentSpec: replicas#1? int; *selector#2? LabelSelector; *template#3 PodTemplateSpec
  strategy#4 DeploymentStrategy retainKeys; minReadySeconds#5 int; revisionHistoryLimit#6? int
  paused#7 bool; progressDeadlineSeconds#9? int
DeploymentStrategy: type#1 string; rollingUpdate#2? RollingUpdateDeployment
RollingUpdateDeployment: maxUnavailable#1? intstr; maxSurge#2? intstr
DeploymentStatus: observedGeneration#1 int; replicas#2 int; updatedReplicas#3 int
  readyReplicas#7 int; availableReplicas#4 int; unavailableReplicas#5 int
  terminatingReplicas#9? int; conditions#6 [DeploymentCondition] merge=type
  collisionCount#8? int
DeploymentCondition: *type#1 string; *status#2 string; lastUpdateTime#6 time
  lastTransitionTime#7 time; reason#4 string; message#5 string
ReplicaSet: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 ReplicaSetSpec
  status#3 ReplicaSetStatus
ReplicaSetSpec: replicas#1? int; minReadySeconds#4 int; *selector#2? LabelSelector
  template#3 PodTemplateSpec
ReplicaSetStatus: *replicas#1 int; fullyLabeledReplicas#2 int; readyReplicas#4 int
  availableReplicas#5 int; terminatingReplicas#7? int; observedGeneration#3 int
  conditions#6 [WorkloadCondition] merge=type
StatefulSet: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 StatefulSetSpec
  status#3 StatefulSetStatus
StatefulSetSpec: replicas#1? int; *selector#2? LabelSelector; *template#3 PodTemplateSpec
  volumeClaimTemplates#4 [PersistentVolumeClaim]; serviceName#5 string
  podManagementPolicy#6 string; updateStrategy#7 StatefulSetUpdateStrategy
  revisionHistoryLimit#8? int; minReadySeconds#9 int
  persistentVolumeClaimRetentionPolicy#10? ClaimRetentionPolicy; ordinals#11? StatefulSetOrdinals
StatefulSetUpdateStrategy: type#1 string; rollingUpdate#2? RollingUpdateStatefulSet
RollingUpdateStatefulSet: partition#1? int; maxUnavailable#2? intstr
ClaimRetentionPolicy: whenDeleted#1 string; whenScaled#2 string
StatefulSetOrdinals: start#1 int
StatefulSetStatus: observedGeneration#1 int; *replicas#2 int; readyReplicas#3 int
  currentReplicas#4 int; updatedReplicas#5 int; currentRevision#6 string; updateRevision#7 string
  collisionCount#9? int; conditions#10 [WorkloadCondition] merge=type; availableReplicas#11 int kept
DaemonSet: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 DaemonSetSpec
  status#3 DaemonSetStatus
DaemonSetSpec: *selector#1? LabelSelector; *template#2 PodTemplateSpec
  updateStrategy#3 DaemonSetUpdateStrategy; minReadySeconds#4 int; revisionHistoryLimit#6? int
DaemonSetUpdateStrategy: type#1 string; rollingUpdate#2? RollingUpdateDeployment
DaemonSetStatus: *currentNumberScheduled#1 int; *numberMisscheduled#2 int
  *desiredNumberScheduled#3 int; *numberReady#4 int; observedGeneration#5 int
  updatedNumberScheduled#6 int; numberAvailable#7 int; numberUnavailable#8 int
  collisionCount#9? int; conditions#10 [WorkloadCondition] merge=type
ControllerRevision: apiVersion string; kind string; metadata#1 ObjectMeta; data#2 raw
  *revision#3 int
Job: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 JobSpec; status#3 JobStatus
JobSpec: parallelism#1? int; completions#2? int; activeDeadlineSeconds#3? int
  podFailurePolicy#11? PodFailurePolicy; successPolicy#16? SuccessPolicy; backoffLimit#7? int
  backoffLimitPerIndex#12? int; maxFailedIndexes#13? int; selector#4? LabelSelector
  manualSelector#5? bool; *template#6 PodTemplateSpec; ttlSecondsAfterFinished#8? int
  completionMode#9? string; suspend#10? bool; podReplacementPolicy#14? string
  managedBy#15? string
JobCondition: *type#1 string; *status#2 string; lastProbeTime#3 time; lastTransitionTime#4 time
  reason#5 string; message#6 string
PodFailurePolicy: *rules#1 [PodFailurePolicyRule]
PodFailurePolicyRule: *action#1 string; onExitCodes#2? PodFailureExitCodes
  onPodConditions#3 [PodFailureCondition]
PodFailureExitCodes: containerName#1? string; *operator#2 string; *values#3 [int] set
PodFailureCondition: *type#1 string; status#2 string
SuccessPolicy: *rules#1 [SuccessPolicyRule]
SuccessPolicyRule: succeededIndexes#1? string; succeededCount#2? int
JobStatus: conditions#1 [JobCondition] merge=type atomic; startTime#2? time
  completionTime#3? time; active#4 int; succeeded#5 int; failed#6 int; terminating#11? int
  completedIndexes#7 string; failedIndexes#10? string
  uncountedTerminatedPods#8? UncountedTerminatedPods; ready#9? int
UncountedTerminatedPods: succeeded#1 [string] set; failed#2 [string] set
CronJob: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 CronJobSpec
  status#3 CronJobStatus
CronJobSpec: *schedule#1 string; timeZone#8? string; startingDeadlineSeconds#2? int
  concurrencyPolicy#3 string; suspend#4? bool; *jobTemplate#5 JobTemplateSpec
  successfulJobsHistoryLimit#6? int; failedJobsHistoryLimit#7? int
JobTemplateSpec: metadata#1 ObjectMeta; spec#2 JobSpec
CronJobStatus: active#1 [ObjectReference]; lastScheduleTime#4? time; lastSuccessfulTime#5? time
PodDisruptionBudget: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 PodDisruptionBudgetSpec; status#3 PodDisruptionBudgetStatus
PodDisruptionBudgetSpec: minAvailable#1? intstr; selector#2? LabelSelector replace
  maxUnavailable#3? intstr; unhealthyPodEvictionPolicy#4? string
PodDisruptionBudgetStatus: observedGeneration#1 int; disruptedPods#2 {time}
  *disruptionsAllowed#3 int; *currentHealthy#4 int; *desiredHealthy#5 int; *expectedPods#6 int
  conditions#7 [Condition] merge=type
HorizontalPodAutoscaler: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 HorizontalPodAutoscalerSpec; status#3 HorizontalPodAutoscalerStatus
HorizontalPodAutoscalerSpec: *scaleTargetRef#1 CrossVersionObjectReference; minReplicas#2? int
  *maxReplicas#3 int; metrics#4 [MetricSpec]; behavior#5? HorizontalPodAutoscalerBehavior
  targetCPUUtilizationPercentage int
CrossVersionObjectReference: *kind#1 string; *name#2 string; apiVersion#3 string
Scale: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 ScaleSpec
  status#3 ScaleStatus
ScaleSpec: replicas#1 int
ScaleStatus: *replicas#1 int; selector#2 string
HorizontalPodAutoscalerStatus: observedGeneration#1? int; lastScaleTime#2? time
  currentReplicas#3 int; *desiredReplicas#4 int; currentMetrics#5 [MetricStatus] kept
  conditions#6 [HorizontalPodAutoscalerCondition] merge=type
MetricStatus: type#1 string; object#2? ObjectMetricStatus; pods#3? PodsMetricStatus
  resource#4? ResourceMetricStatus; containerResource#7? ContainerResourceMetricStatus
  external#5? ExternalMetricStatus
ObjectMetricStatus: metric#1 MetricIdentifier; current#2 MetricValueStatus
  describedObject#3 CrossVersionObjectReference
MetricIdentifier: *name#1 string; selector#2? LabelSelector
MetricValueStatus: value#1? quantity; averageValue#2? quantity; averageUtilization#3? int
PodsMetricStatus: metric#1 MetricIdentifier; current#2 MetricValueStatus
ResourceMetricStatus: name#1 string; current#2 MetricValueStatus
ContainerResourceMetricStatus: name#1 string; current#2 MetricValueStatus; container#3 string
ExternalMetricStatus: metric#1 MetricIdentifier; current#2 MetricValueStatus
HorizontalPodAutoscalerCondition: *type#1 string; *status#2 string; lastTransitionTime#3 time
  reason#4 string; message#5 string; observedGeneration#6? int
MetricSpec: *type#1 string; object#2? ObjectMetricSource; pods#3? PodsMetricSource
  resource#4? ResourceMetricSource; containerResource#7? ContainerResourceMetricSource
  external#5? ExternalMetricSource
ObjectMetricSource: *describedObject#1 CrossVersionObjectReference; *target#2 MetricTarget
  *metric#3 MetricIdentifier
MetricTarget: *type#1 string; value#2? quantity; averageValue#3? quantity
  averageUtilization#4? int
PodsMetricSource: *metric#1 MetricIdentifier; *target#2 MetricTarget
ResourceMetricSource: *name#1 string; *target#2 MetricTarget
ContainerResourceMetricSource: *name#1 string; *target#2 MetricTarget; *container#3 string
ExternalMetricSource: *metric#1 MetricIdentifier; *target#2 MetricTarget
HorizontalPodAutoscalerBehavior: scaleUp#1? HPAScalingRules; scaleDown#2? HPAScalingRules
HPAScalingRules: stabilizationWindowSeconds#3? int; selectPolicy#1? string
  policies#2 [HPAScalingPolicy]; tolerance#4? quantity
HPAScalingPolicy: *type#1 string; *value#2 int; *periodSeconds#3 int
)";

}  // namespace koord::api::tables
