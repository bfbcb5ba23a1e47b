"""Random worlds of jobs: gangs, quotas and reservations on a few nodes, and what happens to them one after the other.

A world of the same seed is the same world. It keeps to nodes, a namespace and quotas of its own, so that several can be
in a cluster at once. It stays away from where koord-scheduler is meant to differ (docs/differences.md): NonStrict
gangs, owners larger than what their reservation has left, and quotas that count what the default quota counts, too.
"""

import random

from worlds import OWNER

QUOTA = "quota.scheduling.koordinator.sh/"
GANG = "pod-group.scheduling.sigs.k8s.io"
PRIORITIES = (0, 0, 0, 9100, 9500)


class JobWorld:
    """things: what stands at the beginning. steps: lists of (verb, object, change), each carried out at once."""

    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(seed)
        self.prefix = f"jobs-{seed}"
        self.resource = f"sbs.test/{self.prefix}"
        self.count = 0
        self.pods, self.quotas, self.gangs, self.reservations, self.nodes = [], [], [], [], []
        self.preempting = self.chance(0.3)
        self.sizes = self.random.sample((1900, 2600, 3300, 4700, 5900, 7700, 10100, 13700), 8)
        self.things = [{"kind": "Namespace", "metadata": {"name": self.prefix, "labels": {OWNER: "true"}}}]
        self.build()

    def build(self):
        self.things += [self.node() for _ in range(self.random.randint(1, 4))]
        if self.chance(0.6):
            self.make_quotas()
        self.steps = [self.step() for _ in range(self.random.randint(6, 10))]

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, *items):
        return self.random.choice(items)

    def name(self, what):
        self.count += 1
        return f"{what}{self.count}"

    def thing(self, kind, name, namespaced=True, **fields):
        meta = {"name": name, "labels": {OWNER: "true", **fields.pop("labels", {})}, "annotations": fields.pop("annotations", {})}
        if namespaced:
            meta["namespace"] = self.prefix
        return {"kind": kind, "metadata": meta, **fields}

    def node(self):
        # All of another size: nodes then rarely score the same, and chance has no part in it.
        cpu = self.sizes.pop() if self.sizes else self.random.randint(2000, 14000)
        amounts = {"cpu": f"{cpu}m", "memory": f"{2 * cpu + self.random.randint(1, 999)}Mi", "pods": "110", self.resource: "20"}
        node = self.thing("Node", f"{self.prefix}-{self.name('n')}", False, labels={"world": self.prefix},
                          status={"capacity": amounts, "allocatable": amounts})
        self.nodes.append(node)
        return node

    def make_quotas(self):
        parents = [None]
        if self.chance(0.5):
            parents = [self.quota(None, True)]
        for _ in range(self.random.randint(1, 3)):
            self.quota(self.pick(*parents), False)

    def quota(self, parent, is_parent):
        smallest = self.pick(0, 1, 2, 4)
        labels = {QUOTA + "is-parent": "true"} if is_parent else {}
        if parent:
            labels[QUOTA + "parent"] = parent["metadata"]["name"]
            smallest = 0 if int(parent["spec"]["min"][self.resource]) < 4 else min(smallest, 1)
        if self.chance(0.2):
            labels[QUOTA + "allow-lent-resource"] = "false"
        largest = self.pick(4, 6, 10) if is_parent else max(smallest, self.pick(2, 3, 5, 8))
        quota = self.thing("ElasticQuota", f"{self.prefix}-{self.name('q')}", labels=labels,
                           spec={"min": {self.resource: str(smallest)}, "max": {self.resource: str(largest)}})
        self.things.append(quota)
        if not is_parent:
            self.quotas.append(quota)
        return quota

    def pod(self, name, cpu, labels, priority, units=None):
        amounts = {"cpu": f"{cpu}m", "memory": f"{cpu}Mi"}
        if QUOTA + "name" in labels:
            amounts[self.resource] = str(units or self.pick(1, 1, 2))
        pod = self.thing("Pod", name, labels=labels, spec={
            "schedulerName": "koord-scheduler", "nodeSelector": {"world": self.prefix}, "priority": priority,
            "priorityClassName": f"sbs-{priority}", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}]})
        self.pods.append(pod)
        return ("create", pod, None)

    def cpu(self):
        return self.pick(300, 700, 1100, 1900, 3100) + self.random.randint(0, 9)

    def priority(self):
        return self.pick(*PRIORITIES) if self.preempting else 0

    def quota_label(self):
        return {QUOTA + "name": self.pick(*self.quotas)["metadata"]["name"]} if self.quotas and self.chance(0.6) else {}

    def step(self):
        kinds = [self.plain] * 3 + [self.gang] * 3 + [self.reservation, self.owners, self.owners, self.departure, self.departure,
                                                                self.growth, self.takeover]
        return self.pick(*kinds)()

    def plain(self):
        labels, priority = {"team": self.pick("a", "b"), **self.quota_label()}, self.priority()
        return [self.pod(self.name("p"), self.cpu(), labels, priority) for _ in range(self.random.randint(1, 3))]

    def takeover(self):
        """A reservation that may be placed on the room of pods that run."""
        name, cpu = f"{self.prefix}-{self.name('t')}", self.pick(1000, 2000, 3500, 5000)
        template = {"spec": {"schedulerName": "koord-scheduler", "nodeSelector": {"world": self.prefix}, "priority": 0,
                             "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{cpu}Mi"}}}]}}
        spec = {"template": template, "ttl": "1h", "allocateOnce": self.chance(0.5), "preAllocation": True,
                "allocatePolicy": "Restricted" if self.chance(0.9) else "Aligned",
                "owners": [{"object": {"namespace": self.prefix}, "labelSelector": {"matchLabels": {"team": self.pick("a", "b")}}}]}
        if self.chance(0.3):
            spec["preAllocationPolicy"] = {"enableMultiple": True}
        labels = {"scheduling.koordinator.sh/pre-allocation-required": "true"} if self.chance(0.3) else {}
        return [("create", self.thing("Reservation", name, False, labels=labels, spec=spec), None)]

    def gang(self):
        minimum = self.random.randint(1, 4)
        name = self.name("g")
        group = self.thing("PodGroup", name, spec={"minMember": minimum, "scheduleTimeoutSeconds": 600})
        if self.chance(0.3):
            group["metadata"]["annotations"]["gang.scheduling.koordinator.sh/match-policy"] = self.pick("only-waiting", "waiting-and-running")
        self.gangs.append(group)
        labels, priority, cpu = {GANG: name, **self.quota_label()}, self.priority(), self.cpu()
        members, units = max(1, minimum + self.pick(-1, 0, 0, 0, 1)), self.pick(1, 1, 2)
        return [("create", group, None)] + [self.pod(f"{name}-{i}", cpu, labels, priority, units) for i in range(members)]

    def reservation(self):
        name = f"{self.prefix}-{self.name('r')}"
        once = self.chance(0.5)
        cpu = self.pick(1000, 2000, 3000)
        template = {"spec": {"schedulerName": "koord-scheduler", "nodeSelector": {"world": self.prefix}, "priority": 0,
                             "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{cpu}Mi"}}}]}}
        spec = {"template": template, "ttl": "1h", "allocateOnce": once,
                "owners": [{"object": {"namespace": self.prefix}, "labelSelector": {"matchLabels": {"of": name}}}]}
        if self.chance(0.5):
            spec["allocatePolicy"] = self.pick("Aligned", "Restricted")
        made = self.thing("Reservation", name, False, spec=spec)
        self.reservations.append((made, [cpu]))
        return [("create", made, None)]

    def owners(self):
        if not self.reservations:
            return self.reservation()
        made, left = self.pick(*self.reservations)
        cpu = self.pick(300, 700, 1000)
        if left[0] < cpu:
            return self.plain()
        left[0] = 0 if made["spec"]["allocateOnce"] else left[0] - cpu
        return [self.pod(self.name("o"), cpu, {"of": made["metadata"]["name"]}, 0)]

    def departure(self):
        if not self.pods:
            return self.plain()
        if self.reservations and self.chance(0.2):
            made, left = self.pick(*self.reservations)
            left[0] = 0
            return [("delete", made, None)]
        # Members of a gang are alike, and each scheduler begins with another: they go together.
        gone = {pod["metadata"]["labels"].get(GANG, pod["metadata"]["name"]) for pod in self.random.sample(self.pods, min(len(self.pods), 2))}
        return [("delete", pod, None) for pod in self.pods if pod["metadata"]["labels"].get(GANG, pod["metadata"]["name"]) in gone]

    def growth(self):
        if self.quotas and self.chance(0.5):
            quota = self.pick(*self.quotas)
            largest = {self.resource: str(int(quota["spec"]["max"][self.resource]) + self.pick(1, 2, 4))}
            return [("patch", quota, {"spec": {"max": largest}})]
        if self.gangs and self.chance(0.4):
            return [("patch", self.pick(*self.gangs), {"spec": {"minMember": self.random.randint(1, 3)}})]
        return [("create", self.node(), None)]
