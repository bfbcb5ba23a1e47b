#!/usr/bin/env python3
"""koordctl deschedule --dry-run on a cluster with a hot node: what would be moved, where to, why, and nothing is.

    deschedule.py --programs PATH --source REPOSITORY

The nodes are simulated and koord-descheduler is not there, so it needs neither root nor much time; 77 without kubectl.
"""

import json
import os
import subprocess
import sys

from one_machine import Cluster
from simulated_nodes import run_steps
from waiting import Failure, check, wait_until

NAMESPACE = "hot-node-demo"
CONFIGURATION = """apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
profiles:
- name: koord-descheduler
  plugins:
    balance: {enabled: [{name: LowNodeLoad}]}
  pluginConfig:
  - name: LowNodeLoad
    args: {lowThresholds: {cpu: 45}, highThresholds: {cpu: 75}}
"""


class DescheduleTest:
    def __init__(self, options, folder):
        self.options = options
        self.cluster = Cluster(options.programs, folder, "--host-node=off", "--nodes=0",
                               "--components=koord-manager,koord-scheduler")
        self.config = os.path.join(folder, "descheduler.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION)
        self.pods = {}

    def plan(self, *flags):
        done = subprocess.run([os.path.join(self.options.programs, "koordctl"), "deschedule", "--dry-run", *flags,
                               "--kubeconfig", self.cluster.kubeconfig], capture_output=True, text=True, timeout=60)
        check(done.returncode == 0, done.stderr)
        return done.stdout

    def flags(self):
        with open(os.path.join(self.cluster.data, "components.json"), encoding="utf-8") as file:
            return "--config", self.config, "--scheduler", json.load(file)["koord-scheduler-secure"]

    def moves(self):
        return json.loads(self.plan("--json", *self.flags()))["moves"]

    def running(self):
        return {pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["spec"]["nodeName"])
                for pod in self.cluster.get("pods", "-n", NAMESPACE)["items"] if pod["status"]["phase"] == "Running"}

    def one_node_is_too_few(self):
        self.cluster.start()
        try:
            self.plan(*self.flags())
        except Failure as refused:
            check("0 nodes are ready" in str(refused), refused)
        else:
            raise Failure("a plan for no nodes")

    def a_node_becomes_hot(self):
        self.cluster.kubectl("apply", "-f", os.path.join(self.options.source, "examples/hot-node"))
        wait_until("six pods run on one node",
                   lambda: [node for _, node in self.running().values()] == ["hot-0"] * 6, 60)
        self.pods = self.running()
        # The first report may count some of the pods only.
        wait_until("a report counts all pods: two have to move", lambda: len(self.moves()) >= 2, 90, 1)

    def the_plan_cures_it(self):
        moves = self.moves()
        check(len(moves) == 2, f"a third of the workload may go: {moves}")
        for move in moves:
            check(move["pod"].split("/")[1] in self.pods and move["from"] == "hot-0", move)
            check(move["to"] in ("hot-1", "hot-2"), f"koord-scheduler has said where: {move}")
            check(move["why"].startswith("LowNodeLoad: node is overutilized"), move)
        loads = [[int(load.split("%")[0]) for load in move["fromLoad"]] for move in moves]
        check(loads[0][0] > 90 and loads[0][1] == loads[1][0] and loads[1][1] < 75, f"hot before, cured after: {loads}")
        check(all(0 <= int(move["toLoad"][0].split("%")[0]) < int(move["toLoad"][1].split("%")[0]) < 45 for move in moves),
              f"and nobody else becomes hot: {moves}")

    def the_table_says_the_same(self):
        lines = self.plan(*self.flags()).splitlines()
        check(lines[0].startswith("2 pods would be moved. CPU and memory are shown as used"), lines[0])
        check(lines[1].split() == "POD FROM CPU/MEMORY TO CPU/MEMORY WHY".split(), lines[1])
        for line in lines[2:4]:
            check(all(word in line for word in (f"{NAMESPACE}/hungry-", "hot-0", "% to ", "LowNodeLoad:")), line)
        check("waits for anomalyCondition" in lines[4], lines[4])

    def nothing_has_been_moved(self):
        check(self.running() == self.pods, f"pods were {self.pods} and are {self.running()}")
        check(not self.cluster.get("podmigrationjobs")["items"], "there is no job")
        self.cluster.stop()

    def steps(self):
        return (self.one_node_is_too_few, self.a_node_becomes_hot, self.the_plan_cures_it, self.the_table_says_the_same,
                self.nothing_has_been_moved)


if __name__ == "__main__":
    sys.exit(run_steps(__doc__, DescheduleTest, "--source"))
