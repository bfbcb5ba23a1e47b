#!/usr/bin/env python3
"""koordctl capacity and tune on a cluster of simulated nodes: as many pods as it counts fit, and not one more.

    capacity.py --programs PATH

It needs neither root nor a host node; 77 without kubectl.
"""

import json
import os
import re
import subprocess
import sys

from one_machine import Cluster
from simulate import deployment, gang
from simulated_nodes import run_steps
from waiting import check, wait_until

QUOTA = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
         "metadata": {"name": "team", "namespace": "default"},
         "spec": {"min": {"cpu": "1", "memory": "1Gi"}, "max": {"cpu": "6", "memory": "64Gi"}}}


class CapacityTest:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.cluster = Cluster(options.programs, folder, "--host-node=off", "--nodes=4",
                               "--components=koord-manager,koord-scheduler")

    def capacity(self, *flags, objects=None, status=0):
        source = [] if "--snapshot" in flags or "--no-cluster" in flags else ["--kubeconfig", self.cluster.kubeconfig,
                                                                             "--scheduler", self.scheduler()]
        given = ["-f", "-"] if objects else []
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects or []})
        done = subprocess.run([os.path.join(self.options.programs, "koordctl"), "capacity", *given, "-o", "json", *flags, *source],
                              input=text, capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == status, f"status {done.returncode}, not {status}: {done.stdout[:500]}{done.stderr[:500]}")
        return json.loads(done.stdout) if status < 2 else done.stderr

    def scheduler(self):
        with open(os.path.join(self.cluster.data, "components.json"), encoding="utf-8") as file:
            return json.load(file)["koord-scheduler-secure"]

    def create(self, objects):
        self.cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def placed(self, app):
        return sum(1 for item in self.cluster.get("pods", "-l", "app=" + app)["items"] if item["spec"].get("nodeName"))

    def as_many_pods_fit_as_are_counted(self):
        self.cluster.start()
        wait_until("four nodes are measured", lambda: sum("nodeMetric" in metric.get("status", {})
                                                          for metric in self.cluster.get("nodemetrics")["items"]) == 4, 60)
        shape = [deployment("wide", 1, "6")]
        fill = self.capacity(objects=shape)["status"]["fill"]
        copies = fill["copies"]
        check(fill["full"] and copies > 0 and "nodes are available" in fill["message"], fill)
        check(sum(pool["pods"] for pool in fill["pools"]["list"]) == copies, fill["pools"])
        check(sum(pool["nodes"] for pool in fill["pools"]["list"]) == 4, fill["pools"])
        self.create([deployment("wide", copies + 1, "6")])
        wait_until(f"{copies} pods have nodes", lambda: self.placed("wide") >= copies, 30)
        none = self.capacity(objects=shape, status=1)["status"]["fill"]
        check(none["copies"] == 0, none)
        check(self.placed("wide") == copies, "one more than was counted has a node")
        self.cluster.kubectl("delete", "deployment", "wide", "--wait")
        wait_until("the pods are gone", lambda: not self.cluster.get("pods", "-l", "app=wide")["items"], 30)

    def thresholds_are_proposed_for_the_cluster(self):
        usage, patch = os.path.join(self.folder, "usage.csv"), os.path.join(self.folder, "patch.yaml")
        koordctl = os.path.join(self.options.programs, "koordctl")
        self.create([deployment("shop", 4, "2")])
        wait_until("pods are measured", lambda: sum(len(metric.get("status", {}).get("podsMetric") or [])
                                                    for metric in self.cluster.get("nodemetrics")["items"]) >= 4, 150)
        recording = subprocess.run([koordctl, "tune", "record", usage, "--time", "1s", "--kubeconfig", self.cluster.kubeconfig],
                                   capture_output=True, text=True, timeout=60, check=False)
        check(recording.returncode == 0 and "samples" in recording.stdout, recording.stdout + recording.stderr)
        with open(usage, encoding="utf-8") as file:
            check(file.readline() == "time,namespace,pod,cpu_milli,memory_bytes\n", "the record has no header")
            check(sum(",shop-" in line for line in file) >= 4, "the record lacks pods")
        tuned = subprocess.run([koordctl, "tune", "--usage", usage, "--nodes", "4", "--seeds", "1", "--max-settings", "1", "-o", "json",
                                "--patch", patch, "--kubeconfig", self.cluster.kubeconfig],
                               capture_output=True, text=True, timeout=240, check=False)
        check(tuned.returncode in (0, 1), tuned.stdout[:500] + tuned.stderr[:500])
        report = json.loads(tuned.stdout)
        check(report["nodes"] == 4 and report["pods"] >= 4 and report["now"]["settings"]["cpuReclaimThresholdPercent"] > 0, report)
        check(report["withoutBatchPods"]["batchPercent"]["mean"] == 0, report)
        check(report["now"]["figures"]["batchPercent"]["mean"] > 0, report)
        check(report["changed"] == (tuned.returncode == 0), report)
        check(os.path.exists(patch) <= report["changed"], "a patch without a change")
        check(any("a sample each" in note for note in report["notes"]), report["notes"])
        self.cluster.kubectl("delete", "deployment", "shop", "--wait")
        wait_until("the pods are gone", lambda: not self.cluster.get("pods", "-l", "app=shop")["items"], 30)

    def a_quota_limits_what_fits(self):
        self.create([QUOTA])
        alone = self.capacity("--requests", "cpu=1,memory=64Mi")["status"]["fill"]["copies"]

        def limited():
            answers = self.capacity("--requests", "cpu=1,memory=64Mi", "--quota", "team", "--quota",
                                    "koordinator-default-quota")["items"]
            return [answer["status"]["fill"]["copies"] for answer in answers] == [6, alone]
        wait_until("the quota is known", limited, 30)
        both = self.capacity("--quota", "team,koordinator-default-quota", objects=[deployment("narrow", 1, "1")])["items"]
        check([answer["status"]["fill"]["copies"] for answer in both] == [6, alone], both)
        refused = self.capacity("--requests", "cpu=1", "--quota", "nothing", status=2)
        check('--quota "nothing": the scheduler has no such elastic quota' in refused, refused)
        rest = self.capacity("--requests", "cpu=1,memory=64Mi", "--quota", "team")["status"]["fill"]["pools"]["list"][0]["unusable"]
        check([reason["plugin"] for reason in rest] == ["ElasticQuota"], rest)

    def nodes_are_counted(self):
        node = self.cluster.get("nodes")["items"][0]
        answer = self.capacity("--nodes-for", "--like", node["metadata"]["name"], objects=[deployment("wave", 40, "6")])
        needed = answer["status"]["nodesFor"]
        check(needed["count"] >= needed["lowerBound"] > 0 and needed["tooFew"] == needed["count"] - 1, needed)
        answer = self.capacity("--nodes-for", "--no-cluster", "--shape", "cpu=8,memory=32Gi", objects=gang("train", 5, "3"))
        check(answer["status"]["nodesFor"]["count"] == 3, answer)
        refused = self.capacity("--nodes-for", "--like", "nowhere", objects=[deployment("wave", 1, "1")], status=2)
        check('there is no node "nowhere"' in refused, refused)

    def snapshot(self, name, *flags):
        file = os.path.join(self.folder, name)
        subprocess.run([os.path.join(self.options.programs, "koordctl"), "snapshot", file, "--support", *flags, "--kubeconfig",
                        self.cluster.kubeconfig], check=True, capture_output=True)
        return file

    def snapshots_answer_as_the_cluster_did(self):
        """Also one with other names, in which no old one is left."""
        self.create([deployment("payments", 3, "2")])
        wait_until("three pods have nodes", lambda: self.placed("payments") == 3, 30)
        names = {item["metadata"]["name"] for kind in ("nodes", "pods") for item in self.cluster.get(kind)["items"]}
        plain, hashed = self.snapshot("plain.snap"), self.snapshot("hashed.snap", "--hash-names")
        told = self.capacity(objects=gang("train", 3, "5"))["status"]["fill"]
        self.cluster.stop()
        config = os.path.join(self.cluster.data, "koord-scheduler.yaml")
        for file in (plain, hashed):
            answer = self.capacity("--snapshot", file, "--config", config, objects=gang("train", 3, "5"))["status"]["fill"]
            check(told["copies"] > 0 and answer["copies"] == told["copies"], f"{file}: {answer}\nis not {told}")
        for file, expected in ((plain, names | {"payments"}), (hashed, set())):
            words = set(re.findall(r"[a-zA-Z0-9._-]+", subprocess.run(["tar", "--zstd", "-xOf", file], check=True, capture_output=True,
                                                                      text=True).stdout))
            check(words & (names | {"payments"}) == expected, f"{file} has {words & names}")

    def steps(self):
        return (self.as_many_pods_fit_as_are_counted, self.thresholds_are_proposed_for_the_cluster, self.a_quota_limits_what_fits, self.nodes_are_counted,
                self.snapshots_answer_as_the_cluster_did)


if __name__ == "__main__":
    sys.exit(run_steps(__doc__, CapacityTest))
