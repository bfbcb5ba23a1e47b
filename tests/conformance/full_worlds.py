"""Random worlds without room: nodes full of pods of many priorities, and somebody who wants in.

What runs is made bound, so that both schedulers begin with the same. Then come one or two units, one after the other: a pod, a
gang, a pod of a quota, or a Reservation. Whoever leaves is gone at once, and missing from the state that jobs.py compares.
No disruption controller runs: budgets keep the status that they are made with.
"""

from job_worlds import GANG, QUOTA, JobWorld

PRIORITIES = (-10, 0, 5, 100, 1000, 2000, 9100, 9500)
OWNED = "full.sbs.test/app"


class FullWorld(JobWorld):
    ARRIVALS = (1, 1, 2)  # how many a world may have

    def build(self):
        self.kind = ("plain", "gang", "quota", "reservation", "mixed")[self.seed % 5]
        nodes = self.random.randint(1, 3)
        self.things += [self.node() for _ in range(nodes)]
        if self.kind in ("quota", "mixed"):
            self.make_quotas()
        for node in self.nodes:
            self.fill(node)
        self.things += [self.budget(app) for app in "abc" if self.chance(0.5)]
        self.steps = [self.arrival() for _ in range(self.pick(*self.ARRIVALS))]

    def node(self):
        cpu = self.pick(4, 6, 8) * 1000 + len(self.nodes)
        amounts = {"cpu": f"{cpu}m", "memory": "64Gi", "pods": "110", self.resource: "20"}
        node = self.thing("Node", f"{self.prefix}-{self.name('n')}", False, labels={"world": self.prefix},
                          status={"capacity": amounts, "allocatable": amounts})
        node["cpu"] = cpu
        self.nodes.append(node)
        return {name: value for name, value in node.items() if name != "cpu"}

    def fill(self, node):
        left = node["cpu"]
        while left >= 1000:
            cpu = min(left // 1000, self.random.randint(1, 4)) * 1000
            left -= cpu
            if self.chance(0.1):
                continue  # a little room is left
            labels = {OWNED: self.pick("a", "b", "c", "d"), **self.quota_label()}
            if self.chance(0.1):
                labels["scheduling.koordinator.sh/disable-preemptible"] = "true"
            if QUOTA + "name" in labels and self.chance(0.1):
                labels[QUOTA + "preemptible"] = "false"
            _, pod, _ = self.pod(self.name("v"), cpu, labels, self.pick(*PRIORITIES[:6]))
            pod["spec"]["nodeName"] = node["metadata"]["name"]
            pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T00:{self.count // 60:02}:{self.count % 60:02}Z",
                             "conditions": [{"type": "Ready", "status": "True"}]}
            self.things.append(pod)

    def budget(self, app):
        allowed = self.pick(0, 0, 1, 2)
        return self.thing("PodDisruptionBudget", f"b-{app}", spec={"minAvailable": 1, "selector": {"matchLabels": {OWNED: app}}},
                          status={"disruptionsAllowed": allowed, "currentHealthy": 3, "desiredHealthy": 3 - allowed, "expectedPods": 3,
                                  "observedGeneration": 1})

    def arrival(self):
        kind = self.kind if self.kind != "mixed" else self.pick("plain", "gang", "quota", "reservation")
        priority, cpu = self.pick(100, 1000, 2000, 9100, 9500), self.pick(1000, 2000, 3000, 4000)
        if kind == "gang":
            return self.members(priority, self.pick(1000, 2000, 3000))
        if kind == "reservation":
            return self.room(priority, cpu)
        labels = self.quota_label() if kind == "quota" else {}
        return [self.pod(self.name("p"), cpu, labels, priority)]

    def members(self, priority, cpu):
        name, minimum = self.name("g"), self.random.randint(2, 3)
        group = self.thing("PodGroup", name, spec={"minMember": minimum, "scheduleTimeoutSeconds": 600})
        labels = {GANG: name, **(self.quota_label() if self.chance(0.3) else {})}
        return [("create", group, None)] + [self.pod(f"{name}-{i}", cpu, labels, priority) for i in range(minimum)]

    def room(self, priority, cpu):
        name = f"{self.prefix}-{self.name('r')}"
        spec = {"schedulerName": "koord-scheduler", "nodeSelector": {"world": self.prefix},
                "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": f"{cpu}m", "memory": "1Gi"}}}]}
        if self.chance(0.5):
            spec["priority"] = priority
        owners = [{"object": {"namespace": self.prefix}, "labelSelector": {"matchLabels": {"of": name}}}]
        made = self.thing("Reservation", name, False, spec={"template": {"spec": spec}, "ttl": "1h", "owners": owners})
        return [("create", made, None), self.pod(self.name("o"), cpu, {"of": name}, priority)] if self.chance(0.5) else [("create", made, None)]
