"""Objects and annotations that a hostile run begins with: all of them are good, and then something is changed."""

import json

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"app": "web"}, "annotations": {}},
       "spec": {"schedulerName": "koord-scheduler", "priority": None, "tolerations": [{"operator": "Exists"}],
                "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                                               "whenUnsatisfiable": "ScheduleAnyway",
                                               "labelSelector": {"matchLabels": {"app": "web"}}}],
                "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}}]}},
                "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "1"],
                                "ports": [{"containerPort": 80, "hostPort": 8080}],
                                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"},
                                              "limits": {"cpu": "200m", "memory": "64Mi"}},
                                "readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1}}]}}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "busybox"}]}}


def _named(api_version, kind, spec=None, **more):
    out = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
    if spec is not None:
        out["spec"] = spec
    out.update(more)
    return out


def _workload(kind, **spec):
    return _named("apps/v1", kind, {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE, **spec})


# (path of the collection below the namespace, object); "" is the core group.
NAMESPACED = [
    ("api/v1", "pods", POD),
    ("api/v1", "pods", POD),
    ("api/v1", "configmaps", _named("v1", "ConfigMap", data={"a": "b"})),
    ("api/v1", "secrets", _named("v1", "Secret", data={"a": "Yg=="}, type="Opaque")),
    ("api/v1", "services", _named("v1", "Service", {"ports": [{"port": 80}], "selector": {"app": "web"}})),
    ("api/v1", "serviceaccounts", _named("v1", "ServiceAccount")),
    ("api/v1", "resourcequotas", _named("v1", "ResourceQuota", {"hard": {"pods": "500", "requests.cpu": "900"}})),
    ("api/v1", "limitranges", _named("v1", "LimitRange", {"limits": [
        {"type": "Container", "max": {"cpu": "8"}, "default": {"cpu": "1"}}]})),
    ("api/v1", "persistentvolumeclaims", _named("v1", "PersistentVolumeClaim", {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})),
    ("api/v1", "events", _named("v1", "Event", involvedObject={"kind": "Pod", "name": "p"}, reason="r", count=1)),
    ("apis/apps/v1", "deployments", _workload("Deployment", replicas=1, strategy={
        "type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}})),
    ("apis/apps/v1", "replicasets", _workload("ReplicaSet", replicas=1)),
    ("apis/apps/v1", "statefulsets", _workload("StatefulSet", replicas=1, serviceName="s")),
    ("apis/apps/v1", "daemonsets", _workload("DaemonSet", minReadySeconds=1)),
    ("apis/batch/v1", "jobs", _named("batch/v1", "Job", {
        "completions": 2, "parallelism": 1, "backoffLimit": 2, "ttlSecondsAfterFinished": 5,
        "template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}})),
    ("apis/batch/v1", "cronjobs", _named("batch/v1", "CronJob", {
        "schedule": "*/5 * * * *", "startingDeadlineSeconds": 10, "jobTemplate": {"spec": {
            "template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}}})),
    ("apis/policy/v1", "poddisruptionbudgets", _named("policy/v1", "PodDisruptionBudget", {
        "minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}})),
    ("apis/autoscaling/v2", "horizontalpodautoscalers", _named("autoscaling/v2", "HorizontalPodAutoscaler", {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}, "maxReplicas": 2})),
    ("apis/coordination.k8s.io/v1", "leases", _named("coordination.k8s.io/v1", "Lease", {
        "holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"})),
    ("apis/scheduling.sigs.k8s.io/v1alpha1", "podgroups", _named("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", {
        "minMember": 2, "scheduleTimeoutSeconds": 5})),
    ("apis/scheduling.sigs.k8s.io/v1alpha1", "elasticquotas", _named("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", {
        "min": {"cpu": "1"}, "max": {"cpu": "10"}})),
    ("apis/analysis.koordinator.sh/v1alpha1", "recommendations", _named(
        "analysis.koordinator.sh/v1alpha1", "Recommendation", {"target": {
            "type": "workload", "workload": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}})),
]
CLUSTER = [
    ("apis/scheduling.koordinator.sh/v1alpha1", "reservations", _named(
        "scheduling.koordinator.sh/v1alpha1", "Reservation", {
            "template": {"spec": {"containers": POD["spec"]["containers"]}}, "ttl": "60s",
            "owners": [{"labelSelector": {"matchLabels": {"app": "web"}}}], "allocateOnce": True})),
    ("apis/scheduling.koordinator.sh/v1alpha1", "podmigrationjobs", _named(
        "scheduling.koordinator.sh/v1alpha1", "PodMigrationJob", {
            "podRef": {"namespace": "hostile-0", "name": "p"}, "mode": "EvictDirectly", "ttl": "30s"})),
    ("apis/scheduling.koordinator.sh/v1alpha1", "devices", _named(
        "scheduling.koordinator.sh/v1alpha1", "Device", {"devices": [
            {"type": "gpu", "minor": 0, "health": True, "id": "u", "resources": {"koordinator.sh/gpu-core": "100"},
             "topology": {"socketID": 0, "nodeID": 0, "pcieID": "0"}}]})),
    ("apis/slo.koordinator.sh/v1alpha1", "nodemetrics", _named(
        "slo.koordinator.sh/v1alpha1", "NodeMetric", {"metricCollectPolicy": {
            "aggregateDurationSeconds": 300, "reportIntervalSeconds": 60}},
        status={"updateTime": "2026-01-01T00:00:00Z", "nodeMetric": {"nodeUsage": {"resources": {"cpu": "1", "memory": "1Gi"}}}})),
    ("apis/slo.koordinator.sh/v1alpha1", "nodeslos", _named(
        "slo.koordinator.sh/v1alpha1", "NodeSLO", {"resourceUsedThresholdWithBE": {
            "enable": True, "cpuSuppressThresholdPercent": 65}})),
    ("apis/topology.node.k8s.io/v1alpha1", "noderesourcetopologies", _named(
        "topology.node.k8s.io/v1alpha1", "NodeResourceTopology", topologyPolicies=["None"], zones=[
            {"name": "node-0", "type": "Node", "resources": [
                {"name": "cpu", "capacity": "8", "allocatable": "8", "available": "8"}]}])),
    ("apis/config.koordinator.sh/v1alpha1", "clustercolocationprofiles", _named(
        "config.koordinator.sh/v1alpha1", "ClusterColocationProfile", {
            "selector": {"matchLabels": {"hostile": "profile"}}, "qosClass": "BE", "probability": "50%"})),
    ("apis/scheduling.k8s.io/v1", "priorityclasses", _named(
        "scheduling.k8s.io/v1", "PriorityClass", value=5, preemptionPolicy="Never")),
    ("api/v1", "nodes", _named("v1", "Node", {"taints": [{"key": "hostile", "effect": "NoSchedule"}]}, status={
        "capacity": {"cpu": "1", "pods": "0"}, "allocatable": {"cpu": "1", "pods": "0"},
        "conditions": [{"type": "Ready", "status": "True"}]})),
    ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions", {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gizmos.hostile.example.com"},
        "spec": {"group": "hostile.example.com", "scope": "Namespaced", "names": {"plural": "gizmos", "kind": "Gizmo"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {
                     "status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
                     "additionalPrinterColumns": [{"name": "S", "type": "string", "jsonPath": ".spec.size"}],
                     "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                         "type": "object", "properties": {"size": {"type": "integer", "minimum": 1, "default": 3},
                                                          "name": {"type": "string", "pattern": "^[a-z]+$"}}}}}}}]}}),
]
# Changes of these would stop the programs for good reasons: they are only tried.
TRIED_ONLY = [
    ("apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", _named(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[{
            "name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/x"}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "rules": [{"operations": ["*"], "apiGroups": ["hostile"],
                                                          "apiVersions": ["*"], "resources": ["*"]}]}])),
    ("apis/rbac.authorization.k8s.io/v1", "clusterroles", _named(
        "rbac.authorization.k8s.io/v1", "ClusterRole", rules=[{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}])),
    ("apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", _named(
        "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", roleRef={
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"},
        subjects=[{"kind": "User", "name": "u"}])),
    ("api/v1", "namespaces", _named("v1", "Namespace")),
]

_SCHEDULING = "scheduling.koordinator.sh/"
POD_ANNOTATIONS = {
    _SCHEDULING + "resource-spec": {"preferredCPUBindPolicy": "FullPCPUs", "requiredCPUBindPolicy": "SpreadByPCPUs",
                                    "preferredCPUExclusivePolicy": "PCPULevel"},
    _SCHEDULING + "resource-status": {"cpuset": "0-3", "numaNodeResources": [{"node": 0, "resources": {"cpu": "2"}}]},
    _SCHEDULING + "device-allocated": {"gpu": [{"minor": 0, "resources": {"koordinator.sh/gpu-core": "100"}}]},
    _SCHEDULING + "device-allocate-hint": {"rdma": {"vfSelector": {}, "allocateStrategy": "RequestsAsCount"}},
    _SCHEDULING + "device-joint-allocate": {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"},
    _SCHEDULING + "gpu-partition-spec": {"allocatePolicy": "Restricted", "ringBusBandwidth": "100Gi"},
    _SCHEDULING + "numa-topology-spec": {"numaTopologyPolicy": "SingleNUMANode", "singleNUMANodeExclusive": "Preferred"},
    _SCHEDULING + "reservation-affinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "reservationSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]},
        "tolerations": [{"operator": "Exists"}]},
    _SCHEDULING + "reservation-allocated": {"name": "x", "uid": "u"},
    _SCHEDULING + "reservation-owners": [{"labelSelector": {"matchLabels": {"app": "web"}}}],
    _SCHEDULING + "exact-match-reservation": {"resourceNames": ["cpu"]},
    _SCHEDULING + "scheduling-hint": {"preferredNodeNames": ["sim-0"], "extensions": {}},
    _SCHEDULING + "load-estimated-scaling-factors": {"cpu": 80, "memory": 70},
    _SCHEDULING + "eviction-cost": 100,
    _SCHEDULING + "load-estimated-seconds-after-pod-scheduled": 60,
    "gang.scheduling.koordinator.sh/name": "g",
    "gang.scheduling.koordinator.sh/min-available": 2,
    "gang.scheduling.koordinator.sh/waiting-time": "1s",
    "gang.scheduling.koordinator.sh/total-number": 3,
    "gang.scheduling.koordinator.sh/mode": "Strict",
    "gang.scheduling.koordinator.sh/groups": ["hostile-0/g", "hostile-1/h"],
    "gang.scheduling.koordinator.sh/network-topology-spec": {"gatherStrategy": [{"layer": "spine", "strategy": "MustGather"}]},
    "koordinator.sh/cpuBurst": {"policy": "auto", "cpuBurstPercent": 1000, "cfsQuotaBurstPercent": 300},
    "koordinator.sh/memoryQOS": {"policy": "auto", "minLimitPercent": 100, "throttlingPercent": 80},
    "koordinator.sh/networkQOS": {"IngressLimit": "10M", "EgressLimit": "5%"},
    "koordinator.sh/oom-score-adj-spec": {"c": 100},
    "node.koordinator.sh/extended-resource-spec": {"containers": {"c": {"requests": {"kubernetes.io/batch-cpu": "1k"}}}},
    "kubernetes.io/ingress-bandwidth": "10M",
    "controller.kubernetes.io/pod-deletion-cost": 5,
    "pod.koordinator.sh/replace-resources": {"cpu": "1"},
}
NODE_ANNOTATIONS = {
    "node.koordinator.sh/reservation": {"resources": {"cpu": "1"}, "reservedCPUs": "0-1", "applyPolicy": "Default"},
    "node.koordinator.sh/resource-amplification-ratio": {"cpu": 1.5, "memory": 1.1},
    "node.koordinator.sh/raw-allocatable": {"cpu": "32"},
    "node.koordinator.sh/cpu-normalization-ratio": 1.2,
    "node.koordinator.sh/colocation-strategy": {"enable": True, "cpuReclaimThresholdPercent": 60,
                                                "metricReportIntervalSeconds": 20},
    "node.koordinator.sh/system-qos-resource": {"cpuset": "0", "cpusetExclusive": True},
    "node.koordinator.sh/originExtendedAllocatable": {"resources": {"kubernetes.io/batch-cpu": "10"}},
    "node.koordinator.sh/thirdPartyAllocations": {"allocations": [{"name": "x", "priority": "koord-batch",
                                                                   "resources": {"kubernetes.io/batch-cpu": "1"}}]},
    "node.koordinator.sh/network-bandwidth": "1000M",
    "node.koordinator.sh/cpu-reclaim-ratio": 0.5,
    "scheduling.koordinator.sh/usage-thresholds": {"usageThresholds": {"cpu": 65}, "aggregated": {
        "usageThresholds": {"cpu": 60}, "usageAggregationType": "p95", "usageAggregatedDuration": "5m"}},
    "scheduling.koordinator.sh/gpu-partitions": {"8": [{"minors": [0, 1], "gpuLinkType": "NVLink", "allocationScore": 1}]},
}
TOPOLOGY_ANNOTATIONS = {
    "node.koordinator.sh/cpu-topology": {"detail": [{"id": 0, "core": 0, "socket": 0, "node": 0},
                                                    {"id": 1, "core": 1, "socket": 0, "node": 0}]},
    "node.koordinator.sh/pod-cpu-allocs": [{"namespace": "a", "name": "b", "uid": "c", "cpuset": "0-1"}],
    "kubelet.koordinator.sh/cpu-manager-policy": {"policy": "static", "options": {"full-pcpus-only": "true"}, "reservedCPUs": "0"},
}
QUOTA_ANNOTATIONS = {
    "quota.scheduling.koordinator.sh/" + name: value for name, value in {
        "shared-weight": {"cpu": 1}, "guaranteed": {"cpu": 1}, "namespaces": ["hostile-0"], "runtime": {"cpu": 1},
        "request": {"cpu": 1}, "child-request": {"cpu": 2}, "total-resource": {"cpu": 10},
        "unschedulable-resource": {"cpu": 1}, "allocated": {"cpu": 1}, "non-preemptible-used": {"cpu": 1}}.items()}
SLO_CONFIG = {
    "colocation-config": {"enable": True, "cpuReclaimThresholdPercent": 60, "metricAggregateDurationSeconds": 300,
                          "nodeConfigs": [{"nodeSelector": {"matchLabels": {"a": "b"}}, "enable": False}]},
    "resource-threshold-config": {"clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 65}},
    "resource-qos-config": {"clusterStrategy": {"beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}}},
    "cpu-burst-config": {"clusterStrategy": {"policy": "auto", "cpuBurstPercent": 1000}},
    "system-config": {"clusterStrategy": {"minFreeKbytesFactor": 100, "watermarkScaleFactor": 150}},
    "host-application-config": {"applications": [{"name": "n", "qos": "BE", "cgroupPath": {"base": "CgroupRoot"}}]},
    "cpu-normalization-config": {"enable": True, "defaultRatio": 1.1},
    "resource-amplification-config": {"enable": True, "resourceAmplificationRatio": {"cpu": 1.5}},
}


def text(value):
    return value if isinstance(value, str) else json.dumps(value)
