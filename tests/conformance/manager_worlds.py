"""Random worlds for koord-manager: a configuration, nodes and what is known of them, profiles, pods, quotas.

A world is a list of steps, each (verb, object, ...) for one API server; what an object is called says whose it is: all of a
seed's begin with "m<seed>-".
"""

import json
import random

CPU_POLICIES = ["usage", "maxUsageRequest", "odd"]
MEMORY_POLICIES = ["usage", "request", "maxUsageRequest"]
CLASSES = ["koord-prod", "koord-mid", "koord-batch", "koord-free"]
QOS = ["BE", "LS", "LSR", "LSE", "SYSTEM", "be"]
QUOTA = "quota.scheduling.koordinator.sh/"
NODE = "node.koordinator.sh/"


class ManagerWorld:
    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.prefix = f"m{seed}-"
        self.namespace = f"m{seed}-ns"
        self.nodes = []
        self.wild = False  # whether values go beyond their bounds

    def within(self, low, high):
        return self.random.randint(low, high) if not self.wild or self.maybe(0.8) else self.pick(low - 1, high + 1)

    def maybe(self, chance=0.5):
        return self.random.random() < chance

    def pick(self, *values):
        return self.random.choice(values)

    def some(self, **fields):
        """Each field with even chance; values are made only then."""
        return {name: make() for name, make in fields.items() if self.maybe()}

    # The configuration.

    def colocation(self):
        number = self.within
        return self.some(
            cpuReclaimThresholdPercent=lambda: number(0, 130), memoryReclaimThresholdPercent=lambda: number(0, 130),
            cpuCalculatePolicy=lambda: self.pick(*CPU_POLICIES), memoryCalculatePolicy=lambda: self.pick(*MEMORY_POLICIES),
            midCPUThresholdPercent=lambda: number(0, 100), midMemoryThresholdPercent=lambda: number(0, 100),
            midUnallocatedPercent=lambda: number(0, 100), metricReportIntervalSeconds=lambda: number(1, 100),
            metricAggregateDurationSeconds=lambda: number(1, 500), midReclaimMode=lambda: self.pick("static", "odd", ""),
            midStaticCPUReservedPercent=lambda: number(0, 100), midStaticMemoryReservedPercent=lambda: number(0, 100),
            batchCPUThresholdPercent=lambda: number(0, 100), batchMemoryThresholdPercent=lambda: number(0, 100))

    def selector(self):
        kind = self.random.randint(0, 5)
        if kind == 0:
            return {"matchExpressions": [{"key": "pool", "operator": self.pick("In", "NotIn"), "values": [self.pick("a", "b", "c")]}]}
        if kind == 1:
            return {"matchExpressions": [{"key": "pool", "operator": self.pick("Exists", "DoesNotExist", "Near")}]}
        return {"matchLabels": {"pool": self.pick("a", "b", "c")}}

    def entries(self, strategy):
        return [{"name": f"e{i}", "nodeSelector": self.selector(), **strategy()} for i in range(self.random.randint(0, 3))]

    def threshold(self):
        number = self.within
        return self.some(enable=lambda: self.maybe(), cpuSuppressThresholdPercent=lambda: number(0, 100),
                         cpuSuppressPolicy=lambda: self.pick("cpuset", "cfsQuota"), memoryEvictThresholdPercent=lambda: number(0, 100),
                         memoryEvictLowerPercent=lambda: number(0, 100), cpuEvictBEUsageThresholdPercent=lambda: number(0, 100),
                         cpuEvictBESatisfactionLowerPercent=lambda: number(0, 100), cpuEvictBESatisfactionUpperPercent=lambda: number(0, 100),
                         cpuEvictTimeWindowSeconds=lambda: number(0, 100), cpuEvictPolicy=lambda: self.pick("evictByRealLimit", "evictByAllocatable"))

    def qos(self):
        number = self.within
        def of_class():
            return self.some(
                cpuQOS=lambda: self.some(enable=lambda: True, groupIdentity=lambda: number(-1, 2), schedIdle=lambda: number(0, 1)),
                memoryQOS=lambda: self.some(enable=lambda: True, wmarkRatio=lambda: number(0, 100), minLimitPercent=lambda: number(0, 100),
                                            throttlingPercent=lambda: number(0, 100), wmarkMinAdj=lambda: number(-25, 50)),
                resctrlQOS=lambda: self.some(catRangeStartPercent=lambda: number(0, 50), catRangeEndPercent=lambda: number(51, 100),
                                             mbaPercent=lambda: number(0, 100)),
                blkioQOS=lambda: {"blocks": [{"name": self.pick("a", "b"), "type": "device", "ioCfg": {"readIOPS": number(0, 100)}}]})
        return self.some(lsrClass=of_class, lsClass=of_class, beClass=of_class, systemClass=of_class)

    def burst(self):
        number = self.within
        return self.some(policy=lambda: self.pick("none", "auto", "cpuBurstOnly", "cfsQuotaBurstOnly"), cpuBurstPercent=lambda: number(1, 10000),
                         cfsQuotaBurstPercent=lambda: number(100, 400), cfsQuotaBurstPeriodSeconds=lambda: number(-1, 100),
                         sharePoolThresholdPercent=lambda: number(0, 100))

    def system(self):
        number = self.within
        return self.some(minFreeKbytesFactor=lambda: number(1, 200), watermarkScaleFactor=lambda: number(1, 400),
                         memcgReapBackGround=lambda: number(0, 1))

    def normalization(self):
        ratio = lambda: round(self.random.uniform(0.8, 2.4), 2)
        return self.some(enable=lambda: self.maybe(0.8), defaultRatio=ratio, ratioModel=lambda: {
            model: self.some(baseRatio=ratio, hyperThreadEnabledRatio=ratio, turboEnabledRatio=ratio, hyperThreadTurboEnabledRatio=ratio)
            for model in ("A", "B")})

    def amplification(self):
        return self.some(enable=lambda: self.maybe(0.8), resourceAmplificationRatio=lambda: {
            name: round(self.random.uniform(0.9, 2.0), 2) for name in ("cpu", "memory", "disk") if self.maybe()})

    def applications(self):
        return {"applications": [{"name": f"h{i}", **self.some(priority=lambda: self.pick(*CLASSES), qos=lambda: self.pick(*QOS))}
                                 for i in range(self.random.randint(0, 2))]}

    def document(self, make, key):
        if self.maybe(0.05):
            return self.pick("{", '{"a":', *(["null", "[]"] if self.wild else []))  # upstream stops at null
        if key == "clusterStrategy":
            return json.dumps({key: make(), "nodeStrategies": self.entries(make)})
        return json.dumps({**make(), "nodeConfigs": self.entries(make)})

    def configuration(self):
        data = {"colocation-config": json.dumps({"enable": True, **self.colocation(), "nodeConfigs": self.entries(self.colocation)})}
        for key, make, shape in (("resource-threshold-config", self.threshold, "clusterStrategy"), ("resource-qos-config", self.qos, "clusterStrategy"),
                                 ("cpu-burst-config", self.burst, "clusterStrategy"), ("system-config", self.system, "clusterStrategy"),
                                 ("host-application-config", self.applications, ""), ("cpu-normalization-config", self.normalization, ""),
                                 ("resource-amplification-config", self.amplification, "")):
            if self.maybe():
                data[key] = self.document(make, shape)
        return data

    # Nodes.

    def amounts(self, cpu, memory):
        return {"cpu": self.pick(str(cpu), f"{cpu * 1000 - self.random.randint(0, 900)}m"), "memory": f"{memory * 1024 - self.random.randint(0, 999)}Mi"}

    def node(self, name):
        cpu, memory = self.random.randint(4, 120), self.random.randint(8, 500)
        capacity = {**self.amounts(cpu, memory), "pods": "110"}
        allocatable = dict(capacity)
        if self.maybe():
            allocatable.update(self.amounts(cpu - self.random.randint(0, 3), memory - self.random.randint(0, 6)))
        labels = {"scenario": "x", **self.some(pool=lambda: self.pick("a", "b", "c"))}  # upstream wants some
        notes = {"scenario": "x"}
        for key, make in ((NODE + "cpu-reclaim-ratio", lambda: str(round(self.random.uniform(0, 1.2), 2))),
                          (NODE + "memory-reclaim-ratio", lambda: str(round(self.random.uniform(0, 1.2), 2))),
                          (NODE + "mid-static-cpu-reserved-ratio", lambda: str(round(self.random.uniform(0, 1), 2))),
                          (NODE + "cpu-normalization-enabled", lambda: self.pick("true", "false", "maybe", "1"))):
            if self.maybe(0.15):
                labels[key] = make()
        if self.maybe(0.2):
            notes[NODE + "colocation-strategy"] = json.dumps(self.colocation())
        if self.maybe(0.2):
            notes[NODE + "reservation"] = json.dumps(self.pick({"resources": {"cpu": "2", "memory": "1Gi"}}, {"reservedCPUs": "0-2"}, {"resources": {"cpu": "1"}, "reservedCPUs": "0,1"}))
        if self.maybe(0.2):
            notes[NODE + "thirdPartyAllocations"] = json.dumps({"allocations": [{"name": "y", "priority": self.pick("koord-batch", "koord-mid"), "resources": {
                "kubernetes.io/batch-cpu": str(self.random.randint(0, 9000)), "kubernetes.io/batch-memory": "1Gi"}}]})
        return {"kind": "Node", "metadata": {"name": name, "labels": labels, "annotations": notes}, "status": {"capacity": capacity, "allocatable": allocatable}}

    def topology(self, node):
        zones = []
        for i in range(self.random.randint(1, 3)):
            amounts = self.amounts(self.random.randint(2, 40), self.random.randint(4, 200))
            zones.append({"name": f"node-{i}", "type": "Node", "resources": [
                {"name": name, "capacity": amount, "allocatable": amount, "available": amount} for name, amount in amounts.items()]})
        info = {"cpuModel": self.pick("A", "B", "C"), "hyperThreadEnabled": self.maybe(), "turboEnabled": self.maybe()}
        return {"kind": "NodeResourceTopology", "metadata": {"name": node, "annotations": {NODE + "cpu-basic-info": json.dumps(info)}},
                "topologyPolicies": ["None"], "zones": zones}

    def device(self, node):
        devices = []
        for minor in range(self.random.randint(0, 4)):
            gpu = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "16Gi", "koordinator.sh/gpu-memory-ratio": "100"}
            if self.maybe(0.2):
                gpu["huawei.com/npu-core"] = "20"
            devices.append({"type": "gpu", "minor": minor, "health": self.maybe(0.8), "resources": gpu})
        devices += [{"type": "rdma", "minor": minor, "health": self.maybe(0.8)} for minor in range(self.random.randint(0, 2))]
        labels = self.some(**{NODE + "gpu-vendor": lambda: self.pick("nvidia", "huawei", ""), NODE + "gpu-model": lambda: "A100"})
        return {"kind": "Device", "metadata": {"name": node, "labels": labels}, "spec": {"devices": devices}}

    def running_pod(self, i, node):
        priority = self.pick(None, *CLASSES)
        qos = {"koord-batch": "BE", "koord-free": "BE", "koord-mid": self.pick("LS", "BE")}.get(priority, self.pick("LS", "LSE", None))
        cpu = self.random.randint(1, 4)
        requests = {"cpu": str(cpu), "memory": f"{self.random.randint(1, 9)}Gi"} if qos == "LSE" or self.maybe(0.8) else {}
        pod = {"kind": "Pod", "metadata": {"name": f"run-{i}", "namespace": self.namespace, "labels": {}, "annotations": {}},
               "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i", "resources": {"requests": requests, "limits": dict(requests) if qos in ("LSR", "LSE") else {}}}]}}
        if qos:
            pod["metadata"]["labels"]["koordinator.sh/qosClass"] = qos
        if priority:
            pod["spec"]["priorityClassName"] = priority
        if self.maybe(0.3):
            pod["metadata"]["annotations"]["scheduling.koordinator.sh/resource-status"] = json.dumps(
                {"numaNodeResources": [{"node": n, "resources": {"cpu": "1"}} for n in range(self.random.randint(1, 3))]})
        if self.maybe(0.2):
            pod["status"] = {"phase": self.pick("Running", "Succeeded", "Failed")}
        return pod

    def report(self, node, pods):
        number = self.random.randint
        usage = lambda cpu, memory: {"resources": {"cpu": f"{number(0, cpu * 1000)}m", "memory": f"{number(0, memory * 1024)}Mi"}}
        measured = [{"namespace": self.namespace, "name": pod["metadata"]["name"], "podUsage": usage(6, 10),
                     **({"priority": pod["spec"]["priorityClassName"]} if "priorityClassName" in pod["spec"] else {})} for pod in pods if self.maybe(0.8)]
        if self.maybe(0.3):
            measured.append({"namespace": self.namespace, "name": "gone", "podUsage": usage(3, 4), "priority": self.pick("", *CLASSES)})
        status = {"updateTime": "NOW" if self.maybe(0.93) else "2020-01-01T00:00:00Z", "podsMetric": measured,
                  "nodeMetric": {"nodeUsage": usage(40, 90), "systemUsage": usage(4, 6)},
                  "hostApplicationMetric": [{"name": "h", "priority": self.pick(*CLASSES), "usage": usage(2, 2)} for _ in range(number(0, 2))]}
        if self.maybe(0.7):
            status["prodReclaimableMetric"] = {"resource": usage(20, 40)}
        return {"kind": "NodeMetric", "metadata": {"name": node}, "status": status}

    def node_steps(self):
        self.nodes = [f"{self.prefix}{letter}" for letter in "abc"]
        for name in self.nodes:
            if self.maybe(0.6):
                yield "create", self.topology(name)
            if self.maybe(0.6):
                yield "create", self.device(name)
            yield "create", self.node(name)
        pods = [self.running_pod(i, self.random.choice(self.nodes)) for i in range(10)]
        for pod in pods:
            yield "create", pod
        for name in self.nodes:
            if self.maybe(0.9):
                yield "report", self.report(name, [pod for pod in pods if pod["spec"]["nodeName"] == name])

    # Profiles and pods.

    def profile(self, i):
        number = self.random.randint
        text = lambda: self.pick("a", "b", "c")
        spec = self.some(
            labels=lambda: {"made-" + text(): text()}, annotations=lambda: {"note-" + text(): text()},
            labelSuffixes=lambda: {self.pick("app", "x", "none"): "-s"}, labelKeysMapping=lambda: {"app": "copied-" + text()},
            qosClass=lambda: self.pick(*QOS[:5]), priorityClassName=lambda: self.pick(*CLASSES), koordinatorPriority=lambda: number(0, 9999),
            schedulerName=lambda: "nobody-else", probability=lambda: self.pick(0, 100, "100%", "0%"),
            patch=lambda: self.pick({"spec": {"terminationGracePeriodSeconds": 7}}, {"metadata": {"labels": {"patched": "yes"}}},
                                    {"spec": {"containers": [{"name": "c0", "env": [{"name": "E", "value": "1"}]}]}},
                                    {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}},
                                    {"spec": {"nodeSelector": {"disk": "ssd"}, "restartPolicy": "Never"}}),
            selector=lambda: self.pick({}, {"matchLabels": {"app": text()}}, {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [text()]}]}))
        spec["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}
        notes = {"config.koordinator.sh/skip-update-resources": ""} if self.maybe(0.1) else {}
        return {"kind": "ClusterColocationProfile", "metadata": {"name": f"{self.prefix}{i}", "annotations": notes}, "spec": spec}

    def resources(self):
        amounts = lambda: self.some(**{
            "cpu": lambda: self.pick("1", "500m", "2", "0"), "memory": lambda: self.pick("1Gi", "64Mi", "1000000"),
            "ephemeral-storage": lambda: "1Gi"})
        value = {"requests": amounts()}
        if self.maybe():
            value["limits"] = {name: self.pick(amount, amount) for name, amount in value["requests"].items()} if self.maybe(0.7) else {"cpu": "4", "memory": "8Gi"}
        extended = {}
        if self.maybe(0.15):
            extended["kubernetes.io/batch-cpu"] = self.pick("500", "1k")
        if self.maybe(0.2):
            extended.update(self.pick({"koordinator.sh/gpu": "100"}, {"koordinator.sh/gpu": "200"}, {"koordinator.sh/gpu": "50"},
                                      {"koordinator.sh/gpu-core": "50", "koordinator.sh/gpu-memory": "8Gi"}, {"koordinator.sh/gpu-core": "200"},
                                      {"koordinator.sh/gpu-core": "150", "koordinator.sh/gpu-memory-ratio": "150"},
                                      {"koordinator.sh/gpu.shared": "2", "koordinator.sh/gpu-memory-ratio": "100"}, {"nvidia.com/gpu": "1"}))
        if extended:
            value["requests"].update(extended)
            value.setdefault("limits", {}).update(extended)
        return value

    def new_pod(self, i):
        labels = self.some(app=lambda: self.pick("a", "b", "c"), x=lambda: "1")
        if self.maybe(0.4):
            labels["koordinator.sh/qosClass"] = self.pick(*QOS)
        if self.maybe(0.2):
            labels["koordinator.sh/priority"] = self.pick("1", "99")
        if self.maybe(0.1):
            labels["koordinator.sh/priority-class"] = self.pick(*CLASSES, "gold")
        notes = {}
        if self.maybe(0.1):
            notes["node.koordinator.sh/extended-resource-spec"] = self.pick("{", "{}", '{"containers":{"c0":{"requests":{"kubernetes.io/batch-cpu":"7"}}}}')
        if self.maybe(0.05):
            notes["scheduling.koordinator.sh/reserve-pod"] = "true"
        spec = {"schedulerName": "nobody", "containers": [{"name": f"c{n}", "image": "i", "resources": self.resources()} for n in range(self.random.randint(1, 2))]}
        if self.maybe(0.2):
            spec["initContainers"] = [{"name": "i0", "image": "i", "resources": self.resources()}]
        if self.maybe(0.4):
            spec["priorityClassName"] = self.pick(*CLASSES)
        return {"kind": "Pod", "metadata": {"name": f"pod-{i}", "namespace": self.namespace, "labels": labels, "annotations": notes}, "spec": spec}

    def pod_steps(self):
        for i in range(self.random.randint(0, 3)):
            yield "create", self.profile(i)
        yield ("settle",)
        for i in range(25):
            yield "create", self.new_pod(i)
        for i in range(10):
            change = self.pick({"koordinator.sh/qosClass": self.pick(None, *QOS)}, {"koordinator.sh/priority": self.pick(None, "5")},
                               {"koordinator.sh/priority-class": self.pick(None, *CLASSES)}, {QUOTA + "preemptible": "false"}, {"other": "x"})
            yield "patch", {"kind": "Pod", "metadata": {"name": f"pod-{i}", "namespace": self.namespace}}, {"metadata": {"labels": change}}

    # Quotas.

    def quota_name(self):
        return self.prefix + self.pick(*"abcdef")

    def quota(self):
        labels, notes = {}, {}
        if self.maybe(0.6):
            labels[QUOTA + "parent"] = self.pick(self.quota_name(), self.quota_name(), "koordinator-root-quota", self.prefix + "nobody")
        for key, make, chance in ((QUOTA + "is-parent", lambda: self.pick("true", "true", "false"), 0.6), (QUOTA + "tree-id", lambda: self.pick("t1", "t2"), 0.1),
                                  (QUOTA + "is-root", lambda: "true", 0.05), (QUOTA + "allow-force-update", lambda: "true", 0.1),
                                  (QUOTA + "allow-lent-resource", lambda: "false", 0.1)):
            if self.maybe(chance):
                labels[key] = make()
        if self.maybe(0.15):
            notes[QUOTA + "shared-weight"] = self.pick('{"cpu":"1"}', "heavy", '{"cpu":"-1"}', '{"cpu":"1","memory":"1Gi","gpu":"1"}', "[]")
        if self.maybe(0.15):
            notes[QUOTA + "namespaces"] = json.dumps([self.prefix + self.pick("n1", "n2")])
        if self.maybe(0.1):
            notes[QUOTA + "max-strict-check-resource-keys"] = self.pick('["cpu"]', "x")
        spec = {"max": {"cpu": str(self.pick(20, 20, 20, 40, -1)), **({"memory": "40Gi"} if self.maybe(0.85) else {})}}
        if self.maybe(0.7):
            spec["min"] = {"cpu": str(self.pick(0, 2, 4, 6, 12, 30, -2))}
            if self.maybe(0.3):
                spec["min"][self.pick("memory", "gpu")] = "1Gi"
        name = self.quota_name()
        if labels.get(QUOTA + "parent") == name:  # upstream takes it, and lets nobody delete it
            del labels[QUOTA + "parent"]
        return {"kind": "ElasticQuota", "metadata": {"name": name, "namespace": self.namespace, "labels": labels, "annotations": notes}, "spec": spec}

    def quota_steps(self):
        for _ in range(40):
            quota = self.quota()
            kind = self.random.randint(0, 9)
            if kind < 5:
                yield "create", quota
            elif kind < 8:
                # What the server keeps of it is replaced field by field.
                yield "patch", quota, {"metadata": {"labels": quota["metadata"]["labels"], "annotations": quota["metadata"]["annotations"]}, "spec": quota["spec"]}
            elif kind == 8:
                yield "delete", quota
            else:
                pod = self.new_pod(f"q{self.random.randint(0, 99)}")
                pod["metadata"]["labels"] = {QUOTA + "name": self.quota_name()}
                yield "create", pod
            yield ("settle",)

    def tree_steps(self):
        """Pools of nodes, and quotas of what they hold."""
        for letter in "abc":
            node = self.node(self.prefix + letter)
            ready = self.pick("True", "True", "False")
            node["status"]["conditions"] = [{"type": "Ready", "status": ready, "reason": "x", "message": "x", "lastHeartbeatTime": "2020-01-01T00:00:00Z",
                                             "lastTransitionTime": "2020-01-01T00:00:00Z"}]
            node["spec"] = {"unschedulable": True} if self.maybe(0.2) else {}
            node["metadata"]["labels"]["world"] = self.prefix + "x"
            yield "create", node
        for i in range(3):
            selector = {"matchLabels": {"world": self.prefix + "x", **self.some(pool=lambda: self.pick("a", "b", "c"))}}
            if self.maybe(0.1):
                selector = {"matchExpressions": [{"key": "pool", "operator": "Near"}]}
            spec = {"quotaName": f"{self.prefix}root-{i}", "nodeSelector": selector, "quotaLabels": {QUOTA + "is-parent": "true"},
                    **self.some(resourceRatio=lambda: self.pick("0.9", "0.33", "1", "1.5", "0", "most"))}
            labels = {QUOTA + "tree-id": "given"} if self.maybe(0.2) else {}
            notes = {QUOTA + "resource-keys": self.pick('["cpu"]', '["cpu","memory","pods"]', "x")} if self.maybe(0.4) else {}
            yield "create", {"kind": "ElasticQuotaProfile", "metadata": {"name": f"p{i}", "namespace": self.namespace, "labels": labels, "annotations": notes}, "spec": spec}
        yield ("wait", 13)
        for i in range(3):
            yield "look", {"kind": "ElasticQuota", "metadata": {"name": f"{self.prefix}root-{i}", "namespace": self.namespace}}
            yield "look", {"kind": "ElasticQuotaProfile", "metadata": {"name": f"p{i}", "namespace": self.namespace}}

    def config_steps(self):
        """Configurations for the validating webhook, which is asked about labelled ConfigMaps."""
        self.wild = True
        for _ in range(12):
            data = {}
            for key, make, shape in (("colocation-config", self.colocation, ""), ("resource-threshold-config", self.threshold, "clusterStrategy"),
                                     ("resource-qos-config", self.qos, "clusterStrategy"), ("cpu-burst-config", self.burst, "clusterStrategy"),
                                     ("system-config", self.system, "clusterStrategy")):
                if self.maybe(0.4):
                    data[key] = self.document(make, shape)
            if "resource-qos-config" in data and self.maybe(0.9):
                data.setdefault("system-config", '{"clusterStrategy": {"totalNetworkBandwidth": "1G"}, "nodeStrategies": []}')
            yield "configure", data
