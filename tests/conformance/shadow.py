#!/usr/bin/env python3
"""A shadow beside kube-scheduler on a real kube-apiserver, and a take-over of a namespace and back.

    shadow.py --apiserver FILE --etcd FILE --programs build/release/bin --incumbent kube-scheduler --pods 600

Random pods with priorities, affinity, spreading and tolerations come in bursts, so pods wait, are preempted and are deleted. The
shadow has a token of the role in deploy/shadow; the audit log says what it asked. Prints its report as JSON and as text. The
exit status is 1 if it wrote, was refused something, or agreed in less than --least percent.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from kube_apiserver import NAMESPACE, SOURCE, KubeApiserver, free_port  # noqa: E402
from waiting import Failure, check, wait_until  # noqa: E402

NAME = "koord-scheduler-shadow"
SCHEDULER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
             "leaderElection": {"leaderElect": False}, "percentageOfNodesToScore": 100,
             "profiles": [{"schedulerName": "default-scheduler"}]}
# kube-scheduler 1.36 scores the improvement of the balance; koord-scheduler does so if asked.
IMPROVEMENT = [{"name": "NodeResourcesBalancedAllocation", "args": {"balancedAllocationMode": "Improvement"}}]


class Cluster(KubeApiserver):
    def install(self):
        super().install()
        for name, value in ("low", 10), ("high", 1000):
            self.put("PriorityClass", "scheduling.k8s.io/v1", name, value=value)
        self.kubectl("apply", "-f", str(SOURCE / "deploy/shadow/rbac.yaml"))
        self.put("Namespace", "v1", "shop")
        for namespace in ("default", "shop"):  # no controller makes them here
            self.kubectl("create", "serviceaccount", "default", "-n", namespace)

    def put(self, kind, version, name, **fields):
        self.kubectl("apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}))

    def create(self, items):
        self.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def add_nodes(self, count, dice):
        for i in range(count):
            room = {"cpu": str(dice.choice([4, 8, 16])), "memory": f"{dice.choice([16, 32, 64])}Gi", "pods": "110"}
            labels = {"kubernetes.io/hostname": f"n{i}", "topology.kubernetes.io/zone": f"z{i % 3}",
                      "disk": dice.choice(["ssd", "hdd"])}
            taints = [{"key": "dedicated", "effect": "NoSchedule"}] if i % 10 == 9 else []
            self.kubectl("create", "-f", "-", stdin=json.dumps(
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": labels},
                 "spec": {"taints": taints}}))
            self.kubectl("patch", "node", f"n{i}", "--subresource=status", "--type=merge", "-p", json.dumps(
                {"status": {"capacity": room, "allocatable": room}}))

    def scheduler_config(self, own):
        config = json.loads(json.dumps(SCHEDULER))
        if own:
            config["profiles"][0]["pluginConfig"] = IMPROVEMENT
        else:
            config["clientConnection"] = {"kubeconfig": self.incumbent_kubeconfig, "qps": 1000, "burst": 1000}
        path = self.at("shadow.json" if own else "incumbent.json")
        pathlib.Path(path).write_text(json.dumps(config), encoding="utf-8")
        return path

    def run_incumbent(self, program):
        self.certificate("incumbent", "/CN=system:kube-scheduler")
        self.incumbent_kubeconfig = self.kubeconfig_with("incumbent")
        self.run("incumbent", program, "--config", self.scheduler_config(False), "--bind-address=127.0.0.1",
                 f"--secure-port={free_port()}", "--cert-dir=" + self.at("incumbent-cert"))

    def run_shadow(self):
        self.certificate("shadow", "/CN=shadow", "subjectAltName=DNS:localhost")
        self.shadow_port = free_port()
        self.run("shadow", os.path.join(self.programs, "koord-scheduler"), "--shadow-of=default-scheduler",
                 "--config=" + self.scheduler_config(True), "--kubeconfig=" + self.as_role(NAME), "--port=0",
                 "--bind-address=127.0.0.1", f"--secure-port={self.shadow_port}", "--tls-cert-file=" + self.at("shadow.crt"),
                 "--tls-private-key-file=" + self.at("shadow.key"))
        wait_until("the shadow has read the cluster", lambda: self.report()["since"], 60)

    def said(self, *more):
        ran = subprocess.run([os.path.join(self.programs, "koordctl"), "shadow", "--kubeconfig", self.kubeconfig, "--scheduler",
                              f"https://127.0.0.1:{self.shadow_port}", "--certificate-authority", self.at("ca.crt"), *more],
                             capture_output=True, text=True, check=False)
        check(ran.returncode == 0, ran.stderr)
        return ran.stdout

    def report(self):
        return json.loads(self.said("-o", "json"))


def pod(name, dice, namespace="default"):
    spec = {"terminationGracePeriodSeconds": 0, "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "image": "registry.example/app:1", "resources": {"requests": {
                "cpu": f"{dice.randrange(1, 30) * 100}m", "memory": f"{dice.randrange(1, 40) * 100}Mi"}}}]}
    group = dice.choice("abcde")
    same = {"matchLabels": {"app": group}}
    wish = dice.random()
    if wish < 0.15:
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": same}]}}
    elif wish < 0.3:
        spec["topologySpreadConstraints"] = [{"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone",
                                              "whenUnsatisfiable": "DoNotSchedule", "labelSelector": same}]
    elif wish < 0.45:
        spec["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 50, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}]}}
    if dice.random() < 0.2:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if (priority := dice.choice([None, None, "low", "high"])):
        spec["priorityClassName"] = priority
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": group}}}


def play(cluster, options, dice):
    """Bursts of pods; now and then some pods end."""
    made = 0
    while made < options.pods:
        burst = min(dice.randrange(5, 60), options.pods - made)
        cluster.create([pod(f"p{made + i}", dice) for i in range(burst)])
        made += burst
        time.sleep(dice.random() * 2)
        if dice.random() < 0.4:
            names = sorted(item["metadata"]["name"] for item in cluster.get("pods")["items"])
            ended = dice.sample(names, min(len(names), 8))
            cluster.kubectl("delete", "pods", "--grace-period=0", "--force", "--wait=false", *ended)


def settled(cluster):
    last, since = None, time.monotonic()
    end = time.monotonic() + 90
    while time.monotonic() < end:
        report = cluster.report()
        now = (report["compared"], report["open"])
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > 8 and report["open"] == 0:
            break
        time.sleep(0.5)
    return report


def take_over(cluster):
    """Seconds until new pods go to koord-scheduler, and until they are back."""
    dice = random.Random(1)

    def goes_to():
        made = cluster.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(pod("t", dice, "shop")))
        return json.loads(made)["spec"]["schedulerName"]
    wait_until("webhooks answer", lambda: goes_to() == "default-scheduler", 60)
    rules = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "koord-take-over", "namespace": NAMESPACE},
             "data": {"namespaces": "shop"}}
    took = []
    for step, wanted in ((lambda: cluster.create([rules]), "koord-scheduler"),
                         (lambda: cluster.kubectl("delete", "configmap", "koord-take-over", "-n", NAMESPACE), "default-scheduler")):
        step()
        begun = time.monotonic()
        wait_until(f"new pods go to {wanted}", lambda wanted=wanted: goes_to() == wanted, 20, 0.05)
        took.append(round(time.monotonic() - begun, 2))
    return took


def wrote(cluster):
    """Requests of the shadow that are neither reads nor reviews, and those that were refused."""
    asked = cluster.asked(NAME)
    reviews = ("tokenreviews", "subjectaccessreviews")
    written = [call for call in asked if call[0] not in ("get", "list", "watch") and not call[1].endswith(reviews)]
    return written, [call for call in asked if call[2] in (401, 403)]


def run(options, folder):
    cluster = Cluster(options.programs, folder, options.apiserver, options.etcd)
    dice = random.Random(options.seed)
    try:
        cluster.start()
        cluster.add_nodes(options.nodes, dice)
        cluster.run_shadow()
        cluster.run_incumbent(options.incumbent)
        play(cluster, options, dice)
        report = settled(cluster)
        print(cluster.said("--differences", str(options.differences)))
        written, refused = wrote(cluster)
        summary = {key: report[key] for key in ("compared", "agreed", "agreedOnNearbyState", "results", "skipped", "latency", "gains")}
        print(json.dumps({**summary, "nodes": options.nodes, "pods": options.pods, "seed": options.seed,
                          "takeOverSeconds": take_over(cluster)}))
        check(not written, f"the shadow wrote: {written}")
        check(not refused, f"the shadow's role lacks: {refused}")
        check(report["refusedWrites"] == {}, f"writes were tried: {report['refusedWrites']}")
        check(report["compared"] > options.pods / 2, f"only {report['compared']} decisions were compared")
        percent = 100 * report["agreed"] / report["compared"]
        check(percent >= options.least, f"agreement {percent:.2f} %")
        return 0
    except Failure as failure:
        print(f"failed: {failure}", file=sys.stderr)
        for name in ("incumbent", "shadow"):
            if os.path.exists(cluster.at(name + ".log")):
                text = pathlib.Path(cluster.at(name + ".log")).read_text(encoding="utf-8", errors="replace")
                print(f"--- {name}\n" + "\n".join(text.splitlines()[-15:]), file=sys.stderr)
        return 1
    finally:
        cluster.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("apiserver", "etcd", "programs", "incumbent"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--pods", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--differences", type=int, default=20)
    parser.add_argument("--least", type=float, default=99.0)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="koord-shadow-")
    try:
        return run(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
