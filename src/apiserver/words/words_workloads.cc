#include "apiserver/words/words.h"

namespace koord::apiserver::words {

const char* const kWorkloads = R"(
WorkloadCondition: Something that is true of a workload, or not.
  type: Name of the condition, as ReplicaFailure.
  status: True, False or Unknown.
  lastTransitionTime: When the status changed last.
  reason: A word for programs: why the condition has this status.
  message: A sentence for users with the details.
Deployment: Keeps a number of equal pods, and replaces them step by step when the template changes.
  spec: The pods, and how they are replaced.
  status: What the controller has reached.
DeploymentSpec: The pods of a Deployment, and how they are replaced.
  replicas: Number of pods. Default 1.
  selector: Labels of its pods. The template must have them. Fixed once the object exists.
  template: The pods.
  strategy: How old pods are replaced.
  minReadySeconds: Seconds that a pod must be ready before it counts as available.
  revisionHistoryLimit: Old ReplicaSets that stay for kubectl rollout undo. Default 10.
  paused: True while changes of the template wait.
  progressDeadlineSeconds: Seconds without progress after which a rollout has failed. Default 600.
DeploymentStrategy: How old pods are replaced.
  type: RollingUpdate (default), or Recreate: all old pods end first.
  rollingUpdate: Settings of RollingUpdate.
RollingUpdateDeployment: How many pods are replaced at a time.
  maxUnavailable: Pods that may be missing meanwhile, a number or percents. Default 25%.
  maxSurge: Pods in addition meanwhile, a number or percents. Default 25%.
DeploymentStatus: What the controller has reached.
  replicas: Number of existing pods.
  updatedReplicas: Pods of the current template.
  readyReplicas: Pods that are ready.
  availableReplicas: Pods that have been ready for minReadySeconds.
  unavailableReplicas: Pods that are still missing.
  terminatingReplicas: Pods that are ending.
  collisionCount: Names of ReplicaSets that were taken.
DeploymentCondition: Something that is true of a Deployment, or not.
  type: Available, Progressing or ReplicaFailure.
  status: True, False or Unknown.
  lastUpdateTime: When the condition was written last.
  lastTransitionTime: When the status changed last.
  reason: A word for programs: why the condition has this status.
  message: A sentence for users with the details.
ReplicaSet: Keeps a number of equal pods. Usually a Deployment creates it.
  spec: The pods.
  status: What the controller has reached.
ReplicaSetSpec: The pods of a ReplicaSet.
  replicas: Number of pods. Default 1.
  minReadySeconds: Seconds that a pod must be ready before it counts as available.
  selector: Labels of its pods. Fixed once the object exists.
  template: The pods.
ReplicaSetStatus: What the controller has reached.
  replicas: Number of existing pods.
  fullyLabeledReplicas: Pods with all labels of the template.
  readyReplicas: Pods that are ready.
  availableReplicas: Pods that have been ready for minReadySeconds.
  terminatingReplicas: Pods that are ending.
ReplicationController: Keeps a number of equal pods. Deployments replace it.
  spec: The pods.
  status: What the controller has reached.
ReplicationControllerSpec: The pods of a ReplicationController.
  replicas: Number of pods. Default 1.
  minReadySeconds: Seconds that a pod must be ready before it counts as available.
  selector: Labels of its pods.
  template: The pods.
StatefulSet: Pods with names that stay, as db-0 and db-1, each with its own volumes.
  spec: The pods and their volumes.
  status: What the controller has reached.
StatefulSetSpec: The pods of a StatefulSet and their volumes.
  replicas: Number of pods. Default 1.
  selector: Labels of its pods. Fixed once the object exists.
  template: The pods.
  volumeClaimTemplates: Claims that each pod gets. They stay when the pod is replaced.
  serviceName: The service that gives the pods their DNS names.
  podManagementPolicy: OrderedReady (default) starts one after the other, Parallel all at once.
  updateStrategy: How pods are replaced when the template changes.
  revisionHistoryLimit: Old templates that stay for kubectl rollout undo. Default 10.
  minReadySeconds: Seconds that a pod must be ready before it counts as available.
  persistentVolumeClaimRetentionPolicy: Whether claims are deleted with their pods.
  ordinals: The number of the first pod.
StatefulSetUpdateStrategy: How pods are replaced.
  type: RollingUpdate (default), or OnDelete: when you delete them.
  rollingUpdate: Settings of RollingUpdate.
RollingUpdateStatefulSet: Which pods are replaced, and how many at a time.
  partition: Pods with a number below this one stay as they are. Default 0.
  maxUnavailable: Pods that may be missing meanwhile. Default 1.
ClaimRetentionPolicy: Whether claims are deleted with their pods.
  whenDeleted: When the StatefulSet is deleted: Retain (default) or Delete.
  whenScaled: When replicas becomes smaller: Retain (default) or Delete.
StatefulSetOrdinals: Numbers of the pods.
  start: The number of the first pod. Default 0.
StatefulSetStatus: What the controller has reached.
  replicas: Number of existing pods.
  readyReplicas: Pods that are ready.
  currentReplicas: Pods of the revision before an update.
  updatedReplicas: Pods of the newest revision.
  currentRevision: The revision before an update.
  updateRevision: The newest revision.
  collisionCount: Names of revisions that were taken.
  availableReplicas: Pods that have been ready for minReadySeconds.
DaemonSet: A pod on each node, or on each of some nodes.
  spec: The pods.
  status: What the controller has reached.
DaemonSetSpec: The pods of a DaemonSet.
  selector: Labels of its pods. Fixed once the object exists.
  template: The pods. Their node selector and affinity choose the nodes.
  updateStrategy: How pods are replaced when the template changes.
  minReadySeconds: Seconds that a pod must be ready before it counts as available.
  revisionHistoryLimit: Old templates that stay for kubectl rollout undo. Default 10.
DaemonSetUpdateStrategy: How pods are replaced.
  type: RollingUpdate (default), or OnDelete: when you delete them.
  rollingUpdate: Settings of RollingUpdate.
DaemonSetStatus: What the controller has reached.
  currentNumberScheduled: Nodes that have a pod and should.
  numberMisscheduled: Nodes that have a pod and should not.
  desiredNumberScheduled: Nodes that should have a pod.
  numberReady: Nodes with a ready pod.
  updatedNumberScheduled: Nodes with a pod of the current template.
  numberAvailable: Nodes with an available pod.
  numberUnavailable: Nodes that should have an available pod and do not.
  collisionCount: Names of revisions that were taken.
ControllerRevision: An old template of a StatefulSet or DaemonSet.
  data: The template.
  revision: Its number.
Job: Pods that run until they have succeeded.
  spec: The pods, and when the job is done.
  status: How far the job is.
JobSpec: The pods of a Job, and when it is done.
  parallelism: Pods at a time. Default 1.
  completions: Pods that must succeed. Default 1.
  activeDeadlineSeconds: Seconds after which the job fails.
  podFailurePolicy: What failed pods mean, by exit code or condition.
  successPolicy: When the job has succeeded before all pods have.
  backoffLimit: Failed pods after which the job fails. Default 6.
  backoffLimitPerIndex: Failed pods after which one index fails.
  maxFailedIndexes: Failed indexes after which the job fails.
  selector: Labels of its pods. Set by the server.
  manualSelector: True if you set selector yourself.
  template: The pods. restartPolicy must be Never or OnFailure.
  ttlSecondsAfterFinished: Seconds after its end until the job is deleted. Absent: it stays.
  completionMode: NonIndexed (default), or Indexed: each pod has a number.
  suspend: True if no pods should run.
  podReplacementPolicy: When a pod is replaced: TerminatingOrFailed or Failed.
  managedBy: The controller of the job. Default: the one of Kubernetes.
JobCondition: Something that is true of a Job, or not.
  type: Complete, Failed, Suspended, FailureTarget or SuccessCriteriaMet.
  status: True, False or Unknown.
  lastProbeTime: When the condition was checked last.
  lastTransitionTime: When the status changed last.
  reason: A word for programs: why the condition has this status.
  message: A sentence for users with the details.
PodFailurePolicy: What failed pods mean.
  rules: Rules in order. The first that matches counts.
PodFailurePolicyRule: What pods that match mean.
  action: FailJob, FailIndex, Ignore or Count.
  onExitCodes: Matches by exit code.
  onPodConditions: Matches by conditions of the pod.
PodFailureExitCodes: Matches by exit code.
  containerName: The container. Absent: each one.
  operator: In or NotIn.
  values: Exit codes.
PodFailureCondition: Matches by a condition of the pod.
  type: Type of the condition, as DisruptionTarget.
  status: Status of the condition. Default: True.
SuccessPolicy: When a job has succeeded.
  rules: One rule is enough.
SuccessPolicyRule: Indexes that must have succeeded.
  succeededIndexes: These, as 0-3,7. Absent: any.
  succeededCount: This many of them. Absent: all.
JobStatus: How far a job is.
  startTime: When the job started.
  completionTime: When the job succeeded.
  active: Pods that run or wait.
  succeeded: Pods that have succeeded.
  failed: Pods that have failed.
  terminating: Pods that are ending.
  completedIndexes: Indexes that have succeeded, as 0-3,7.
  failedIndexes: Indexes that have failed.
  uncountedTerminatedPods: Ended pods that are not in the numbers yet.
  ready: Pods that are ready.
UncountedTerminatedPods: Ended pods that are not in the numbers yet.
  succeeded: UIDs of pods that have succeeded.
  failed: UIDs of pods that have failed.
CronJob: Creates a Job at times of a schedule.
  spec: The schedule and the jobs.
  status: What was created.
CronJobSpec: The schedule and the jobs.
  schedule: Minute, hour, day of the month, month and day of the week, as in cron.
  timeZone: Time zone of the schedule, as Europe/Paris. Default: that of the controller.
  startingDeadlineSeconds: Seconds after which a missed job is left out. Absent: no limit.
  concurrencyPolicy: Allow (default), Forbid, or Replace the job that still runs.
  suspend: True if no jobs should be created.
  jobTemplate: The jobs.
  successfulJobsHistoryLimit: Succeeded jobs that stay. Default 3.
  failedJobsHistoryLimit: Failed jobs that stay. Default 1.
JobTemplateSpec: The jobs that a CronJob creates.
  metadata: Labels and annotations of the jobs.
  spec: What the jobs should be.
CronJobStatus: What a CronJob has created.
  active: Jobs that run.
  lastScheduleTime: When the last job was due.
  lastSuccessfulTime: When a job succeeded last.
)";

}  // namespace koord::apiserver::words
