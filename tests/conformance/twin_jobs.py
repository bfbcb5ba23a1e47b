"""Random worlds of pods that are of one template, each but for one thing that koord-scheduler heeds or does not, and of which some
are changed while they wait. There are machines with CPUs and GPUs, quotas, gangs, reservations and reports of load for them.
Played by jobs.py like the worlds of jobs (job_worlds.py), whose rules they keep.
"""

import copy
import json

from job_worlds import GANG, QUOTA
from machine_worlds import GPU, NODE, SCHEDULING, MachineWorld

NOW = "when it is written"  # jobs.py puts the time there
CLASSES = "koordinator.sh/"
UNREAD = "example.com/note"


class TwinJobs(MachineWorld):
    """things and steps, as in JobWorld."""

    def machine(self):
        super().machine()
        node = self.nodes[-1]
        node["metadata"]["labels"]["name"] = node["metadata"]["name"]
        for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
            amounts.update({self.resource: "20", "kubernetes.io/batch-cpu": str(3000 + self.machines), "kubernetes.io/batch-memory": f"{6 + self.machines}Gi"})
        if self.chance(0.3):
            node["spec"] = {"taints": [{"key": "team", "value": "a", "effect": self.pick("NoSchedule", "PreferNoSchedule")}]}
        if self.chance(0.3):
            cpu = 1000 * int(node["status"]["capacity"]["cpu"])
            busy = {"resources": {"cpu": f"{int(cpu * self.random.uniform(0.1, 0.7))}m", "memory": "1Gi"}}
            self.things.append(self.thing("NodeMetric", node["metadata"]["name"], False, spec={"metricCollectPolicy": {"reportIntervalSeconds": 60}},
                                          status={"updateTime": NOW, "nodeMetric": {"nodeUsage": busy}}))

    # The template

    def step(self):
        if not hasattr(self, "template"):
            self.begin()
            return self.made(self.template) + self.made(self.template)
        return self.pick(*[self.twin] * 6, self.again, self.changed, self.changed, self.departure)()

    def begin(self):
        for _ in range(2):
            self.quota(None, False)
        self.groups = [self.gang_of(minimum) for minimum in (1, 2)]
        self.things += self.groups
        for _ in range(self.random.randint(0, 2)):
            self.things.append(self.room())
        cpu = self.pick(1000, 2000, 2000, 3000)
        amounts = {"cpu": f"{cpu}m", "memory": f"{cpu}Mi"}
        if self.chance(0.4):
            amounts["nvidia.com/gpu"] = self.pick("1", "2")
        if self.chance(0.3):
            amounts[self.resource] = "1"
        self.template = self.machine_pod(amounts, {"team": "a"}, {UNREAD: "0"}, name="template")[1]
        self.pods.pop()
        self.template["spec"].update(priority=0, priorityClassName="sbs-0")
        for _ in range(self.random.randint(0, 2)):
            self.mutate(self.template)
        self.known, self.waiting = [], []

    def gang_of(self, minimum):
        return self.thing("PodGroup", self.name("g"), spec={"minMember": minimum, "scheduleTimeoutSeconds": 600})

    def room(self):
        """A reservation for pods with a label, which a pod of the template fits into."""
        name = f"{self.prefix}-{self.name('r')}"
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "4", "memory": "4Gi"}}}
        made = self.thing("Reservation", name, False, labels={"tier": self.pick("gold", "silver")}, spec={
            "template": {"spec": {"schedulerName": "koord-scheduler", "nodeSelector": {"world": self.prefix}, "priority": 0, "containers": [container]}},
            "ttl": "1h", "allocateOnce": False, "owners": [{"object": {"namespace": self.prefix}, "labelSelector": {"matchLabels": {"of": "room"}}}]})
        self.reservations.append((made, None))
        return made

    def mutate(self, pod):
        before = copy.deepcopy(pod)
        while pod == before:
            self.pick(*self.MUTATIONS)(self, pod)

    def made(self, pod):
        pod = copy.deepcopy(pod)
        pod["metadata"]["name"] = self.name("p")
        self.pods.append(pod)
        self.waiting.append(pod)
        return [("create", pod, None)]

    # Steps

    def twin(self):
        pod = copy.deepcopy(self.template)
        self.mutate(pod)
        self.known.append(pod)
        # Often as many as it takes to be known.
        return [action for _ in range(self.pick(1, 2, 2, 3)) for action in self.made(pod)]

    def again(self):
        return self.made(self.pick(self.template, *self.known)) + self.made(self.template)

    def changed(self):
        """A pod is told otherwise, whether it waits or runs."""
        if not self.waiting:
            return self.twin()
        pod = self.pick(*self.waiting)
        before = copy.deepcopy(pod["metadata"])
        while pod["metadata"] == before:
            self.pick(*self.TOLD)(self, pod)
        after = pod["metadata"]
        patch = {field: {key: after[field].get(key) for key in {**before[field], **after[field]} if before[field].get(key) != after[field].get(key)}
                 for field in ("labels", "annotations")}
        pod["metadata"] = before
        return [("patch", pod, {"metadata": {field: dict(sorted(values.items())) for field, values in patch.items() if values}})]

    # The one thing

    def put(self, pod, field, key, *values):
        pod["metadata"][field][key] = self.pick(*values)

    def label(self, pod):
        self.put(pod, "labels", self.pick("team", "app"), "a", "b")

    def note(self, pod):
        self.put(pod, "annotations", UNREAD, "1", "2")

    def quality(self, pod):
        self.put(pod, "labels", CLASSES + "qosClass", "LS", "LS", "LSR", "BE")

    def level(self, pod):
        self.put(pod, "labels", CLASSES + "priority-class", "koord-prod", "koord-mid", "koord-free")

    def in_quota(self, pod):
        self.put(pod, "labels", QUOTA + "name", *[quota["metadata"]["name"] for quota in self.quotas], "not-there")

    def lasting(self, pod):
        self.put(pod, "labels", QUOTA + "preemptible", "false", "true")

    def in_gang(self, pod):
        self.put(pod, "labels", GANG, *[group["metadata"]["name"] for group in self.groups])

    def in_own_gang(self, pod):
        self.put(pod, "annotations", "gang.scheduling.koordinator.sh/name", self.name("lone"))
        pod["metadata"]["annotations"]["gang.scheduling.koordinator.sh/min-available"] = "1"

    def wish(self, pod):
        wish = self.pick({"reservationSelector": {"tier": self.pick("gold", "silver")}}, {})
        pod["metadata"]["annotations"][SCHEDULING + "reservation-affinity"] = json.dumps(wish)

    def owner(self, pod):
        self.put(pod, "labels", "of", "room", "nothing")

    def aloof(self, pod):
        self.put(pod, "labels", SCHEDULING + "reservation-ignored", "true", "false")

    def binding(self, pod):
        policy = self.pick({"preferredCPUBindPolicy": "FullPCPUs"}, {"requiredCPUBindPolicy": "SpreadByPCPUs"}, {"requiredCPUBindPolicy": "FullPCPUs"})
        pod["metadata"]["annotations"][SCHEDULING + "resource-spec"] = json.dumps(policy)

    def numa(self, pod):
        policy = {"numaTopologyPolicy": self.pick("BestEffort", "Restricted", "SingleNUMANode")}
        pod["metadata"]["annotations"][SCHEDULING + "numa-topology-spec"] = json.dumps(policy)

    def guessed(self, pod):
        self.put(pod, "annotations", SCHEDULING + "load-estimated-scaling-factors", '{"cpu":100}', '{"cpu":30}', '{"cpu":')

    def hint(self, pod):
        hint = {self.pick("nodeNames", "preferredNodeNames"): [self.pick(*self.nodes)["metadata"]["name"]]}
        pod["metadata"]["annotations"][CLASSES + "scheduling-hint"] = json.dumps(hint)

    def scope(self, pod):
        hint = {"gpu": {"requiredTopologyScope": self.pick("PCIe", "NUMANode")}}
        pod["metadata"]["annotations"][SCHEDULING + "device-allocate-hint"] = json.dumps(hint)

    def container(self, pod):
        return pod["spec"]["containers"][0]

    def amount(self, pod):
        requests = self.container(pod)["resources"]
        changed = requests["requests"] | self.pick({"cpu": "1"}, {"cpu": "2"}, {"cpu": "2500m"}, {"memory": "3Gi"}, {self.resource: "2"}, {self.resource: "1"},
                                                   {"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "2"}, {f"{GPU}-core": "50", f"{GPU}-memory-ratio": "50"})
        if "nvidia.com/gpu" in changed and f"{GPU}-core" in changed:
            del changed["nvidia.com/gpu"]
        self.container(pod)["resources"] = {"requests": changed, "limits": changed}

    def limit(self, pod):
        resources = self.container(pod)["resources"]
        resources["limits"] = {**resources["limits"], "cpu": self.pick("6", "7")}

    def batch(self, pod):
        amounts = {"kubernetes.io/batch-cpu": self.pick("1000", "2000"), "kubernetes.io/batch-memory": "1Gi"}
        self.container(pod)["resources"] = {"requests": amounts, "limits": amounts}
        pod["metadata"]["labels"].update({CLASSES + "qosClass": "BE", CLASSES + "priority-class": "koord-batch"})

    def environment(self, pod):
        self.container(pod)["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": self.pick("0", "1")}]

    def image(self, pod):
        self.container(pod)["image"] = self.pick("other", "others")

    def port(self, pod):
        self.container(pod)["ports"] = [{"containerPort": 80, "hostPort": self.pick(8080, 8081)}]

    def preparation(self, pod):
        amounts = {"cpu": self.pick("500m", "3", "5"), "memory": "1Gi"}
        init = {"name": "init", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
        pod["spec"]["initContainers"] = [{**init, **self.pick({}, {"restartPolicy": "Always"})}]

    def second(self, pod):
        pod["spec"]["containers"].append({**copy.deepcopy(self.container(pod)), "name": "second", "ports": []})

    def toleration(self, pod):
        pod["spec"]["tolerations"] = [{"key": "team", **self.pick({"operator": "Exists"}, {"value": "a"}, {"value": "b"})}]

    def selector(self, pod):
        pod["spec"]["nodeSelector"] = {"world": self.prefix, "kubernetes.io/hostname": "none"} if self.chance(0.2) else {
            "world": self.prefix, NODE + "cpu-bind-policy": self.pick("FullPCPUsOnly", "SpreadByPCPUs")}

    def affinity(self, pod):
        term = {"matchFields": [{"key": "metadata.name", "operator": self.pick("In", "NotIn"), "values": [self.pick(*self.nodes)["metadata"]["name"]]}]}
        pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}

    def apart(self, pod):
        term = {"topologyKey": "name", "labelSelector": {"matchLabels": {"team": self.pick("a", "b")}}}
        pod["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    def priority(self, pod):
        value = self.pick(9100, 9500)
        pod["spec"].update(priority=value, priorityClassName=f"sbs-{value}")

    TOLD = [label, note, in_quota, in_quota, owner, owner, wish, aloof, binding, numa, hint, guessed, quality, in_own_gang, scope, lasting]
    MUTATIONS = TOLD + [level, in_gang, amount, amount, amount, limit, batch, environment, image, port, preparation, second, toleration, selector,
                        affinity, apart, priority]
