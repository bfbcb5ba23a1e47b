#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/workloads.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(RollingUpdate, (), (maxSurge, maxUnavailable, partition))
BOOST_DESCRIBE_STRUCT(UpdateStrategy, (), (type, rollingUpdate))
BOOST_DESCRIBE_STRUCT(DeploymentSpec, (),
                      (replicas, selector, template_, strategy, minReadySeconds,
                       revisionHistoryLimit, progressDeadlineSeconds, paused))
BOOST_DESCRIBE_STRUCT(WorkloadCondition, (),
                      (type, status, lastUpdateTime, lastTransitionTime, reason, message))
BOOST_DESCRIBE_STRUCT(DeploymentStatus, (),
                      (observedGeneration, replicas, updatedReplicas, readyReplicas,
                       availableReplicas, unavailableReplicas, conditions))
BOOST_DESCRIBE_STRUCT(Deployment, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(ReplicaSetSpec, (), (replicas, minReadySeconds, selector, template_))
BOOST_DESCRIBE_STRUCT(ReplicaSetStatus, (),
                      (replicas, fullyLabeledReplicas, readyReplicas, availableReplicas,
                       observedGeneration, conditions))
BOOST_DESCRIBE_STRUCT(ReplicaSet, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(StatefulSetOrdinals, (), (start))
BOOST_DESCRIBE_STRUCT(StatefulSetClaimRetention, (), (whenDeleted, whenScaled))
BOOST_DESCRIBE_STRUCT(StatefulSetSpec, (),
                      (replicas, selector, template_, serviceName, podManagementPolicy,
                       updateStrategy, minReadySeconds, revisionHistoryLimit, volumeClaimTemplates,
                       ordinals, persistentVolumeClaimRetentionPolicy))
BOOST_DESCRIBE_STRUCT(StatefulSetStatus, (),
                      (observedGeneration, replicas, readyReplicas, currentReplicas,
                       updatedReplicas, availableReplicas, currentRevision, updateRevision))
BOOST_DESCRIBE_STRUCT(StatefulSet, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(DaemonSetSpec, (),
                      (selector, template_, updateStrategy, minReadySeconds, revisionHistoryLimit))
BOOST_DESCRIBE_STRUCT(DaemonSetStatus, (),
                      (currentNumberScheduled, numberMisscheduled, desiredNumberScheduled,
                       numberReady, observedGeneration, updatedNumberScheduled, numberAvailable,
                       numberUnavailable))
BOOST_DESCRIBE_STRUCT(DaemonSet, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(ControllerRevision, (), (metadata, data, revision))
BOOST_DESCRIBE_STRUCT(PodFailureExitCodes, (), (containerName, operator_, values))
BOOST_DESCRIBE_STRUCT(PodFailureCondition, (), (type, status))
BOOST_DESCRIBE_STRUCT(PodFailureRule, (), (action, onExitCodes, onPodConditions))
BOOST_DESCRIBE_STRUCT(PodFailurePolicy, (), (rules))
BOOST_DESCRIBE_STRUCT(SuccessPolicyRule, (), (succeededIndexes, succeededCount))
BOOST_DESCRIBE_STRUCT(SuccessPolicy, (), (rules))
BOOST_DESCRIBE_STRUCT(JobSpec, (),
                      (selector, parallelism, completions, activeDeadlineSeconds, backoffLimit,
                       template_, ttlSecondsAfterFinished, completionMode, suspend,
                       podFailurePolicy, backoffLimitPerIndex, maxFailedIndexes, successPolicy,
                       podReplacementPolicy, managedBy))
BOOST_DESCRIBE_STRUCT(JobCondition, (),
                      (type, status, lastProbeTime, lastTransitionTime, reason, message))
BOOST_DESCRIBE_STRUCT(UncountedTerminatedPods, (), (succeeded, failed))
BOOST_DESCRIBE_STRUCT(JobStatus, (),
                      (conditions, startTime, completionTime, active, succeeded, failed, ready,
                       uncountedTerminatedPods, completedIndexes, failedIndexes, terminating))
BOOST_DESCRIBE_STRUCT(Job, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(CronJobSpec, (),
                      (schedule, timeZone, startingDeadlineSeconds, concurrencyPolicy, suspend,
                       jobTemplate, successfulJobsHistoryLimit, failedJobsHistoryLimit))
BOOST_DESCRIBE_STRUCT(CronJobStatus, (), (active, lastScheduleTime, lastSuccessfulTime))
BOOST_DESCRIBE_STRUCT(CronJob, (), (metadata, spec, status))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::Deployment)
KOORD_CODEC(koord::api::DeploymentStatus)
KOORD_OBJECT_CODEC(koord::api::ReplicaSet)
KOORD_CODEC(koord::api::ReplicaSetStatus)
KOORD_OBJECT_CODEC(koord::api::StatefulSet)
KOORD_CODEC(koord::api::StatefulSetStatus)
KOORD_OBJECT_CODEC(koord::api::DaemonSet)
KOORD_CODEC(koord::api::DaemonSetStatus)
KOORD_OBJECT_CODEC(koord::api::ControllerRevision)
KOORD_OBJECT_CODEC(koord::api::Job)
KOORD_CODEC(koord::api::JobStatus)
KOORD_OBJECT_CODEC(koord::api::CronJob)
KOORD_CODEC(koord::api::CronJobStatus)
