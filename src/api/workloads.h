#pragma once

// apps/v1 and batch/v1: what the workload controllers of a one-machine cluster read. Pod templates
// stay JSON, so that fields which our structs lack reach the pods.

#include "api/meta.h"

namespace koord::api {

struct RollingUpdate {
  std::optional<IntOrString> maxSurge;
  std::optional<IntOrString> maxUnavailable;
  std::optional<std::int32_t> partition;  // StatefulSet
};
struct UpdateStrategy {
  std::string type;  // RollingUpdate (also when empty), Recreate, OnDelete
  std::optional<RollingUpdate> rollingUpdate;
};

struct DeploymentSpec {
  std::optional<std::int32_t> replicas;  // 1 when absent
  std::optional<LabelSelector> selector;
  json::value template_;
  UpdateStrategy strategy;
  std::int32_t minReadySeconds = 0;
  std::optional<std::int32_t> revisionHistoryLimit;     // 10 when absent
  std::optional<std::int32_t> progressDeadlineSeconds;  // none when absent
  bool paused = false;
};
// Of ReplicaSets and Deployments; only the latter's have a lastUpdateTime.
struct WorkloadCondition {
  std::string type;
  std::string status;  // True, False, Unknown
  Time lastUpdateTime;
  Time lastTransitionTime;
  std::string reason;
  std::string message;
  bool operator==(const WorkloadCondition&) const = default;
};
struct DeploymentStatus {
  std::int64_t observedGeneration = 0;
  std::int32_t replicas = 0;
  std::int32_t updatedReplicas = 0;
  std::int32_t readyReplicas = 0;
  std::int32_t availableReplicas = 0;
  std::int32_t unavailableReplicas = 0;
  std::vector<WorkloadCondition> conditions;
  bool operator==(const DeploymentStatus&) const = default;
};
struct Deployment {
  static constexpr ResourceType kType{"apps", "v1", "deployments", "Deployment", true};
  ObjectMeta metadata;
  DeploymentSpec spec;
  DeploymentStatus status;
};

struct ReplicaSetSpec {
  std::optional<std::int32_t> replicas;  // 1 when absent
  std::int32_t minReadySeconds = 0;
  std::optional<LabelSelector> selector;
  json::value template_;
};
struct ReplicaSetStatus {
  std::int32_t replicas = 0;
  std::int32_t fullyLabeledReplicas = 0;
  std::int32_t readyReplicas = 0;
  std::int32_t availableReplicas = 0;
  std::int64_t observedGeneration = 0;
  std::vector<WorkloadCondition> conditions;
  bool operator==(const ReplicaSetStatus&) const = default;
};
struct ReplicaSet {
  static constexpr ResourceType kType{"apps", "v1", "replicasets", "ReplicaSet", true};
  ObjectMeta metadata;
  ReplicaSetSpec spec;
  ReplicaSetStatus status;
};

struct StatefulSetOrdinals {
  std::int32_t start = 0;
};
struct StatefulSetClaimRetention {
  std::string whenDeleted;  // Retain (also when empty), Delete
  std::string whenScaled;
};
struct StatefulSetSpec {
  std::optional<std::int32_t> replicas;  // 1 when absent
  std::optional<LabelSelector> selector;
  json::value template_;
  std::string serviceName;
  std::string podManagementPolicy;  // OrderedReady (also when empty), Parallel
  UpdateStrategy updateStrategy;
  std::int32_t minReadySeconds = 0;
  std::optional<std::int32_t> revisionHistoryLimit;  // 10 when absent
  std::vector<json::value> volumeClaimTemplates;
  std::optional<StatefulSetOrdinals> ordinals;
  std::optional<StatefulSetClaimRetention> persistentVolumeClaimRetentionPolicy;
};
struct StatefulSetStatus {
  std::int64_t observedGeneration = 0;
  std::int32_t replicas = 0;
  std::int32_t readyReplicas = 0;
  std::int32_t currentReplicas = 0;
  std::int32_t updatedReplicas = 0;
  std::int32_t availableReplicas = 0;
  std::string currentRevision;
  std::string updateRevision;
  bool operator==(const StatefulSetStatus&) const = default;
};
struct StatefulSet {
  static constexpr ResourceType kType{"apps", "v1", "statefulsets", "StatefulSet", true};
  ObjectMeta metadata;
  StatefulSetSpec spec;
  StatefulSetStatus status;
};

struct DaemonSetSpec {
  std::optional<LabelSelector> selector;
  json::value template_;
  UpdateStrategy updateStrategy;
  std::int32_t minReadySeconds = 0;
  std::optional<std::int32_t> revisionHistoryLimit;  // 10 when absent
};
struct DaemonSetStatus {
  std::int32_t currentNumberScheduled = 0;
  std::int32_t numberMisscheduled = 0;
  std::int32_t desiredNumberScheduled = 0;
  std::int32_t numberReady = 0;
  std::int64_t observedGeneration = 0;
  std::int32_t updatedNumberScheduled = 0;
  std::int32_t numberAvailable = 0;
  std::int32_t numberUnavailable = 0;
  bool operator==(const DaemonSetStatus&) const = default;
};
struct DaemonSet {
  static constexpr ResourceType kType{"apps", "v1", "daemonsets", "DaemonSet", true};
  ObjectMeta metadata;
  DaemonSetSpec spec;
  DaemonSetStatus status;
};

// A template that a StatefulSet or DaemonSet has or had.
struct ControllerRevision {
  static constexpr ResourceType kType{"apps", "v1", "controllerrevisions", "ControllerRevision",
                                      true};
  ObjectMeta metadata;
  json::value data;  // a patch of the set
  std::int64_t revision = 0;
};

// How the end of a pod affects its Job: the first matching rule decides.
struct PodFailureExitCodes {
  std::string containerName;  // "" = any
  std::string operator_;      // In, NotIn
  std::vector<std::int32_t> values;
};
struct PodFailureCondition {
  std::string type;
  std::string status;  // True when empty
};
struct PodFailureRule {
  std::string action;  // FailJob, FailIndex, Ignore, Count
  std::optional<PodFailureExitCodes> onExitCodes;
  std::vector<PodFailureCondition> onPodConditions;
};
struct PodFailurePolicy {
  std::vector<PodFailureRule> rules;
};

// Succeeds a Job when some indexes suffice: the first rule that is met decides.
struct SuccessPolicyRule {
  std::optional<std::string> succeededIndexes;  // "0-2,5"; absent: any
  std::optional<std::int32_t> succeededCount;   // absent: all of them
};
struct SuccessPolicy {
  std::vector<SuccessPolicyRule> rules;
};

struct JobSpec {
  std::optional<LabelSelector> selector;
  std::optional<std::int32_t> parallelism;  // 1 when absent
  std::optional<std::int32_t> completions;  // absent: one success is enough
  std::optional<std::int64_t> activeDeadlineSeconds;
  std::optional<std::int32_t> backoffLimit;  // 6 when absent
  json::value template_;
  std::optional<std::int32_t> ttlSecondsAfterFinished;
  std::string completionMode;  // NonIndexed (also when empty), Indexed
  bool suspend = false;
  std::optional<PodFailurePolicy> podFailurePolicy;
  std::optional<std::int32_t> backoffLimitPerIndex;  // absent: backoffLimit counts for all
  std::optional<std::int32_t> maxFailedIndexes;      // absent: all may fail
  std::optional<SuccessPolicy> successPolicy;
  std::string podReplacementPolicy;  // TerminatingOrFailed (also when empty), Failed
  std::string managedBy;             // another controller than ours, unless empty
};
struct JobCondition {
  std::string type;
  std::string status;
  Time lastProbeTime;
  Time lastTransitionTime;
  std::string reason;
  std::string message;
};
struct UncountedTerminatedPods {
  std::vector<std::string> succeeded;
  std::vector<std::string> failed;
};
struct JobStatus {
  std::vector<JobCondition> conditions;
  Time startTime;
  Time completionTime;
  std::int32_t active = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  std::int32_t ready = 0;
  std::optional<UncountedTerminatedPods> uncountedTerminatedPods;
  std::string completedIndexes;              // "0-2,5"
  std::optional<std::string> failedIndexes;  // present with backoffLimitPerIndex
  std::optional<std::int32_t> terminating;   // pods that are being deleted
};
struct Job {
  static constexpr ResourceType kType{"batch", "v1", "jobs", "Job", true};
  ObjectMeta metadata;
  JobSpec spec;
  JobStatus status;
};

struct CronJobSpec {
  std::string schedule;
  std::optional<std::string> timeZone;
  std::optional<std::int64_t> startingDeadlineSeconds;
  std::string concurrencyPolicy;  // Allow (also when empty), Forbid, Replace
  bool suspend = false;
  json::value jobTemplate;
  std::optional<std::int32_t> successfulJobsHistoryLimit;  // 3 when absent
  std::optional<std::int32_t> failedJobsHistoryLimit;      // 1 when absent
};
struct CronJobStatus {
  std::vector<ObjectReference> active;
  Time lastScheduleTime;
  Time lastSuccessfulTime;
};
struct CronJob {
  static constexpr ResourceType kType{"batch", "v1", "cronjobs", "CronJob", true};
  ObjectMeta metadata;
  CronJobSpec spec;
  CronJobStatus status;
};

}  // namespace koord::api
