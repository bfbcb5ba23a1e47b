#!/usr/bin/env python3
"""Upstream's koord-manager and this one, each on a kube-apiserver of its own, in the same random worlds.

    manager.py --reference FILE --kubeconfig FILE --seeds 20

Both servers have deploy/crds and deploy/manifests/{00-namespace,priority-classes,manager-webhooks}.yaml; upstream's manager runs
on the one, ours on the other, with the gates ConfigMapValidatingWebhook, NodeMutatingWebhook and ReservationMutatingWebhook.
Worlds (manager_worlds.py) are played on both at the same time, step by step. Compared are: what each request was answered, every
word of a refusal; pods and quotas as they were admitted; labels, annotations and extended resources of nodes, their zones,
NodeMetrics and NodeSLOs once nothing moves any more. KNOWN names what is otherwise on purpose. The exit status is 0 when there is
nothing else.
"""

import argparse
import concurrent.futures
import datetime
import json
import re
import sys
import time

import manager_worlds
from cluster import ApiError, Cluster

RATIO = "node.koordinator.sh/resource-amplification-ratio"
CONFIG = {"kind": "ConfigMap", "metadata": {"name": "slo-controller-config", "namespace": "koordinator-system"}}
# What is otherwise on purpose: of which step or object, how that reads on both sides, and why.
KNOWN = [
    ("", "unexpected end of JSON|invalid character|cannot unmarshal", "not valid JSON|expected ", "Go's words for text that is no JSON say less"),
    (" configure ", "failed to parse node selector", "failed to parse node selector", "Go's way to print a selector"),
    (" configure ", "Failed to parse System config .*unexpected end", "", "upstream wants a system-config beside a resource-qos-config"),
    ("/(labels|annotations)/copied-", '^""$', "^null$", "keys that are not there are not copied"),
    ("^node .*/labels/node.koordinator.sh/gpu|^node .*/(allocatable|capacity)/(koordinator.sh/(gpu|rdma)|huawei)", "^null$", "", "devices do not wait for co-location"),
    ("^node .*/annotations/node.koordinator.sh/cpu-normalization-ratio", "^null$", "^.1.00.$", "neither do ratios of CPUs"),
    (r"^node .*/zones\[\d\]/(cpu|memory)$", "", "", "amounts of others, which upstream writes in its own way"),
    (" configure ", "panic: runtime error", "", "upstream does not expect null"),
]


