#include "descheduler/app/arguments.h"

#include <map>

#include "descheduler/app/plugin_table.h"
#include "descheduler/config/types.h"

namespace koord::descheduler {

namespace {

// Common fields of several plugins.
#define KOORD_PAUSED {"paused", "If true, the plugin does nothing.", "", "false"}
#define KOORD_DRY_RUN \
  {"dryRun", "If true, the plugin logs what it would evict and evicts nothing.", "", "false"}
#define KOORD_NODE_FIT(text) {"nodeFit", text, "", "true"}
#define KOORD_NODE_SELECTOR                \
  {"nodeSelector",                         \
   "The nodes that the plugin considers.", \
   "",                                     \
   "{matchLabels: {pool: batch}}",         \
   "all nodes",                            \
   "LabelSelector"}
#define KOORD_NAMESPACES(name)                                                             \
  {name, "Namespaces whose pods may be evicted. Only one of include and exclude.", "", "", \
   "all namespaces"},                                                                      \
      {name ".include", "Only these namespaces.", "", "[batch]"},                          \
      {name ".exclude", "All namespaces except these.", "", "[kube-system]"}
#define KOORD_POD_SELECTORS                                                                      \
  {"podSelectors", "Pods that may be evicted: those that any of the selectors matches.", "", "", \
   "all pods"},                                                                                  \
      {"podSelectors[].name", "Name of the selector, for messages.", "", "web"},                 \
      {"podSelectors[].selector", "Required.", "", "{matchLabels: {app: web}}", "", "LabelSelector"}
#define KOORD_LABEL_SELECTOR              \
  {"labelSelector",                       \
   "The pods that the plugin considers.", \
   "",                                    \
   "{matchLabels: {app: web}}",           \
   "all pods",                            \
   "LabelSelector"}
#define KOORD_EXCLUDED_OWNERS \
  {"excludeOwnerKinds", "Kinds of owners whose pods are not evicted.", "", "[Job]"}
#define KOORD_EXIT_CODES                                               \
  {"exitCodes", "Only containers that ended with one of these codes.", \
   "",          "[137]",                                               \
   "all codes", "list of integers"}
#define KOORD_INIT_CONTAINERS \
  {"includingInitContainers", "If true, init containers count too.", "", "true"}
#define KOORD_ANOMALY(prefix)                                                                \
  {prefix "anomalyCondition", "When a node counts as overused or as recovered.", "", ""},    \
      {prefix "anomalyCondition.consecutiveAbnormalities",                                   \
       "Cycles above highThresholds after which a node is relieved.", "cycles", "5", "5"},   \
      {prefix "anomalyCondition.consecutiveNormalities",                                     \
       "Cycles below highThresholds after which a node has recovered.", "cycles", "3", "3"}, \
      {prefix "anomalyCondition.timeout",                                                    \
       "How long a node stays anomalous without a new observation.", "", "1m", "1m"}
#define KOORD_POOL(prefix)                                                                           \
  {prefix "useDeviationThresholds",                                                                  \
   "If true, thresholds are distances from the mean utilization.", "", "false"},                     \
      {prefix "lowThresholds", "A node below all of these is a target.", "percent", "{cpu: 45}", "", \
       "map of numbers"},                                                                            \
      {prefix "highThresholds",                                                                      \
       "A node above any of these is relieved.",                                                     \
       "percent",                                                                                    \
       "{cpu: 70}",                                                                                  \
       "",                                                                                           \
       "map of numbers"},                                                                            \
      {prefix "prodLowThresholds",                                                                   \
       "As lowThresholds, by the usage of Prod pods.",                                               \
       "percent",                                                                                    \
       "{cpu: 40}",                                                                                  \
       "",                                                                                           \
       "map of numbers"},                                                                            \
      {prefix "prodHighThresholds",                                                                  \
       "As highThresholds, by the usage of Prod pods.",                                              \
       "percent",                                                                                    \
       "{cpu: 60}",                                                                                  \
       "",                                                                                           \
       "map of numbers"},                                                                            \
      {prefix "resourceWeights", "Weights of resources in the order of pods and nodes.", "",         \
       "{cpu: 1, memory: 1}", "cpu, memory and every resource with a threshold: 1"},                 \
      KOORD_ANOMALY(prefix)

constexpr FieldHelp kCustomPriority[] = {
    KOORD_PAUSED,
    KOORD_DRY_RUN,
    KOORD_NAMESPACES("evictableNamespaces"),
    KOORD_NODE_SELECTOR,
    KOORD_POD_SELECTORS,
    KOORD_NODE_FIT(
        "If true, a pod is evicted only if a node of a later level has free resources for it."),
    {"mode", "BestEffort evicts what fits elsewhere. DrainNode evicts all pods of a node or none.",
     "", "DrainNode"},
    {"autoCordon", "If true, a node is cordoned while it is drained. Only with mode DrainNode.", "",
     "false"},
    {"evictionOrder", "Levels of nodes, the most expensive first. At least two.", "", ""},
    {"evictionOrder[].name", "Name of the level. Required and unique.", "", "on-demand"},
    {"evictionOrder[].nodeSelector", "Nodes of the level. Required.", "",
     "{matchLabels: {billing: on-demand}}", "", "LabelSelector"},
    {"evictionOrder[].keepThreshold", "Refused: it has no effect.", "", "", "", "number"},
    {"evictionOrder[].rejectThreshold", "Refused: it has no effect.", "", "", "", "number"},
};

constexpr FieldHelp kDefaultEvictor[] = {
    {"nodeSelector",
     "Nodes that can take evicted pods, as a label selector in text form. Only with nodeFit.", "",
     "pool=batch", "all nodes"},
    KOORD_NODE_FIT("If true, a pod is evicted only if another node has free resources for it."),
    {"namespaceLabelSelector",
     "Only pods of namespaces with these labels. Only matchLabels have an effect.", "",
     "{matchLabels: {team: a}}", "all namespaces", "LabelSelector"},
    {"labelSelector", "Only pods with these labels.", "", "{matchLabels: {app: web}}", "all pods",
     "LabelSelector"},
    {"priorityThreshold", "Pods of this priority or above are not evicted.", "", "",
     "system-cluster-critical"},
    {"priorityThreshold.value", "The priority.", "", "10000", "not set"},
    {"priorityThreshold.name", "A PriorityClass instead of a value.", "", "production"},
    {"minReplicas", "Pods of owners with fewer replicas are not evicted.", "pods", "2"},
    {"minPodAge", "Younger pods stay.", "", "10m", "0s"},
    {"noEvictionPolicy",
     "Mandatory: pods with the annotation descheduler.alpha.kubernetes.io/prefer-no-eviction stay. "
     "Preferred: they are "
     "evicted after others.",
     "", "Mandatory", "Preferred"},
    {"podProtections", "Which pods stay.", "", ""},
    {"podProtections.defaultDisabled",
     "Protections to switch off: PodsWithLocalStorage, DaemonSetPods, SystemCriticalPods, "
     "FailedBarePods.",
     "", "[PodsWithLocalStorage]"},
    {"podProtections.extraEnabled",
     "Protections to switch on: PodsWithPVC, PodsWithoutPDB, PodsWithResourceClaims.", "",
     "[PodsWithPVC]"},
    {"podProtections.config", "Settings of protections.", "", ""},
    {"podProtections.config.PodsWithPVC", "Settings of PodsWithPVC.", "", ""},
    {"podProtections.config.PodsWithPVC.protectedStorageClasses",
     "Only claims of these classes protect.", "", "", "all classes"},
    {"podProtections.config.PodsWithPVC.protectedStorageClasses[].name",
     "Name of the StorageClass. Required.", "", "local"},
    {"evictLocalStoragePods",
     "Deprecated by podProtections. If true, pods with local storage may be evicted.", "", "false"},
    {"evictDaemonSetPods",
     "Deprecated by podProtections. If true, pods of DaemonSets may be evicted.", "", "false"},
    {"evictSystemCriticalPods",
     "Deprecated by podProtections. If true, system-critical pods may be evicted.", "", "false"},
    {"evictFailedBarePods",
     "Deprecated by podProtections. If true, failed pods without an owner may be evicted.", "",
     "false"},
    {"ignorePvcPods",
     "Deprecated by podProtections. If true, pods with a PersistentVolumeClaim are not evicted.",
     "", "false"},
    {"ignorePodsWithoutPDB",
     "Deprecated by podProtections. If true, pods without a PodDisruptionBudget are not evicted.",
     "", "false"},
    {"ignorePvcPods",
     "Deprecated by podProtections. If true, pods with a PersistentVolumeClaim are not evicted.",
     "", "false"},
    {"ignorePodsWithoutPDB",
     "Deprecated by podProtections. If true, pods without a PodDisruptionBudget are not evicted.",
     "", "false"},
};

constexpr FieldHelp kFragmentationAware[] = {
    KOORD_PAUSED,
    KOORD_DRY_RUN,
    KOORD_NAMESPACES("evictableNamespaces"),
    KOORD_NODE_SELECTOR,
    KOORD_POD_SELECTORS,
    KOORD_NODE_FIT("If true, a pod is evicted only if another node has free resources for it."),
    {"resources", "Resources whose shares should be equal on a node.", "", "[cpu, memory]",
     "[cpu, memory]"},
    {"imbalanceThreshold",
     "Standard deviation of the shares above which a node is fragmented. 0 to 0.5.", "", "0.2"},
    {"minImprovementThreshold", "How much an eviction must lower the standard deviation.", "",
     "0.05"},
};

constexpr FieldHelp kGPUDefragmentation[] = {
    KOORD_PAUSED,
    KOORD_DRY_RUN,
    KOORD_NAMESPACES("evictableNamespaces"),
    KOORD_NODE_SELECTOR,
    KOORD_POD_SELECTORS,
    {"maxMoves", "How many pods may move in a round.", "pods", "10"},
    {"maxMovesPerPod", "How many pods may move for one waiting pod.", "pods", "3"},
    {"minPending", "Pods that wait for less than this are not helped.", "", "5m"},
    {"typicalPods",
     "If no pod waits: for how many of the most frequent requests of running pods a node should "
     "have free resources.",
     "", "4"},
};

constexpr FieldHelp kHighNodeUtilization[] = {
    {"thresholds", "A node below all of these is emptied. Utilization is by requests.", "percent",
     "{cpu: 20, memory: 20}"},
    {"numberOfNodes", "The plugin acts only if more nodes than this are below the thresholds.",
     "nodes", "0"},
    KOORD_NAMESPACES("evictableNamespaces"),
    {"evictionModes",
     "OnlyThresholdingResources: only pods that request a resource of thresholds are evicted.", "",
     "[OnlyThresholdingResources]"},
};

constexpr FieldHelp kLowNodeLoad[] = {
    KOORD_PAUSED,
    KOORD_DRY_RUN,
    {"numberOfNodes", "The plugin acts only if more nodes than this are below lowThresholds.",
     "nodes", "0"},
    {"nodeMetricExpirationSeconds", "Nodes with an older NodeMetric are skipped.", "seconds",
     "180"},
    KOORD_NAMESPACES("evictableNamespaces"),
    KOORD_POD_SELECTORS,
    KOORD_NODE_FIT(
        "If true, a pod is evicted only if a node below its thresholds has free resources for it."),
    {"detectorCacheTimeout", "How long the state of a node without new reports is kept.", "", "5m"},
    KOORD_NODE_SELECTOR,
    KOORD_POOL(""),
    {"nodePools",
     "Pools of nodes with thresholds of their own. Fields that a pool lacks are those of the top "
     "level.",
     "", ""},
    {"nodePools[].name", "Name of the pool.", "", "batch"},
    {"nodePools[].nodeSelector",
     "Nodes of the pool. A node is relieved by the first pool that matches it and finds it "
     "overloaded.",
     "", "{matchLabels: {pool: batch}}", "all nodes", "LabelSelector"},
    KOORD_POOL("nodePools[]."),
};

constexpr FieldHelp kLowNodeUtilization[] = {
    {"thresholds", "A node below all of these is a target. Utilization is by requests.", "percent",
     "{cpu: 20, memory: 20}"},
    {"numberOfNodes", "The plugin acts only if more nodes than this are below the thresholds.",
     "nodes", "0"},
    KOORD_NAMESPACES("evictableNamespaces"),
    {"targetThresholds", "A node above any of these is relieved. Same resources as thresholds.",
     "percent", "{cpu: 50, memory: 50}"},
    {"useDeviationThresholds", "If true, thresholds are distances from the mean utilization.", "",
     "false"},
    {"evictionLimits", "Limits of one cycle.", "", ""},
    {"evictionLimits.node", "Maximum of evictions from one node in a cycle.", "pods", "5",
     "no limit"},
    {"metricsUtilization", "Refused: LowNodeLoad uses measured usage.", "", "", "", "object"},
};

constexpr FieldHelp kMigrationController[] = {
    {"dryRun",
     "If true, no jobs are created and nothing is evicted; the log and /debug/evictions show the "
     "plan.",
     "", "false"},
    {"maxConcurrentReconciles", "How many jobs are processed at a time.", "jobs", "1"},
    {"evictFailedBarePods", "If true, failed pods without an owner may be evicted.", "", "false"},
    {"evictAllBarePods", "If true, pods without an owner may be evicted.", "", "false"},
    {"evictLocalStoragePods", "If true, pods with local storage may be evicted.", "", "false"},
    {"evictSystemCriticalPods", "If true, system-critical pods may be evicted.", "", "false"},
    {"ignorePvcPods", "If true, pods with a PersistentVolumeClaim are not evicted.", "", "false"},
    {"priorityThreshold", "Pods of this priority or above are not evicted.", "", "",
     "system-cluster-critical"},
    {"priorityThreshold.name", "A PriorityClass instead of a value. It must exist at start.", "",
     "production"},
    {"priorityThreshold.value", "The priority.", "", "10000", "not set"},
    {"labelSelector", "Only pods with these labels.", "", "{matchLabels: {app: web}}", "all pods",
     "LabelSelector"},
    KOORD_NAMESPACES("namespaces"),
    {"nodeFit", "If true, a pod is evicted only if another node has free resources for it.", "",
     "true"},
    {"nodeSelector", "Nodes that can take evicted pods, as a label selector in text form.", "",
     "pool=batch", "all nodes"},
    {"maxMigratingGlobally", "Maximum of pods under migration in the cluster. 0 means no limit.",
     "pods", "10"},
    {"maxMigratingPerNode", "Maximum of pods under migration from one node. 0 means no limit.",
     "pods", "2"},
    {"maxMigratingPerNamespace",
     "Maximum of pods under migration in one namespace. 0 means no limit.", "pods", "2"},
    {"maxArrivingPerNode",
     "Maximum of pods under migration to one node. 0 means no limit. Not in upstream.", "pods",
     "2"},
    {"maxMigratingPerWorkload",
     "Maximum of pods of one workload under migration, as a number or a percentage.", "", "10%",
     "by its number of replicas", "integer or percentage"},
    {"maxUnavailablePerWorkload",
     "Maximum of unavailable pods of one workload, as a number or a percentage.", "", "10%",
     "by its number of replicas", "integer or percentage"},
    {"skipCheckExpectedReplicas",
     "If true, workloads with as few replicas as the limits may be migrated too.", "", "false"},
    {"objectLimiters", "Limits over time, by workload, namespace or cluster.", "", "",
     "workload: {duration: 5m}"},
    {"objectLimiters.*.duration", "Length of the window. 0 disables the limit.", "", "5m"},
    {"objectLimiters.*.maxMigrating",
     "Maximum of evictions in the window, as a number or, of workloads, a percentage.", "", "10%",
     "maxMigratingPerWorkload", "integer or percentage"},
    {"objectLimiters.*.burst", "Burst of evictions. 0 means 1.", "pods", "1"},
    {"defaultJobMode",
     "ReservationFirst reserves resources before it evicts. EvictDirectly evicts at once.", "",
     "ReservationFirst"},
    {"defaultJobTTL", "How long a job may take. 0 means no limit.", "", "5m"},
    {"schedulerNames", "Only pods of these schedulers are migrated with a Reservation.", "",
     "[koord-scheduler]", "[koord-scheduler]"},
    {"evictQPS", "Maximum of evictions per second.", "", "10", "10", "number"},
    {"evictBurst", "Burst of evictions above evictQPS.", "pods", "1"},
    {"evictionPolicy",
     "Eviction uses the eviction API, Delete deletes the pod, SoftEviction only annotates it.", "",
     "Eviction"},
    {"defaultDeleteOptions", "DeleteOptions of evictions whose job has none.", "",
     "{gracePeriodSeconds: 60}", "none"},
    {"defaultDeleteOptions.apiVersion", "v1.", "", "v1"},
    {"defaultDeleteOptions.kind", "DeleteOptions.", "", "DeleteOptions"},
    {"defaultDeleteOptions.gracePeriodSeconds", "Time that containers have to terminate.",
     "seconds", "60", "the pod's own"},
    {"defaultDeleteOptions.orphanDependents", "Deprecated by propagationPolicy.", "", "false"},
    {"defaultDeleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential", "As in meta/v1.", "",
     "false"},
    {"defaultDeleteOptions.propagationPolicy", "Orphan, Background or Foreground.", "",
     "Background"},
    {"defaultDeleteOptions.dryRun", "All, or nothing.", "", "[All]"},
    {"defaultDeleteOptions.preconditions", "As in meta/v1.", "", ""},
    {"defaultDeleteOptions.preconditions.uid", "UID that the pod must have.", "",
     "6f1e0c5a-0000-4000-8000-000000000000"},
    {"defaultDeleteOptions.preconditions.resourceVersion",
     "resourceVersion that the pod must have.", "", "\"12\""},
    {"arbitrationArgs", "The arbitrator orders pending jobs and delays those that exceed a limit.",
     "", ""},
    {"arbitrationArgs.enabled", "If false, jobs start in the order of their creation.", "", "true"},
    {"arbitrationArgs.interval", "How often pending jobs are arbitrated.", "", "500ms"},
    {"landing",
     "Asks koord-scheduler where a pod would land before it is evicted. Not in upstream.", "", ""},
    {"landing.enabled", "If false, pods are evicted without asking.", "", "true"},
    {"landing.schedulerURL", "URL of koord-scheduler's secure port.", "", "https://10.0.0.1:10259",
     "the leader, found by its Lease"},
    {"landing.leaseNamespace", "Namespace of the scheduler's Lease.", "", "koordinator-system"},
    {"landing.leaseName", "Name of the scheduler's Lease.", "", "koord-scheduler"},
    {"landing.port", "Secure port of the scheduler.", "", "10259"},
    {"landing.caFile", "Certificate authority of the scheduler's certificate.", "",
     "/etc/koord/scheduler-ca.crt", "the certificate that the Lease names"},
    {"landing.noReturnPeriod",
     "How long a pod is not evicted if it would land on the node that it left. 0 means never.", "",
     "10m"},
    {"skipEvictionGates",
     "Checks to switch off: PVC, BarePods, LocalStorage, SystemCritical, PriorityThreshold, "
     "LabelSelector, Namespaces, "
     "NodeFit, MaxMigratingGlobally, MaxMigratingPerNode, MaxMigratingPerNamespace, "
     "MaxMigratingPerWorkload, "
     "MaxUnavailablePerWorkload, ExpectedReplicas.",
     "", "[NodeFit]"},
};

constexpr FieldHelp kPodLifeTime[] = {
    KOORD_NAMESPACES("namespaces"),
    KOORD_LABEL_SELECTOR,
    {"ownerKinds", "Kinds of owners. Only one of include and exclude.", "", ""},
    {"ownerKinds.include", "Only pods of owners of these kinds.", "", "[Job]"},
    {"ownerKinds.exclude", "All pods except those of owners of these kinds.", "", "[StatefulSet]"},
    {"maxPodLifeTimeSeconds", "Pods that are older are evicted.", "seconds", "86400", "not set"},
    {"states",
     "Only pods in one of these phases, or with a container that waits or ended for one of these "
     "reasons.",
     "", "[Pending, CrashLoopBackOff]", "all states"},
    {"conditions", "Only pods with one of these conditions.", "", "", "all pods"},
    {"conditions[].type", "Type of the condition.", "", "Ready"},
    {"conditions[].status", "Status of the condition.", "", "\"False\""},
    {"conditions[].reason", "Reason of the condition.", "", "ContainersNotReady"},
    {"conditions[].minTimeSinceLastTransitionSeconds", "How long the condition must have held.",
     "seconds", "600", "not set"},
    KOORD_EXIT_CODES,
    KOORD_INIT_CONTAINERS,
    {"includingEphemeralContainers", "If true, ephemeral containers count too.", "", "true"},
};

constexpr FieldHelp kRemoveDuplicates[] = {KOORD_NAMESPACES("namespaces"), KOORD_EXCLUDED_OWNERS};

constexpr FieldHelp kRemoveFailedPods[] = {
    KOORD_NAMESPACES("namespaces"),
    KOORD_LABEL_SELECTOR,
    KOORD_EXCLUDED_OWNERS,
    {"minPodLifetimeSeconds", "Younger pods stay.", "seconds", "3600"},
    {"reasons", "Only pods that failed for one of these reasons, or with such a container.", "",
     "[NodeAffinity]", "all reasons"},
    KOORD_EXIT_CODES,
    KOORD_INIT_CONTAINERS,
};

constexpr FieldHelp kTooManyRestarts[] = {
    KOORD_NAMESPACES("namespaces"),
    KOORD_LABEL_SELECTOR,
    {"podRestartThreshold", "Pods whose containers restarted this often are evicted. Required.",
     "restarts", "100", "none"},
    KOORD_INIT_CONTAINERS,
    {"states", "Only pods in one of these states: Running, CrashLoopBackOff.", "",
     "[CrashLoopBackOff]", "all states"},
};

constexpr FieldHelp kNodeTaints[] = {
    KOORD_NAMESPACES("namespaces"),
    KOORD_LABEL_SELECTOR,
    {"includePreferNoSchedule", "If true, taints with the effect PreferNoSchedule count too.", "",
     "false"},
    {"excludedTaints",
     "Taints that do not count, as key or key=value. Not together with includedTaints.", "",
     "[dedicated=batch]"},
    {"includedTaints", "Only these taints count, as key or key=value.", "", "[dedicated=batch]",
     "all taints"},
};

constexpr FieldHelp kNodeAffinity[] = {
    KOORD_NAMESPACES("namespaces"),
    KOORD_LABEL_SELECTOR,
    {"nodeAffinityType",
     "requiredDuringSchedulingIgnoredDuringExecution, "
     "preferredDuringSchedulingIgnoredDuringExecution. Required.",
     "", "[requiredDuringSchedulingIgnoredDuringExecution]"},
};

constexpr FieldHelp kInterPodAntiAffinity[] = {KOORD_NAMESPACES("namespaces"),
                                               KOORD_LABEL_SELECTOR};

constexpr FieldHelp kTopologySpread[] = {
    KOORD_NAMESPACES("namespaces"),
    KOORD_LABEL_SELECTOR,
    {"constraints", "Which constraints count: DoNotSchedule, ScheduleAnyway.", "",
     "[DoNotSchedule, ScheduleAnyway]", "[DoNotSchedule]"},
    {"topologyBalanceNodeFit",
     "If true, a pod is evicted only if a node of a smaller domain has free resources for it.", "",
     "true"},
};

constexpr FieldHelp kScaleDownBinPack[] = {
    KOORD_PAUSED,
    {"strategy", "CalculateOnly writes pod deletion costs. EvictDirectly evicts.", "",
     "CalculateOnly"},
    {"maxPodsToEvict",
     "Maximum of evictions in a cycle. Required by EvictDirectly, refused otherwise.", "pods",
     "10"},
    KOORD_NAMESPACES("evictableNamespaces"),
    KOORD_NODE_SELECTOR,
    KOORD_POD_SELECTORS,
    {"resources", "Resources by whose requests nodes and pods are compared.", "", "[cpu, memory]",
     "[cpu, memory]"},
    {"resourceWeights", "Weights of the resources.", "", "{cpu: 1, memory: 1}", "1 for each"},
};

const std::map<std::string, std::span<const FieldHelp>, std::less<>> kHelp = {
    {"CustomPriority", kCustomPriority},
    {"DefaultEvictor", kDefaultEvictor},
    {"FragmentationAware", kFragmentationAware},
    {"GPUDefragmentation", kGPUDefragmentation},
    {"HighNodeUtilization", kHighNodeUtilization},
    {"LowNodeLoad", kLowNodeLoad},
    {"LowNodeUtilization", kLowNodeUtilization},
    {"MigrationController", kMigrationController},
    {"PodLifeTime", kPodLifeTime},
    {"RemoveDuplicates", kRemoveDuplicates},
    {"RemoveFailedPods", kRemoveFailedPods},
    {"RemovePodsHavingTooManyRestarts", kTooManyRestarts},
    {"RemovePodsViolatingInterPodAntiAffinity", kInterPodAntiAffinity},
    {"RemovePodsViolatingNodeAffinity", kNodeAffinity},
    {"RemovePodsViolatingNodeTaints", kNodeTaints},
    {"RemovePodsViolatingTopologySpreadConstraint", kTopologySpread},
    {"ScaleDownBinPack", kScaleDownBinPack},
};

}  // namespace

std::vector<ObjectHelp> describeArguments() {
  std::vector<ObjectHelp> objects;
  for (const auto& [name, kind] : pluginTable()) {
    FieldLog log;
    std::vector<std::string> unused;
    Fields fields(log, "", unused);
    kind.prepare(fields);
    const auto help = kHelp.find(name);
    objects.push_back({name, kind.native ? name + "Args" : "",
                       kind.native ? std::string(kConfigApiVersion) : "", log.notes(),
                       help == kHelp.end() ? std::span<const FieldHelp>() : help->second});
  }
  return objects;
}

}  // namespace koord::descheduler
