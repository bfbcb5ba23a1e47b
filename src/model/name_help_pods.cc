#include "model/name_help_tables.h"

namespace koord::model::names {

namespace {

constexpr NameHelp kPodsTable[] = {
    {"koordinator.sh/qosClass", "label", "Pod, Reservation", "user, profile", "text",
     "QoS class. It decides which CPUs and cgroup values koordlet gives the pod, and which pods "
     "yield to it. It cannot be changed later.",
     "BE", "derived from the priority and the Kubernetes QoS class", "LSE, LSR, LS, BE, SYSTEM"},
    {"koordinator.sh/priority-class", "label", "Pod", "user", "text",
     "Priority class, if it should not follow from the priority value.", "koord-batch",
     "the class whose range contains spec.priority",
     "koord-prod, koord-mid, koord-batch, koord-free"},
    {"koordinator.sh/priority", "label", "Pod, Reservation", "user, profile", "integer",
     "Priority among pods of one priority. Some evictions of koordlet order victims by it. On a "
     "Reservation it is the priority of its reserve pod.",
     "5500", "0", "32-bit integer"},
    {"scheduling.koordinator.sh/resource-spec", "annotation", "Pod", "user", "JSON object",
     "How the CPUs of an LSE or LSR pod of the class koord-prod are bound: requiredCPUBindPolicy, "
     "preferredCPUBindPolicy (Default, FullPCPUs, SpreadByPCPUs, ConstrainedBurst) and "
     "preferredCPUExclusivePolicy (None, PCPULevel, NUMANodeLevel).",
     R"({"requiredCPUBindPolicy": "FullPCPUs"})", "the default of the plugin NodeNUMAResource"},
    {"scheduling.koordinator.sh/resource-status", "annotation", "Pod, Reservation",
     "koord-scheduler", "JSON object",
     "The CPUs and NUMA resources of the pod. koordlet sets its cpusets from it.",
     R"({"cpuset": "0-3", "numaNodeResources": [{"node": 0, "resources": {"cpu": "4"}}]})"},
    {"scheduling.koordinator.sh/numa-topology-spec", "annotation", "Pod", "user", "JSON object",
     "numaTopologyPolicy (None, BestEffort, Restricted, SingleNUMANode) overrides the policy of "
     "the node. singleNUMANodeExclusive (Preferred, Required) separates pods on one NUMA node from "
     "pods on several.",
     R"({"numaTopologyPolicy": "SingleNUMANode"})", "the policy of the node"},
    {"node.koordinator.sh/extended-resource-spec", "annotation", "Pod", "koord-manager (webhook)",
     "JSON object",
     "The batch resources of the containers, where the container runtime and koordlet's hooks can "
     "read them.",
     R"({"containers": {"main": {"requests": {"kubernetes.io/batch-cpu": "500"}, "limits": {"kubernetes.io/batch-cpu": "500"}}}})"},
    {"koordinator.sh/cpuBurst", "annotation", "Pod", "user", "JSON object",
     "Overrides policy, cpuBurstPercent, cfsQuotaBurstPercent and cfsQuotaBurstPeriodSeconds of "
     "cpu-burst-config for this pod.",
     R"({"policy": "auto", "cpuBurstPercent": 1000})", "the configuration of the node"},
    {"koordinator.sh/memoryQOS", "annotation", "Pod", "user", "JSON object",
     "Memory QoS of this pod. policy none disables it; auto starts from the built-in values of the "
     "class; default and no policy start from the configured values. Other fields override single "
     "values.",
     R"({"policy": "auto", "minLimitPercent": 50})", "the configuration of the class",
     "policy: default, auto, none"},
    {"koordinator.sh/cpuQOS", "annotation", "Pod of class LS", "user", "JSON object",
     "Group identity of this pod. Without enable: true it is 0.",
     R"({"enable": true, "groupIdentity": 1})", "the configuration of the class",
     "groupIdentity: -1 to 2"},
    {"koordinator.sh/blkioQOS", "annotation", "Pod", "user", "JSON object",
     "Limits and weights of block devices for this pod, with the fields of resource-qos-config.",
     R"({"blocks": [{"name": "/dev/vdb", "type": "device", "ioCfg": {"readBPS": 1048576}}]})",
     "no limits"},
    {"koordinator.sh/networkQOS", "annotation", "Pod", "user", "JSON object",
     "Limits of the network bandwidth of this pod. A number is percent of totalNetworkBandwidth, a "
     "text a quantity of bits a second. The case of field names does not matter.",
     R"({"ingressLimit": "100M", "egressLimit": 20})", "no limits", "ingressLimit, egressLimit",
     "percent, or bits a second"},
    {"node.koordinator.sh/resctrl", "annotation", "Pod", "user", "JSON object",
     "A resctrl group for the pod: llc is a range of the L3 cache in percent, mb the memory "
     "bandwidth in percent, for all caches (schemata) or single ones (schemataPerCache).",
     R"({"llc": {"schemata": {"range": [0, 50]}}, "mb": {"schemata": {"percent": 30}}})",
     "the group of the QoS class", "", "percent"},
    {"koordinator.sh/oom-score-adj", "annotation", "Pod", "user", "integer",
     "oom_score_adj of every process of the pod. Needs the gate OOMScoreAdj.", "500",
     "kubelet's value", "-1000 to 1000"},
    {"koordinator.sh/oom-score-adj-spec", "annotation", "Pod", "user", "JSON object",
     "The same for single containers. If it is set and valid, oom-score-adj is ignored.",
     R"({"main": -500})", "oom-score-adj", "-1000 to 1000"},
    {"koordinator.sh/core-sched-group-id", "label", "Pod", "user", "text",
     "Pods with the same ID share a core scheduling cookie, so they may run on one physical core.",
     "job-1", "the empty ID, common to pods of a class"},
    {"koordinator.sh/core-sched-policy", "label", "Pod", "user", "text",
     "none: no cookie. exclusive: a cookie of the pod alone.", "exclusive", "by the group ID",
     "none, exclusive, or empty"},
    {"koordinator.sh/eviction-enabled", "label", "Pod", "user", "text",
     "true lets koordlet evict the pod for the gates MemoryEvict, CPUEvict, MemoryAllocatableEvict "
     "and CPUAllocatableEvict.",
     "true", "these gates do not evict it", "true"},
    {"koordinator.sh/eviction-policy", "annotation", "Pod", "user", "JSON list",
     "The features of koordlet that may evict the pod. A value that is not a list forbids all.",
     R"(["BEMemoryEvict"])", "all features"},
    {"koordinator.sh/eviction-priority", "annotation", "Pod", "user", "integer",
     "Order of victims within koordlet: lower values are evicted first, before the pod's priority "
     "counts.",
     "-5", "0"},
    {"scheduling.koordinator.sh/eviction-cost", "annotation", "Pod", "user", "integer",
     "The descheduler evicts pods with lower costs first.", "100", "0", "32-bit integer"},
    {"descheduler.alpha.kubernetes.io/evict", "annotation", "Pod", "user", "any",
     "The descheduler may evict the pod although the evictor's rules protect it.", "true"},
    {"descheduler.alpha.kubernetes.io/prefer-no-eviction", "annotation", "Pod", "user", "any",
     "The descheduler evicts the pod after others; with noEvictionPolicy: Mandatory never.",
     "true"},
    {"controller.kubernetes.io/pod-deletion-cost", "annotation", "Pod",
     "user, koord-descheduler (plugin ScaleDownBinPack)", "integer",
     "ReplicaSets delete pods with lower costs first. The descheduler orders victims by it, too.",
     "10", "0", "32-bit integer"},
    {"descheduler.koordinator.sh/deletion-cost-by", "annotation", "Pod", "koord-descheduler",
     "text", "The plugin that wrote the pod's deletion cost. Only such costs are removed later.",
     "ScaleDownBinPack"},
    {"internal.scheduling.koordinator.sh/scheduling-hint", "annotation", "Pod",
     "user, a controller", "JSON object",
     "nodeNames: only these nodes. preferredNodeNames: these first. extensions: allocations that "
     "the plugins NodeNUMAResource and DeviceShare should repeat.",
     R"({"preferredNodeNames": ["node-1"]})"},
    {"scheduling.koordinator.sh/scheduling-hint", "annotation", "Pod", "user, a controller",
     "JSON object",
     "Deprecated name of internal.scheduling.koordinator.sh/scheduling-hint. Counts if that one is "
     "absent or empty.",
     R"({"nodeNames": ["node-1"]})"},
    {"scheduling.koordinator.sh/scheduler-name", "label", "Pod", "user, profile", "text",
     "Name of the scheduler, in place of spec.schedulerName.", "koord-scheduler",
     "spec.schedulerName"},
    {"internal.scheduling.koordinator.sh/original-scheduler-name", "annotation",
     "Pod, inside koord-scheduler only", "koord-scheduler", "text",
     "spec.schedulerName before the label scheduler-name replaced it. Never written to the API.",
     "default-scheduler"},
    {"scheduling.koordinator.sh/preemption-policy", "label", "Pod", "user", "text",
     "Whether the pod may preempt others. Needs the gate PreemptionPolicyTransformer.",
     "PreemptLowerPriority", "Never", "PreemptLowerPriority, Never"},
    {"pod.koordinator.sh/replace-resources", "annotation", "Pod", "user",
     "FROM:TO pairs with commas",
     "Renames resources before pods are scheduled and charged to quotas; an empty TO removes the "
     "resource. "
     "Needs the gate ReplaceResourcesTransformer.",
     "cpu:kubernetes.io/batch-cpu,memory:kubernetes.io/batch-memory"},
    {"scheduling.koordinator.sh/load-estimated-scaling-factors", "annotation", "Pod", "user",
     "JSON object",
     "Percent of its requests that LoadAwareScheduling expects the pod to use. Needs "
     "allowCustomizeEstimation.",
     R"({"cpu": 80, "memory": 70})", "estimatedScalingFactors", "", "percent"},
    {"scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled", "annotation", "Pod",
     "user", "integer",
     "How long after it was scheduled LoadAwareScheduling counts the estimate in place of measured "
     "usage. Needs allowCustomizeEstimation.",
     "60", "the argument of LoadAwareScheduling", "0: not at all", "seconds"},
    {"scheduling.koordinator.sh/load-estimated-seconds-after-initialized", "annotation", "Pod",
     "user", "integer", "The same, from the condition Initialized on.", "120",
     "the argument of LoadAwareScheduling", "0: not at all", "seconds"},
    {"pod.koordinator.sh/skip-enhanced-validation", "label", "Pod", "user", "text",
     "true: the rules of enhanced validation do not apply to this pod.", "true", "they apply",
     "true"},
    {"pod.koordinator.sh/mutating-update", "label", "Pod", "user", "text",
     "true: the webhook mpod-update.koordinator.sh is called for updates of the pod, too. The "
     "shipped webhook configuration selects by it.",
     "true", "only creation is mutated", "true"},
    {"koordinator.sh/binding-admission-bypass", "label", "Pod", "user", "any",
     "The webhook of bindings lets every user bind a pod with this label. The key is the default "
     "of a koord-manager flag.",
     "true"},
    {"runtimeproxy.koordinator.sh/skip-hookserver", "label or annotation", "Pod", "user", "text",
     "koord-runtime-proxy does not call hook servers for the pod.", "true", "hooks are called",
     "true"},
    {"kubernetes.io/config.hash", "annotation", "Pod", "kubelet", "text",
     "The uid of a static pod on its node. koordlet finds the cgroup by it if the pods come from "
     "the API server.",
     "2f7a"},
    {"kubernetes.io/config.mirror", "annotation", "Pod", "kubelet", "text",
     "The pod stands for a static pod of the node. The descheduler does not evict it.", "2f7a"},
};

}  // namespace

const std::span<const NameHelp> kPods = kPodsTable;

}  // namespace koord::model::names