class Side:
    """One of the two servers."""

    def __init__(self, kubeconfig):
        self.cluster = Cluster(kubeconfig)

    def answer(self, verb, thing, change=None):
        """What the server says to the request: the object, or the text of the refusal."""
        try:
            if verb == "create":
                status = thing.get("status") if thing["kind"] == "Pod" else None
                made = self.cluster.create({key: value for key, value in thing.items() if key != "status" or thing["kind"] == "Node"})
                if status:
                    self.cluster.patch(thing, {"status": status}, "status")
                return made
            if verb == "patch":
                return self.cluster.patch(thing, change)
            self.cluster.request("DELETE", self.cluster.path_of(thing), {})
            return {}
        except ApiError as error:
            return str(error)

    def configure(self, data, labels=None):
        self.clear(CONFIG)
        return self.answer("create", {**CONFIG, "metadata": {**CONFIG["metadata"], "labels": labels or {}}, "data": data})

    def report(self, thing):
        end = time.monotonic() + 10
        status = dict(thing["status"])
        if status["updateTime"] == "NOW":
            status["updateTime"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        while True:
            try:
                self.cluster.patch(thing, {"status": status}, "status")
                return "ok"
            except ApiError as error:
                if error.code != 404 or time.monotonic() > end:
                    return str(error)
                time.sleep(0.1)

    def clear(self, thing):
        try:
            self.cluster.delete(thing)
        except ApiError:
            pass

    def read(self, thing):
        try:
            return self.cluster.request("GET", self.cluster.path_of(thing))
        except ApiError as error:
            return str(error)

    def get(self, kind, name):
        return self.read({"kind": kind, "metadata": {"name": name}})

    def remove(self, world):
        """Everything of the world, quotas from the leaves."""
        for kind in ("ClusterColocationProfile", "ElasticQuotaProfile", "Pod", "Node", "NodeResourceTopology", "Device"):
            for item in self.cluster.list(kind)[0]:
                if item["metadata"].get("namespace") == world.namespace or item["metadata"]["name"].startswith(world.prefix):
                    self.clear(item)
        for _ in range(8):
            left = [item for item in self.cluster.list("ElasticQuota")[0] if item["metadata"]["namespace"] == world.namespace]
            for item in left:
                self.clear(item)
            if not left:
                break
            time.sleep(0.3)
        self.clear({"kind": "Namespace", "metadata": {"name": world.namespace}})


def plain(value):
    """An object without what two servers cannot have in common."""
    if not isinstance(value, dict):
        return value
    meta = value.get("metadata", {})
    kept = {"labels": meta.get("labels") or {}, "annotations": dict(meta.get("annotations") or {}), "spec": value.get("spec")}
    for volume in (kept["spec"] or {}).get("volumes", []):
        volume["name"] = re.sub("kube-api-access-.*", "token", volume["name"])
    return kept


def node_looks(side, name):
    """All that a koord-manager makes of a node."""
    node = side.get("Node", name)
    if isinstance(node, str):
        return {"node": node}
    notes = dict(node["metadata"].get("annotations") or {})
    notes.pop("touched", None)
    status = node["status"]
    topology = side.get("NodeResourceTopology", name)
    zones = [{each["name"]: each["allocatable"] for each in zone.get("resources", [])} for zone in topology["zones"]] if isinstance(topology, dict) else None
    made = {kind: side.get(kind, name) for kind in ("NodeMetric", "NodeSLO")}
    if RATIO in notes:  # upstream amplifies one write late, and then counts nothing as reserved by kubelet
        return {"ratio": notes[RATIO], "labels": node["metadata"].get("labels") or {}}
    return {"labels": node["metadata"].get("labels") or {}, "annotations": notes, "allocatable": status.get("allocatable", {}), "capacity": status.get("capacity", {}),
            "zones": zones, **{kind: thing if isinstance(thing, str) else thing.get("spec") for kind, thing in made.items()}}


def differences(path, left, right):
    """Where two documents differ: (path, left, right)."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(set(left) | set(right)):
            yield from differences(f"{path}/{key}", left.get(key), right.get(key))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for i, (a, b) in enumerate(zip(left, right)):
            yield from differences(f"{path}[{i}]", a, b)
    elif left != right:
        yield path, left, right


def known(path, left, right):
    return any(re.search(where, path) and re.search(a, json.dumps(left)) and re.search(b, json.dumps(right)) for where, a, b, _ in KNOWN)


class Play:
    def __init__(self, sides):
        self.sides = sides
        self.pool = concurrent.futures.ThreadPoolExecutor(len(sides))
        self.found = []

    def both(self, function):
        return list(self.pool.map(function, self.sides))

    def compare(self, what, values):
        for path, left, right in differences(what, *values):
            if not known(path, left, right):
                self.found.append((path, left, right))

    def step(self, number, verb, *rest):
        if verb == "settle":
            time.sleep(0.3)
        elif verb == "wait":
            time.sleep(rest[0])
        elif verb == "look":
            self.compare(f"{number} {rest[0]['kind']} {rest[0]['metadata']['name']}", self.both(lambda side: plain(side.read(rest[0]))))
        elif verb == "report":
            self.both(lambda side: side.report(rest[0]))
        elif verb == "configure":
            self.compare(f"{number} configure {json.dumps(rest[0])}", self.both(
                lambda side: plain(side.configure(rest[0], {"koordinator.sh/configmap-type": "slo-controller-config"}))))
        else:
            thing = rest[0]
            name = f"{number} {verb} {thing['kind']} {thing['metadata']['name']} {json.dumps(rest[1] if len(rest) > 1 else thing)}"
            answers = self.both(lambda side: side.answer(verb, *rest))
            if thing["kind"] != "Node":
                self.compare(name, [plain(answer) for answer in answers])

    def world(self, seed, parts):
        world = manager_worlds.ManagerWorld(seed)
        self.both(lambda side: side.answer("create", {"kind": "Namespace", "metadata": {"name": world.namespace}}))
        data = world.configuration()
        for each in ({}, data):  # what an earlier world had must not be the last good one of this
            self.both(lambda side: side.configure(each))
            time.sleep(0.7)
        try:
            if "nodes" in parts:
                self.steps(world.node_steps())
                for turn in range(3):
                    time.sleep(1.5)
                    self.both(lambda side: [side.answer("patch", {"kind": "Node", "metadata": {"name": name}}, {"metadata": {"annotations": {"touched": str(turn)}}})
                                            for name in world.nodes])
                time.sleep(1)
                for name in world.nodes:
                    self.compare(f"node {name} of {json.dumps(data)}", self.both(lambda side: node_looks(side, name)))
            for part in ("pod", "quota", "tree", "config"):
                if part + "s" in parts:
                    self.steps(getattr(world, part + "_steps")())
        finally:
            self.both(lambda side: side.remove(world))

    def steps(self, steps):
        for number, step in enumerate(steps):
            self.step(number, *step)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", required=True, help="kubeconfig of the server with upstream's koord-manager")
    parser.add_argument("--kubeconfig", required=True, help="kubeconfig of the server with this koord-manager")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--parts", default="nodes,pods,quotas,trees,configs")
    arguments = parser.parse_args()
    bad = 0
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        play = Play([Side(arguments.reference), Side(arguments.kubeconfig)])
        play.world(seed, arguments.parts.split(","))
        for path, left, right in play.found:
            print(f"seed {seed}: {path}\n    upstream: {json.dumps(left)}\n    here:     {json.dumps(right)}", flush=True)
        bad += len(play.found)
        print(f"seed {seed}: {len(play.found)} differences", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
