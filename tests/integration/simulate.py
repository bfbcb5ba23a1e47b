#!/usr/bin/env python3
"""koordctl simulate on a cluster of simulated nodes: what it foretells happens when the objects are created.

    simulate.py --programs PATH

Hostile questions are bounded, and a reader without rights learns nothing. It needs neither root nor a host node;
77 without kubectl.
"""

import json
import os
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

from one_machine import Cluster
from simulated_nodes import run_steps
from waiting import check, wait_until


def container(cpu):
    return [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]


def pod(name, cpu, namespace="default", priority=None, port=None):
    spec = {"schedulerName": "koord-scheduler", "terminationGracePeriodSeconds": 0, "containers": container(cpu)}
    if port:
        spec["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]
    if priority:
        spec["priorityClassName"] = priority
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def deployment(name, replicas, cpu):
    spec = {"schedulerName": "koord-scheduler", "terminationGracePeriodSeconds": 0, "containers": container(cpu)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": spec}}}


def gang(name, members, cpu):
    group = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup",
             "metadata": {"name": name, "namespace": "default"}, "spec": {"minMember": members}}
    pods = [pod(f"{name}-{n}", cpu) for n in range(members)]
    for member in pods:
        member["metadata"]["labels"] = {"pod-group.scheduling.sigs.k8s.io": name}
    return [group, *pods]


class SimulateTest:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.cluster = Cluster(options.programs, folder, "--host-node=off", "--nodes=4",
                               "--components=koord-manager,koord-scheduler")

    def simulate(self, objects, *flags, status=0):
        given = ["-f", "-"] if objects else []
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        done = subprocess.run([os.path.join(self.options.programs, "koordctl"), "simulate", *given, "-o", "json", *flags,
                               "--kubeconfig", self.cluster.kubeconfig, "--scheduler", self.scheduler()],
                              input=text, capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == status, f"status {done.returncode}, not {status}: {done.stdout[:500]}{done.stderr[:500]}")
        return json.loads(done.stdout)["status"] if status < 2 else done.stderr

    def scheduler(self):
        with open(os.path.join(self.cluster.data, "components.json"), encoding="utf-8") as file:
            return json.load(file)["koord-scheduler-secure"]

    def create(self, objects):
        self.cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def nodes_of(self, names, namespace="default"):
        found = {item["metadata"]["name"]: item["spec"].get("nodeName", "")
                 for item in self.cluster.get("pods", "-n", namespace)["items"]}
        return {name: found.get(name, "") for name in names}

    def happens(self, answer, names):
        told = {entry["name"]: entry.get("node", "") for entry in answer["pods"]}
        wait_until("the pods have nodes", lambda: all(self.nodes_of(names).values()), 30)
        check(self.nodes_of(names) == {name: told[name] for name in names}, f"{told} was foretold, {self.nodes_of(names)} is")

    def measured(self):
        """The versions of what changes by itself: nodes and their measurements. None until all are complete."""
        nodes, metrics = self.cluster.get("nodes")["items"], self.cluster.get("nodemetrics")["items"]
        complete = (len(nodes) == 4 and all("kubernetes.io/batch-cpu" in node["status"]["allocatable"] for node in nodes)
                    and sum("nodeMetric" in metric.get("status", {}) for metric in metrics) == 4)
        return {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in nodes + metrics} if complete else None

    def pods_go_where_was_foretold(self):
        self.cluster.start()
        wait_until("four nodes are measured", self.measured, 60)
        compared = 0
        for round_ in range(10):
            names = [f"single-{round_}-{n}" for n in range(4)]
            before = self.measured()
            answer = self.simulate([pod(name, "500m") for name in names])
            check(not self.nodes_of(names)[names[0]], "nothing is written")
            told = {entry["name"]: entry.get("node", "") for entry in answer["pods"]}
            # One after the other: the order in which informers deliver pods of one moment is not foretold.
            for name in names:
                if self.measured() != before:  # the answer is about the state in which it was asked
                    break
                self.create([pod(name, "500m")])
                wait_until("it has a node", lambda name=name: self.nodes_of([name])[name], 30)
                check(self.nodes_of([name])[name] == told[name], f"{name}: {told} was foretold")
                compared += 1
            if compared >= 20:
                break
        check(compared >= 10, f"the cluster changes all the time: {compared} pods compared")

    def a_gang_goes_where_was_foretold_or_waits(self):
        answer = self.simulate(gang("train", 3, "2"))
        check(answer["placed"] == 3, answer)
        answer = self.simulate(gang("huge", 60, "8"), status=1)
        check(answer["placed"] == 0 and answer["pending"] == 60, "all members or none: %s" % answer["pods"][:2])

    def what_stays_pending_has_a_reason_and_a_remedy(self):
        answer = self.simulate([deployment("wide", 30, "10")], status=1)
        check(answer["placed"] + answer["pending"] == 30 and answer["pending"] > 0, answer)
        check(all("0/4 nodes are available" in entry.get("message", "") for entry in answer["pods"]
                  if entry["state"] == "pending"), answer["pods"][-1])
        remedy = answer["remedies"][0]
        check(remedy["of"] == "Deployment default/wide" and remedy["nodes"]["count"] > 0, remedy)
        more = self.simulate([deployment("wide", 30, "10")], "--add-nodes", str(remedy["nodes"]["count"]),
                             "--shape", remedy["nodes"]["like"])
        check(more["pending"] == 0, "the remedy helps")

    def victims_are_foretold(self):
        self.cluster.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 5000}))
        self.create([pod(f"filler-{n}", "10m", port=8080) for n in range(4)])
        wait_until("the port is in use on all nodes", lambda: all(self.nodes_of([f"filler-{n}" for n in range(4)]).values()), 30)
        urgent = [pod("urgent", "10m", priority="urgent", port=8080)]
        answer = self.simulate(urgent)
        victims = {victim["name"] for victim in answer["victims"]}
        check(victims, answer)
        before = {item["metadata"]["name"] for item in self.cluster.get("pods")["items"]}
        self.create(urgent)
        self.happens(answer, ["urgent"])
        after = {item["metadata"]["name"] for item in self.cluster.get("pods")["items"]}
        check(before - after == victims, f"{victims} was foretold, {before - after} left")

    def a_drain_moves_pods(self):
        self.create([deployment("web", 4, "1")])
        wait_until("web runs", lambda: sum(1 for item in self.cluster.get("pods", "-l", "app=web")["items"]
                                           if item["spec"].get("nodeName")) == 4, 30)
        node = self.cluster.get("pods", "-l", "app=web")["items"][0]["spec"]["nodeName"]
        answer = self.simulate([], "--drain", node, status=1)
        moved = [entry for entry in answer["pods"] if entry["from"] == node and entry["name"].startswith("web-")]
        check(moved and all(entry.get("node") != node for entry in moved), answer["pods"])
        check(not answer["notes"], "the specs of the pods were read: %s" % answer["notes"])
        check(not self.cluster.get("node", node)["spec"].get("unschedulable"), "the node is as it was")
        refused = self.simulate([], "--drain", "nowhere", status=2)
        check('there is no node "nowhere"' in refused, refused)

    def hostile_questions_are_bounded(self):
        since = time.monotonic()
        answer = self.simulate([deployment("million", 1_000_000, "1m")], status=1)
        check(not answer["complete"] and answer["notTried"] >= 900_000, answer["notes"])
        answer = self.simulate([member for n in range(500) for member in gang(f"gang-{n}", 2, "1m")[:1]] +
                               [deployment("few", 1, "1m")])
        check(answer["placed"] == 1, answer)
        wide = deployment("wide", 1, "1m")
        wide["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "x", "operator": "In", "values": [f"value-{n}" for n in range(60_000)]}]}]}}}
        self.simulate([wide], status=1)
        check(time.monotonic() - since < 60, "all of it takes a bounded time")
        self.simulate([pod("after", "10m")])

    def reader(self):
        """A kubeconfig of a service account that may do nothing but ask, and create pods in its namespace."""
        self.cluster.kubectl("create", "namespace", "team")
        self.cluster.kubectl("create", "serviceaccount", "asker", "-n", "team")
        self.cluster.kubectl("create", "clusterrole", "asker", "--verb=post", "--non-resource-url=/apis/v1/simulations")
        self.cluster.kubectl("create", "clusterrolebinding", "asker", "--clusterrole=asker", "--serviceaccount=team:asker")
        self.cluster.kubectl("create", "role", "asker", "-n", "team", "--verb=create", "--resource=pods")
        self.cluster.kubectl("create", "rolebinding", "asker", "-n", "team", "--role=asker", "--serviceaccount=team:asker")
        return self.cluster.kubectl("create", "token", "asker", "-n", "team").strip()

    def ask_as(self, token, objects):
        url = self.scheduler() + "/apis/v1/simulations"
        body = {"apiVersion": "simulation.koordinator.sh/v1alpha1", "kind": "Simulation", "spec": {"objects": objects}}
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Authorization": "Bearer " + token}, method="POST")
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def who_has_no_rights_learns_nothing(self):
        token = self.reader()
        status, said = self.ask_as(token, [pod("p", "1")])
        check(status == 403 and "create pods in namespace" in said, (status, said))
        status, said = self.ask_as("nonsense", [pod("p", "1", "team")])
        check(status == 401, (status, said))
        urgent = pod("vip", "10m", "team", port=8080)
        urgent["spec"]["priority"] = 6000
        status, said = self.ask_as(token, [urgent])
        check(status == 200, (status, said))
        answer = said["status"]
        check(answer["placed"] == 1 and answer["hiddenVictims"] > 0 and not answer["victims"], answer)
        check("filler" not in json.dumps(answer) and "quotas" not in answer, answer)

    def on_snapshot(self, file, objects, *flags, status=0):
        done = subprocess.run([os.path.join(self.options.programs, "koordctl"), "simulate", "-f", "-", "-o", "json", *flags,
                               "--snapshot", file, "--config", os.path.join(self.cluster.data, "koord-scheduler.yaml")],
                              input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
                              capture_output=True, text=True, timeout=60, check=False, env={"HOME": self.folder})
        check(done.returncode == status, f"status {done.returncode}, not {status}: {done.stdout[:500]}{done.stderr[:500]}")
        return json.loads(done.stdout)["status"] if status < 2 else done.stderr

    def a_snapshot_answers_as_the_cluster_did(self):
        vip = pod("vip", "10m", priority="urgent", port=8080)
        there = pod("there", "10m")
        there["spec"]["nodeSelector"] = {"kubernetes.io/hostname": self.cluster.get("nodes")["items"][2]["metadata"]["name"]}
        node = self.cluster.get("pods", "-l", "app=web")["items"][0]["spec"]["nodeName"]
        questions = (([vip, there], (), 0), ([deployment("wide", 30, "10")], (), 1), ([there], ("--drain", node), 1),
                     ([], ("--add-nodes", "2", "--shape", node), 0), (gang("train", 3, "2"), (), 0))

        def essence(answer):
            # Among equally good nodes chance decides.
            return {"pods": sorted((entry["name"], entry["state"]) for entry in answer["pods"]),
                    "there": [entry.get("node") for entry in answer["pods"] if entry["name"] == "there"],
                    "victims": len(answer["victims"]), "remedies": [remedy.get("nodes") for remedy in answer.get("remedies", [])],
                    **{part: answer[part] for part in ("complete", "placed", "pending", "quotas")}}

        file = os.path.join(self.folder, "case.snap")
        subprocess.run([os.path.join(self.options.programs, "koordctl"), "snapshot", file, "--support", "--kubeconfig",
                        self.cluster.kubeconfig], check=True, capture_output=True)
        told = [essence(self.simulate(objects, *flags, status=status)) for objects, flags, status in questions]
        self.cluster.stop()
        for (objects, flags, status), live in zip(questions, told):
            answer = essence(self.on_snapshot(file, objects, *flags, status=status))
            check(answer == live, f"{flags}: {answer}\nis not {live}")
        with open(file, "rb") as whole, open(file + ".cut", "wb") as half:
            half.write(whole.read()[:-100])
        check("truncated" in self.on_snapshot(file + ".cut", [there], status=2), "a truncated file is refused")

    def steps(self):
        return (self.pods_go_where_was_foretold, self.a_gang_goes_where_was_foretold_or_waits,
                self.what_stays_pending_has_a_reason_and_a_remedy, self.victims_are_foretold, self.a_drain_moves_pods,
                self.hostile_questions_are_bounded, self.who_has_no_rights_learns_nothing,
                self.a_snapshot_answers_as_the_cluster_did)


if __name__ == "__main__":
    sys.exit(run_steps(__doc__, SimulateTest))
