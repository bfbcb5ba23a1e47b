#include "scheduler/plugins/arguments.h"

#include "scheduler/plugins/coscheduling/args.h"
#include "scheduler/plugins/defaultpreemption/args.h"
#include "scheduler/plugins/deviceshare/args.h"
#include "scheduler/plugins/dynamicresources/args.h"
#include "scheduler/plugins/elasticquota/args.h"
#include "scheduler/plugins/fragmentationaware/args.h"
#include "scheduler/plugins/interpodaffinity/args.h"
#include "scheduler/plugins/loadawarescheduling/args.h"
#include "scheduler/plugins/nodeaffinity/args.h"
#include "scheduler/plugins/nodenumaresource/args.h"
#include "scheduler/plugins/noderesources/args.h"
#include "scheduler/plugins/noderesourcesfitplus/args.h"
#include "scheduler/plugins/podtopologyspread/args.h"
#include "scheduler/plugins/reservation/args.h"
#include "scheduler/plugins/scarceresourceavoidance/args.h"
#include "scheduler/plugins/schedulinghint/args.h"
#include "scheduler/plugins/volumebinding/args.h"

namespace koord::scheduler {

namespace {

constexpr FieldHelp kCoscheduling[] = {
    {"defaultTimeout",
     "How long the members of a gang wait for each other in Permit if the gang names no time. 0 "
     "means the gang's own time only.",
     "", "600s"},
    {"controllerWorkers", "How many PodGroups are updated at a time, at most 64.", "workers", "1"},
    {"skipCheckScheduleCycle", "Accepted for compatibility. It has no effect.", "", "false"},
    {"enablePreemption",
     "If true, a gang preempts pods of lower priority as a whole: pods are evicted only if a plan "
     "shows that enough members fit "
     "afterwards.",
     "", "true"},
    {"awareNetworkTopology",
     "If true, gangs are placed by the ClusterNetworkTopology and the topology labels of nodes.",
     "", "true"},
    {"defaultMatchPolicy",
     "Which members count for minMember if the gang names no policy: once-satisfied, only-waiting "
     "or "
     "waiting-and-running.",
     "", "once-satisfied", "once-satisfied"},
};

constexpr FieldHelp kDefaultPreemption[] = {
    {"minCandidateNodesPercentage",
     "How many of the nodes preemption tries before it chooses, as a share of all nodes. The "
     "larger of this and "
     "minCandidateNodesAbsolute counts.",
     "percent", "10"},
    {"minCandidateNodesAbsolute",
     "How many nodes preemption tries before it chooses. Both minimums cannot be 0.", "nodes",
     "100"},
};

// A macro, because the paths are concatenated literals.
#define KOORD_SCORING_STRATEGY(name, what, weights)                                         \
  {name, what, "", "", "", "object"},                                                       \
      {name ".type",                                                                        \
       "LeastAllocated prefers free nodes, MostAllocated prefers full ones. Required if "   \
       "the strategy is given.",                                                            \
       "", "MostAllocated", "LeastAllocated"},                                              \
      {name ".resources", "The resources that count.", "", "", weights, "list of objects"}, \
      {name ".resources[].name", "Name of the resource. Required.", "", "cpu"},             \
      {name ".resources[].weight", "Weight of the resource.", "", "1"}

constexpr FieldHelp kDeviceShare[] = {
    {"allocator", "Deprecated. It has no effect.", "", "\"\""},
    KOORD_SCORING_STRATEGY("scoringStrategy", "How nodes are scored by their free devices.",
                           "gpu-memory-ratio, gpu-memory, rdma and fpga with weight 1"),
    {"disableDeviceNUMATopologyAlignment",
     "If true, the devices of a pod need not be on the NUMA nodes of its CPUs.", "", "false"},
    {"gpuSharedResourceTemplatesConfig",
     "ConfigMap with the templates of shared GPUs of non-NVIDIA vendors.", "", "", "", "object"},
    {"gpuSharedResourceTemplatesConfig.configMapNamespace", "Namespace of the ConfigMap.", "",
     "koordinator-system", "koordinator-system"},
    {"gpuSharedResourceTemplatesConfig.configMapName", "Name of the ConfigMap.", "",
     "gpu-shared-resource-templates", "gpu-shared-resource-templates"},
    {"gpuSharedResourceTemplatesConfig.matchedResources",
     "Resources whose requests are matched with a template.", "", "[huawei.com/npu-core]",
     "[huawei.com/npu-core]"},
    {"gpuShareUnsupportedModels",
     "GPUs that pods cannot share. A request for a share of a GPU is refused.", "", "", "",
     "list of objects"},
    {"gpuShareUnsupportedModels[].vendor",
     "Vendor, as in the node label node.koordinator.sh/gpu-vendor.", "", "huawei"},
    {"gpuShareUnsupportedModels[].model",
     "Model, as in the node label node.koordinator.sh/gpu-model.", "", "Ascend-310P"},
};

constexpr FieldHelp kElasticQuota[] = {
    {"delayEvictTime",
     "How long a quota may use more than its runtime before its pods are evicted.", "", "2m"},
    {"revokePodInterval", "How often quotas are checked for usage above their runtime.", "", "1s"},
    {"defaultQuotaGroupMax", "Limit of all pods that belong to no quota.", "",
     "{cpu: 100, memory: 200Gi}", "no limit", "map of quantities"},
    {"systemQuotaGroupMax", "Limit of the pods of the system namespaces.", "",
     "{cpu: 100, memory: 200Gi}", "no limit", "map of quantities"},
    {"quotaGroupNamespace", "Namespace of the root, default and system quota.", "",
     "koordinator-system"},
    {"monitorAllQuotas",
     "If true, pods of quotas above their runtime are evicted. If false, no pod is.", "", "true"},
    {"enableCheckParentQuota", "If true, a pod must fit in every ancestor of its quota too.", "",
     "true"},
    {"enableRuntimeQuota",
     "If true, runtime limits a quota: its min and its share of what other quotas leave unused. If "
     "false, max does.",
     "", "true"},
    {"enableMinQuotaScale",
     "If true, the mins of children are scaled down while the cluster is smaller than their sum.",
     "", "true"},
    {"disableDefaultQuotaPreemption",
     "If true, pods of the default quota do not preempt within it.", "", "true"},
    {"enableQueueHint", "Accepted for compatibility. Queueing hints are always on.", "", "false"},
    {"quotaSnapshotUpdateInterval", "Accepted for compatibility. Snapshots are always current.", "",
     "2m"},
    {"hookPlugins", "Must be empty: no hook plugin is built in.", "", "[]", "[]",
     "list of objects"},
};

constexpr FieldHelp kInterPodAffinity[] = {
    {"hardPodAffinityWeight",
     "Score of a node for each running pod whose required affinity matches the incoming pod.", "",
     "1"},
    {"ignorePreferredTermsOfExistingPods",
     "If true, preferred affinity of running pods does not count if the incoming pod has none.", "",
     "false"},
};

constexpr FieldHelp kLoadAwareScheduling[] = {
    {"filterExpiredNodeMetrics",
     "If true, nodes without a current NodeMetric are filtered out, unless "
     "enableScheduleWhenNodeMetricsExpired is true.",
     "", "true"},
    {"nodeMetricExpirationSeconds", "Age from which a NodeMetric counts as expired.", "seconds",
     "180"},
    {"enableScheduleWhenNodeMetricsExpired",
     "If true, nodes with an expired NodeMetric pass the filter.", "", "false"},
    {"dominantResourceWeight", "Weight of the most used resource, in addition to resourceWeights.",
     "", "0"},
    {"resourceWeights", "Weight of each resource in the score.", "", "{cpu: 1, memory: 1}",
     "{cpu: 1, memory: 1}"},
    {"usageThresholds",
     "Utilization above which a node is filtered out, per resource. 0 means no limit. A node's "
     "annotation "
     "scheduling.koordinator.sh/usage-thresholds overrides it.",
     "percent", "{cpu: 65, memory: 95}", "{cpu: 65, memory: 95}"},
    {"prodUsageThresholds",
     "Utilization by Prod pods above which a node is filtered out for Prod pods. Values below 0 "
     "count as 0.",
     "percent", "{cpu: 55}"},
    {"prodUsageIncludeSys", "If true, system usage counts as usage by Prod pods.", "", "false"},
    {"scoreAccordingProdUsage", "If true, Prod pods are scored by the usage of Prod pods only.", "",
     "false"},
    {"estimator", "How the usage of a new pod is estimated. defaultEstimator is the only one.", "",
     "defaultEstimator", "defaultEstimator"},
    {"estimatedScalingFactors", "Estimated usage of a pod as a share of its request, per resource.",
     "percent", "{cpu: 85, memory: 70}", "{cpu: 85, memory: 70}"},
    {"estimatedSecondsAfterPodScheduled",
     "How long after its scheduling a pod counts with its estimate if that is more than its "
     "reported usage.",
     "seconds", "30", "not set"},
    {"estimatedSecondsAfterInitialized",
     "How long after its initialization a pod counts with its estimate if that is more than its "
     "reported usage.",
     "seconds", "30", "not set"},
    {"allowCustomizeEstimation",
     "If true, a pod's annotations override the scaling factors and the two times above.", "",
     "true"},
    {"aggregated",
     "Compares percentiles over a window instead of the last report. Overrides usageThresholds.",
     "", ""},
    {"aggregated.usageThresholds", "Utilization above which a node is filtered out, per resource.",
     "percent", "{cpu: 65}"},
    {"aggregated.usageAggregationType",
     "Which aggregate the filter compares: avg, p50, p90, p95 or p99.", "", "p95", "none"},
    {"aggregated.usageAggregatedDuration",
     "Window of the aggregate. 0 means the longest that is reported.", "", "10m"},
    {"aggregated.scoreAggregationType",
     "Which aggregate the score uses: avg, p50, p90, p95 or p99.", "", "p95", "none"},
    {"aggregated.scoreAggregatedDuration",
     "Window of the aggregate. 0 means the longest that is reported.", "", "10m"},
    {"supportedResources", "Resources other than cpu and memory whose usage counts.", "",
     "[nvidia.com/gpu]"},
};

constexpr FieldHelp kNodeAffinity[] = {
    {"addedAffinity", "A NodeAffinity that every pod of the profile has in addition to its own.",
     "", "", "none", "NodeAffinity"},
};

constexpr FieldHelp kNodeNUMAResource[] = {
    {"defaultCPUBindPolicy",
     "How the CPUs of LSE and LSR pods are chosen if the pod names no policy: FullPCPUs or "
     "SpreadByPCPUs.",
     "", "FullPCPUs"},
    KOORD_SCORING_STRATEGY("scoringStrategy", "How nodes are scored.",
                           "cpu and memory with weight 1"),
    KOORD_SCORING_STRATEGY("numaScoringStrategy", "How the NUMA nodes of a node are scored.",
                           "cpu and memory with weight 1"),
};

constexpr FieldHelp kNodeResourcesFit[] = {
    {"ignoredResources", "Extended resources that the filter ignores.", "", "[example.com/foo]"},
    {"ignoredResourceGroups",
     "Groups of extended resources that the filter ignores: `example.com` for example.com/foo.", "",
     "[example.com]"},
    {"scoringStrategy", "How nodes are scored.", "", "", "", "object"},
    {"scoringStrategy.type",
     "LeastAllocated, MostAllocated or RequestedToCapacityRatio. Required if the strategy is "
     "given.",
     "", "MostAllocated", "LeastAllocated"},
    {"scoringStrategy.resources", "The resources that count.", "", "",
     "cpu and memory with weight 1"},
    {"scoringStrategy.resources[].name", "Name of the resource.", "", "cpu"},
    {"scoringStrategy.resources[].weight", "Weight of the resource. 0 counts as 1.", "", "1"},
    {"scoringStrategy.requestedToCapacityRatio", "Only for type RequestedToCapacityRatio.", "", ""},
    {"scoringStrategy.requestedToCapacityRatio.shape",
     "Score by utilization, as points of a line. At least one, by increasing utilization.", "", ""},
    {"scoringStrategy.requestedToCapacityRatio.shape[].utilization", "Utilization of the node.",
     "percent", "0"},
    {"scoringStrategy.requestedToCapacityRatio.shape[].score", "Score at that utilization.", "",
     "0"},
};

constexpr FieldHelp kBalancedAllocation[] = {
    {"resources", "The resources whose shares should be equal.", "", "", "cpu and memory"},
    {"resources[].name", "Name of the resource. Required.", "", "cpu"},
    {"resources[].weight", "Must be 1.", "", "1"},
    {"balancedAllocationMode",
     "AfterPod scores the balance of the node with the pod. Improvement scores how the pod changes "
     "it.",
     "", "AfterPod"},
};

constexpr FieldHelp kNodeResourcesFitPlus[] = {
    {"resources", "A strategy for each resource, by its name.", "", ""},
    {"resources.*.type", "LeastAllocated or MostAllocated. Another type scores 0.", "",
     "MostAllocated"},
    {"resources.*.weight", "Weight of the resource.", "", "2"},
};

constexpr FieldHelp kPodTopologySpread[] = {
    {"defaultingType",
     "System: pods without constraints are spread over hosts and zones. List: over "
     "defaultConstraints.",
     "", "System"},
    {"defaultConstraints", "Constraints of pods that have none. Only for type List.", "", ""},
    {"defaultConstraints[].maxSkew", "Largest difference between two domains. Required.", "pods",
     "1", "none"},
    {"defaultConstraints[].topologyKey", "Node label whose values are the domains. Required.", "",
     "topology.kubernetes.io/zone"},
    {"defaultConstraints[].whenUnsatisfiable", "DoNotSchedule or ScheduleAnyway. Required.", "",
     "ScheduleAnyway"},
    {"defaultConstraints[].labelSelector", "Must not be given: it follows from the pod.", "", "",
     "", "LabelSelector"},
};

constexpr FieldHelp kReservation[] = {
    {"enablePreemption", "If true, Reservations and pods preempt pods of lower priority.", "",
     "false"},
    {"minCandidateNodesPercentage", "As in DefaultPreemptionArgs.", "percent", "10"},
    {"minCandidateNodesAbsolute", "As in DefaultPreemptionArgs.", "nodes", "100"},
    {"controllerWorkers", "How many Reservations are updated at a time.", "workers", "1"},
    {"gcDurationSeconds",
     "How long expired and consumed Reservations are kept. 0 means the default.", "seconds",
     "86400", "86400"},
    {"gcIntervalSeconds", "How often Reservations are checked for their end. 0 means the default.",
     "seconds", "60", "60"},
    {"resyncIntervalSeconds",
     "How often the status of every Reservation is compared. 0 means the default.", "seconds", "60",
     "60"},
    {"disableGarbageCollection", "If true, Reservations are never deleted.", "", "false"},
    {"preAllocationConfig", "Reservations that take running pods over.", "", ""},
    {"preAllocationConfig.enableClusterMode",
     "If true, pods with clusterLabelKey can be taken over by any Reservation with pre-allocation.",
     "", "false"},
    {"preAllocationConfig.clusterLabelKey", "Label of pods that can be taken over.", "",
     "pod.koordinator.sh/is-pre-allocatable"},
    {"preAllocationConfig.clusterPriorityAnnotationKey",
     "Annotation with the order in which pods are taken over, highest first.", "",
     "pod.koordinator.sh/pre-allocatable-priority"},
    {"preAllocationConfig.preferNoPreAllocatedPods",
     "If true, nodes where no pod must be taken over are preferred.", "", "false"},
    {"ignoredResources", "Extended resources that are not checked.", "", "[example.com/foo]"},
    {"ignoredResourceGroups", "Groups of extended resources that are not checked.", "",
     "[example.com]"},
    {"reservationSelectorIndex",
     "Accepted for compatibility. Reservations are always found by an index.", "", ""},
    {"reservationSelectorIndex.enabled", "Shown in metrics.", "", "false"},
    {"reservationSelectorIndex.keyPrefixes", "Prefixes of labels that the index contains.", "",
     "[example.com/]"},
    {"reservationSelectorIndex.keys", "Labels that the index contains.", "", "[example.com/pool]"},
};

constexpr FieldHelp kScarceResourceAvoidance[] = {
    {"resources", "Pods that do not request these resources prefer nodes without them.", "",
     "[nvidia.com/gpu]"},
};

constexpr FieldHelp kFragmentationAware[] = {
    {"futures",
     "How many sequences of future pods the expected waste of a node is averaged over. More take "
     "more time.",
     "sequences", "16"},
    {"pressurePercent",
     "How much it counts that free resources cannot be used by pods that few nodes can run, "
     "compared with what is expected to be stranded.",
     "percent", "25"},
};

constexpr FieldHelp kSchedulingHint[] = {
    {"maxHintNodes", "How many preferred nodes of a scheduling hint are tried.", "nodes", "100"},
};

constexpr FieldHelp kDynamicResources[] = {
    {"filterTimeout",
     "How long the search for devices of a pod's claims may take on one node. 0 means no limit.",
     "", "10s"},
    {"bindingTimeout",
     "How long a pod waits for the binding conditions of its devices, at least one second.", "",
     "10m"},
};

constexpr FieldHelp kVolumeBinding[] = {
    {"bindTimeoutSeconds", "How long a pod waits for its volumes to be bound.", "seconds", "600"},
    {"shape", "Must not be given: the feature StorageCapacityScoring is off.", "", "", "",
     "list of objects"},
};

#undef KOORD_SCORING_STRATEGY

template <class Args>
ObjectHelp describe(std::string name, std::span<const FieldHelp> help) {
  FieldLog log;
  std::vector<std::string> unused;
  Fields fields(log, "", unused);
  Args::read(fields);
  return {name, name + "Args", "kubescheduler.config.k8s.io/v1", log.notes(), help};
}

}  // namespace

std::vector<ObjectHelp> describeArguments() {
  return {
      describe<CoschedulingArgs>("Coscheduling", kCoscheduling),
      describe<DefaultPreemptionArgs>("DefaultPreemption", kDefaultPreemption),
      describe<DeviceShareArgs>("DeviceShare", kDeviceShare),
      describe<DynamicResourcesArgs>("DynamicResources", kDynamicResources),
      describe<ElasticQuotaArgs>("ElasticQuota", kElasticQuota),
      describe<FragmentationAwareArgs>("FragmentationAware", kFragmentationAware),
      describe<InterPodAffinityArgs>("InterPodAffinity", kInterPodAffinity),
      describe<LoadAwareSchedulingArgs>("LoadAwareScheduling", kLoadAwareScheduling),
      describe<NodeAffinityArgs>("NodeAffinity", kNodeAffinity),
      describe<NodeNUMAResourceArgs>("NodeNUMAResource", kNodeNUMAResource),
      describe<NodeResourcesBalancedAllocationArgs>("NodeResourcesBalancedAllocation",
                                                    kBalancedAllocation),
      describe<NodeResourcesFitArgs>("NodeResourcesFit", kNodeResourcesFit),
      describe<NodeResourcesFitPlusArgs>("NodeResourcesFitPlus", kNodeResourcesFitPlus),
      describe<PodTopologySpreadArgs>("PodTopologySpread", kPodTopologySpread),
      describe<ReservationArgs>("Reservation", kReservation),
      describe<ScarceResourceAvoidanceArgs>("ScarceResourceAvoidance", kScarceResourceAvoidance),
      describe<SchedulingHintArgs>("SchedulingHint", kSchedulingHint),
      describe<VolumeBindingArgs>("VolumeBinding", kVolumeBinding),
  };
}

}  // namespace koord::scheduler
