"""Random worlds of load: nodes with NodeMetrics and limits of their own, pods of several priorities, new reports. Played by jobs.py
like the worlds of jobs (job_worlds.py).

Reports are young throughout: how old one may be depends on when it is read.
"""

import json

from job_worlds import JobWorld

NOW = "when it is written"  # jobs.py puts the time there


class LoadWorld(JobWorld):
    """things and steps, as in JobWorld."""

    def build(self):
        self.prefix = f"loads-{self.seed}"
        self.things[0]["metadata"]["name"] = self.prefix
        self.placed, self.measured = [], []
        for _ in range(self.random.randint(2, 4)):
            self.things += self.machine()
        self.steps = [self.step() for _ in range(self.random.randint(6, 10))]

    def machine(self):
        cpu, name = self.sizes.pop(), f"{self.prefix}-{self.name('n')}"
        amounts = {"cpu": f"{cpu}m", "memory": f"{2 * cpu}Mi", "pods": "110", "kubernetes.io/batch-cpu": str(cpu),
                   "kubernetes.io/batch-memory": f"{2 * cpu}Mi"}
        node = self.thing("Node", name, False, labels={"world": self.prefix}, annotations=self.limits(),
                          status={"capacity": amounts, "allocatable": amounts})
        node["cpu"] = cpu
        self.nodes.append(node)
        made = [{key: value for key, value in node.items() if key != "cpu"}]
        if self.chance(0.2):
            return made
        self.measured.append(node)
        return made + [self.report(node)]

    def limits(self):
        if self.chance(0.3):
            return {}
        limits = {"usageThresholds": {"cpu": self.pick(50, 65, 80), "memory": self.pick(60, 90)}}
        if self.chance(0.4):
            limits["prodUsageThresholds"] = {"cpu": self.pick(30, 50)}
        if self.chance(0.3):
            limits["aggregatedUsage"] = {"usageThresholds": {"cpu": self.pick(40, 60)}, "usageAggregationType": self.pick("p95", "p50"),
                                         "usageAggregatedDuration": "5m0s"}
        return {"scheduling.koordinator.sh/usage-thresholds": json.dumps(limits)}

    def usage(self, node):
        return {"resources": {"cpu": f"{int(node['cpu'] * self.random.uniform(0.1, 0.8))}m",
                              "memory": f"{int(2 * node['cpu'] * self.random.uniform(0.1, 0.8))}Mi"}}

    def report(self, node):
        measured = {"nodeUsage": self.usage(node), "systemUsage": {"resources": {"cpu": "100m", "memory": "100Mi"}},
                    "aggregatedNodeUsages": [{"duration": "5m0s", "usage": {kind: self.usage(node) for kind in ("avg", "p50", "p90", "p95", "p99")}}]}
        pods = [{"namespace": self.prefix, "name": name, "priority": "koord-prod", "podUsage": {"resources": {"cpu": self.pick("200m", "900m"), "memory": "500Mi"}}}
                for name in self.random.sample(self.placed, min(len(self.placed), 2))]
        return self.thing("NodeMetric", node["metadata"]["name"], False, spec={"metricCollectPolicy": {"reportIntervalSeconds": 60}},
                          status={"updateTime": NOW, "nodeMetric": measured, "podsMetric": pods})

    def pods_of_a_class(self):
        name, cpu = self.pick("koord-prod", "koord-prod", "koord-batch", "koord-free"), self.cpu()
        amounts = {"kubernetes.io/batch-cpu": str(cpu), "kubernetes.io/batch-memory": f"{cpu}Mi"} if name == "koord-batch" else {
            "cpu": f"{cpu}m", "memory": f"{cpu}Mi"}
        made = []
        for _ in range(self.random.randint(1, 3)):
            pod = self.pod(self.name("p"), cpu, {"koordinator.sh/priority-class": name}, 0)
            pod[1]["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
            self.placed.append(pod[1]["metadata"]["name"])
            made.append(pod)
        return made

    def reported(self):
        return [("status", self.report(self.pick(*self.measured)), None)] if self.measured else self.departure()

    def step(self):
        return self.pick(*[self.pods_of_a_class] * 5, self.reported, self.reported, self.departure)()
