#!/usr/bin/env python3
"""Two schedulers side by side: the same random worlds, pods and changes, and every difference that a user can see.

    side_by_side.py --kubeconfig FILE --reference kube-scheduler --scheduler koord-scheduler --seeds 200

FILE is that of a kube-apiserver without nodes of its own, to which no kubelet, controller manager or other scheduler is
connected, and whose admission plugins ServiceAccount and TaintNodesByCondition are off. kubectl reads the file.
Whatever is labelled sbs=true there is deleted.

For each seed a world is made (worlds.py) and both schedulers place its pods, one after the other. Compared are: the
node, which must be one that the reference gave its best score; every plugin's score of every node; all conditions and
messages that the pod had; the nominated node; victims; events; the plugins that a waiting pod waits for; and for
each change of the world which events brought the pod back into the queue, and what came of it.

A difference counts when it is there a second time. The exit status is 0 when there is none. In --worlds twins (twin_worlds.py)
the pods of a world are of one template, each but for one thing. --worlds slices (slice_worlds.py) are those of resource claims: the
devices that each pod gets are compared, too.

Not counted is what koord-scheduler does otherwise on purpose:
- When taints of a node change, kube-scheduler tries every waiting pod again whose plugin heeds new nodes (its workaround for
  issue 109437). Here plugins that do not heed taints are left asleep; so later messages may differ.
- When a pod goes, kube-scheduler wakes those that it kept away by anti-affinity only if it matches all terms of the one
  or the other, though any of them rejects; even those who have it preempted stay asleep. Here one term is enough.
- When a CSIDriver no longer wants capacity to be heeded, kube-scheduler wakes pods with inline volumes of it only. Here all that
  wait for volumes are; this is told as a difference.
- If a plugin rejects a pod in PreFilter before DynamicResources runs, kube-scheduler's DynamicResources fails in PostFilter ("not found"),
  and no plugin after it runs.
- Errors of device selectors name the device and advise optional fields, as Kubernetes does after 1.36.
- Events: kube-scheduler counts a repetition on the first event, whatever it says. Here each new message is an event.
"""

import argparse
import json
import re
import sys
import tempfile
import threading
import time

import extenders
import slice_worlds
import twin_worlds
import worlds
from claim_controller import ClaimController, claim_names
from cluster import ApiError, Cluster, Store
from schedulers import Scheduler

ADVICE = ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields"
RELEASED = "deallocation of ResourceClaim completed"
SETTLE = 0.25  # seconds in which informers see what was written
WORLD_KINDS = ["ReplicaSet", "StatefulSet", "ReplicationController", "Pod", "PodDisruptionBudget", "Service", "PersistentVolumeClaim",
               "PersistentVolume", "VolumeAttachment", "CSINode", "CSIDriver", "CSIStorageCapacity", "StorageClass", "ResourceClaim",
               "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "Node"]
CLAIM_KINDS = ["Pod", "ResourceClaim", "ResourceClaimTemplate"]
WORLDS = {"all": worlds.World, "twins": twin_worlds.TwinWorld, "slices": slice_worlds.SliceWorld}


def key(item):
    return f"{item['metadata'].get('namespace')}/{item['metadata']['name']}"


class Bench:
    """The cluster, what was seen of it, and the volume controller that it lacks."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.histories = {}  # pod uid -> distinct (reason, message, nominated node), in order
        self.gone = set()    # uids of pods that were deleted or are being
        self.why_gone = {}   # uid -> message of DisruptionTarget
        self.events = {}     # pod uid -> set of (type, reason, action, note)
        self.store = Store(cluster, ["Event", "PersistentVolumeClaim", "PersistentVolume", *CLAIM_KINDS], self.seen)
        self.claims = ClaimController(cluster, self.store)
        self.wake = threading.Event()
        threading.Thread(target=self.bind_volumes, daemon=True).start()

    def seen(self, verb, item):
        meta = item["metadata"]
        if item["kind"] == "Event":
            regarding = item.get("regarding", {})
            self.events.setdefault(regarding.get("uid"), set()).add(
                (item.get("type"), item.get("reason"), item.get("action"), item.get("note")))
        elif item["kind"] == "Pod":
            if verb == "DELETED" or meta.get("deletionTimestamp"):
                self.gone.add(meta["uid"])
            status = item.get("status", {})
            for condition in status.get("conditions", []):
                if condition["type"] == "DisruptionTarget":
                    self.why_gone[meta["uid"]] = condition.get("message")
                if condition["type"] == "PodScheduled" and condition["status"] == "False":
                    entry = (condition.get("reason"), condition.get("message"), status.get("nominatedNodeName"))
                    history = self.histories.setdefault(meta["uid"], [])
                    if not history or history[-1] != entry:
                        history.append(entry)
        elif not item["kind"].startswith("ResourceClaim") and hasattr(self, "wake"):
            self.wake.set()
        if item["kind"] in CLAIM_KINDS and hasattr(self, "claims"):
            self.claims.wake.set()

    def bind_volumes(self):
        """What the volume controller and provisioners do: claims follow volumes that were bound, or get one made."""
        while True:
            self.wake.wait()
            self.wake.clear()
            with self.store.changed:
                objects = list(self.store.objects.values())
            claims = {key(item): item for item in objects if item["kind"] == "PersistentVolumeClaim"}
            for item in objects:
                try:
                    if item["kind"] == "PersistentVolume" and "claimRef" in item["spec"]:
                        claim = claims.get(f"{item['spec']['claimRef']['namespace']}/{item['spec']['claimRef']['name']}")
                        if claim and "volumeName" not in claim["spec"] and not claim["metadata"].get("deletionTimestamp"):
                            self.bind(claim, item["metadata"]["name"])
                    elif item["kind"] == "PersistentVolumeClaim" and "volumeName" not in item["spec"]:
                        notes = item["metadata"].get("annotations", {})
                        if "volume.kubernetes.io/selected-node" in notes and not item["metadata"].get("deletionTimestamp"):
                            self.provision(item)
                except ApiError:
                    pass  # deleted meanwhile, or done already

    def bind(self, claim, volume):
        self.cluster.patch(claim, {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": volume}})

    def provision(self, claim):
        name = "pvc-" + claim["metadata"]["uid"]
        meta = claim["metadata"]
        self.cluster.create(worlds.thing("PersistentVolume", name, spec={
            "capacity": claim["spec"]["resources"]["requests"], "accessModes": claim["spec"]["accessModes"],
            "storageClassName": claim["spec"].get("storageClassName", ""), "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": worlds.DRIVER, "volumeHandle": name},
            "claimRef": {"namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}}))

    def clear(self):
        """Deletes whatever is labelled as made here."""
        left = True
        while left:
            left = False
            for kind in WORLD_KINDS:
                for item in self.cluster.list(kind)[0]:
                    if worlds.OWNER in item["metadata"].get("labels", {}) or kind in ("PersistentVolumeClaim", "ResourceClaim"):
                        self.cluster.delete(item, "finalizers" in item["metadata"])
                        left = True
        for name, labels in worlds.NAMESPACES.items():
            self.cluster.patch(worlds.thing("Namespace", name), {"metadata": {"labels": {"team": None, "stage": None, **labels}}})
        with self.store.changed:
            self.histories, self.gone, self.why_gone, self.events = {}, set(), {}, {}


class Run:
    """One scheduler's way through one world. places: where the reference bound the pods, or None if this is the reference."""

    def __init__(self, bench, scheduler, world, leader=None):
        self.bench, self.cluster, self.store = bench, bench.cluster, bench.store
        self.scheduler, self.world, self.leader = scheduler, world, leader
        self.results = []
        self.refused = 0

    def go(self):
        for item in self.world.things:
            self.apply("create", item, None, None)
        for pod in self.world.bystanders:
            if "finalizers" in pod["metadata"]:
                self.apply("delete", pod, None, None)
        time.sleep(SETTLE)
        for i, (pod, changes) in enumerate(zip(self.world.pods, self.world.changes)):
            result = self.place({**pod, "spec": {**pod["spec"], "schedulerName": self.scheduler.name}}, changes)
            self.results.append(result)
            if result is not None and self.leader and not self.follow(pod, i, result):
                break  # the choice among equals cannot be taken back: what follows would be another world
        return self.results

    def apply(self, verb, item, change, subresource):
        try:
            if verb == "create":
                return self.cluster.create(item)
            if verb == "delete":
                return self.cluster.delete(item, item["kind"].startswith("PersistentVolume"))
            if verb == "patch-list":
                return self.cluster.patch(item, change, subresource, "strategic-merge")
            if verb == "own":
                owner = self.store.get("Pod", change["metadata"]["namespace"], change["metadata"]["name"])
                reference = {"apiVersion": "v1", "kind": "Pod", "name": change["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
                return self.cluster.create({**item, "metadata": {**item["metadata"], "ownerReferences": [reference]}})
            if verb == "tolerate":
                now = self.cluster.request("GET", self.cluster.path_of(item))
                return self.cluster.patch(item, {"spec": {"tolerations": now["spec"].get("tolerations", []) + change}})
            return self.cluster.patch(item, change, subresource)
        except ApiError as error:
            if error.code not in (403, 404, 409, 422):
                raise
            self.refused += 1
            return None

    def place(self, pod, changes):
        self.waiting_before = self.scheduler.counters()[1]
        made = self.apply("create", pod, None, None)
        if made is None:
            return None
        uid = made["metadata"]["uid"]
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        with self.store.changed:
            gone_before = set(self.bench.gone)
            alive = {item["metadata"]["uid"]: item["metadata"]["name"] for (kind, _, _), item in self.store.objects.items() if kind == "Pod"}

        def node():
            now = self.store.get("Pod", namespace, name)
            return (now or {}).get("spec", {}).get("nodeName")

        def decided():
            return node() or self.bench.histories.get(uid)

        def told():
            return any(node() or event[1] == "FailedScheduling" for event in self.bench.events.get(uid, ()))

        gated = "schedulingGates" in pod["spec"] or any(
            each.get("resourceClaimName", "").endswith("-missing") for each in pod["spec"].get("resourceClaims", []))
        self.store.wait(decided, 1 if gated else 5)
        if not gated:
            self.store.wait(told, 3)
        result = {"first": self.bench.histories.get(uid, [None])[0]}
        if self.bench.histories.get(uid) and (self.bench.histories[uid][-1][2] or result["first"][0] == "SchedulerError"
                                              or RELEASED in result["first"][1]):
            self.store.wait(node, 4)  # for victims to go, or for the back-off after an error to end
        steps = []
        if not node():
            time.sleep(SETTLE / 2)
            result["waits for"] = self.waits_for()
            for change in changes:
                failed = self.bench.histories.get(uid) and self.bench.histories[uid][-1][0] == "SchedulerError"
                if node() or failed:  # an attempt that failed is repeated by the clock
                    break
                steps.append(self.step(change, node, uid))
        time.sleep(0.05)
        with self.store.changed:
            result["conditions"] = list(self.bench.histories.get(uid, []))
            result["victims"] = sorted((alive[u], self.bench.why_gone.get(u)) for u in self.bench.gone - gone_before
                                       if u in alive and u in self.bench.why_gone)
            result["events"] = sorted(event for event in self.bench.events.get(uid, ()))
            result["events of victims"] = sorted(event for u in alive for event in self.bench.events.get(u, ()) if event[1] == "Preempted")
        result["changes"] = steps
        result["node"] = node()
        result["claims"] = self.claims_of(namespace, name)
        result["scores"] = self.scheduler.scores_of(f"{namespace}/{name}")
        result["totals"] = self.scheduler.totals_of(f"{namespace}/{name}")
        if result["node"]:
            self.apply("patch", pod, {"status": {"phase": "Running", "startTime": "2026-01-03T00:00:00Z"}}, "status")
        elif not (self.world.keep_nominated and result["conditions"] and result["conditions"][-1][2]):
            self.cluster.delete(pod)
        time.sleep(0.05)
        return self.plain(result, uid)

    def claims_of(self, namespace, name):
        """What the claims of a pod that has a node allocated, without what is random."""
        def present():
            pod = self.store.get("Pod", namespace, name) or {"spec": {}}
            extended = pod.get("status", {}).get("extendedResourceClaimStatus")
            names = sorted(filter(None, claim_names(pod).values())) + ([extended["resourceClaimName"]] if extended else [])
            claims = [self.store.get("ResourceClaim", namespace, each) for each in names]
            return pod, extended, claims

        def reserved():
            return all(claim and claim.get("status", {}).get("reservedFor") for claim in present()[2])

        if not (self.store.get("Pod", namespace, name) or {"spec": {}})["spec"].get("nodeName"):
            return None
        self.store.wait(reserved, 1)
        _, extended, claims = present()
        if not claims:
            return None
        found = []
        for claim in claims:
            allocation = (claim or {}).get("status", {}).get("allocation", {})
            devices = [{key: value for key, value in result.items() if key != "shareID"} for result in allocation.get("devices", {}).get("results", [])]
            found.append({"devices": devices, "where": allocation.get("nodeSelector"), "users": len((claim or {}).get("status", {}).get("reservedFor", [])),
                          "requests": (claim or {}).get("spec", {}).get("devices", {}).get("requests") if claim and "generateName" in claim["metadata"] else None})
        return [extended and extended.get("requestMappings"), *found]

    def step(self, change, node, uid):
        """One change: which events brought the pod back, and whether it was placed then."""
        before, _, attempts = self.scheduler.counters()
        self.apply(*change)
        deadline = time.monotonic() + SETTLE
        while time.monotonic() < deadline and not node():
            time.sleep(0.05)
        after, _, now = self.scheduler.counters()
        if now != attempts and not node():  # what was tried again may be on its way
            time.sleep(SETTLE)
            after, _, now = self.scheduler.counters()
        brought = after - before
        # Failures are seen anyway; whether a pod was still backing off depends on the clock.
        for event in ("ScheduleAttemptFailure", "PopFromBackoffQ"):
            brought.pop(event, None)
        attempts += brought.pop("BackoffComplete", 0)  # when that happens depends on where in a second the first attempt was
        verb, item, what, _ = change
        return {"change": f"{verb} {item['kind']} {item['metadata']['name']} {json.dumps(what)[:200]}", "brought back by": dict(brought),
                "attempts": now - attempts, "waits for": self.waits_for() if not node() else None}

    def waits_for(self):
        """What has been added to the gauge since before the pod; kube-scheduler does not always take back what it added."""
        now = self.scheduler.counters()[1]
        return {plugin: count - self.waiting_before.get(plugin, 0) for plugin, count in now.items()
                if count != self.waiting_before.get(plugin, 0)}

    def plain(self, result, uid):
        """Without what cannot be the same, names of schedulers and uids, and without what koord-scheduler adds to errors of selectors."""
        text = json.dumps(result).replace(f'"{self.scheduler.name}:', '"SCHEDULER:').replace(uid, "UID")
        text = re.sub(r" on device [\w./-]+: CEL", ": CEL", text).replace(ADVICE, "")
        text = re.sub(r"(cannot add device|but resource pool) [\w./-]+", r"\1", text)  # of the node that was tried first
        return json.loads(re.sub(r'no such overload: [^\s",]+', "no such overload", text))

    def follow(self, pod, i, result):
        """Puts the pod where the leader had put it, if that is elsewhere; false when that cannot be."""
        wanted = self.leader[i] and self.leader[i]["node"]
        if self.leader[i] and len(self.leader[i]["changes"]) != len(result["changes"]):
            return False  # one went on where the other waited for a change
        if wanted == result["node"]:
            return not self.leader[i] or self.leader[i]["claims"] == result["claims"]
        if "volumes" in pod["spec"] or result["claims"] or self.leader[i]["claims"] or result["victims"] or self.leader[i]["victims"]:
            return False
        if result["node"]:
            self.cluster.delete(pod)
            time.sleep(0.05)
        if wanted:
            spec = {k: v for k, v in pod["spec"].items() if k != "schedulingGates"}
            self.apply("create", {**pod, "spec": {**spec, "nodeName": wanted},
                                  "status": {"phase": "Running", "startTime": "2026-01-03T00:00:00Z"}}, None, None)
            time.sleep(0.1)
        return True


NO_STATE = ". not found"


def after_pre_filter(reference, candidate):
    """Both results without what PostFilter says, in messages in which the reference's DynamicResources lacks its state there."""
    texts = [json.dumps(result) for result in (reference, candidate)]
    for message in set(re.findall(r'"([^"]*(?:\\"[^"]*)*)' + re.escape(NO_STATE) + '"', texts[0])):
        texts = [re.sub('"' + re.escape(message) + r'\.(?:[^"\\]|\\.)*"', lambda _, text=message: f'"{text}"', text) for text in texts]
    return [json.loads(text) for text in texts]


def differences(reference, candidate, extended):
    """Texts of what differs for one pod. extended: extenders were asked, so that other nodes than the scored may be logged."""
    if reference is None or candidate is None:
        return [] if reference == candidate else [f"one was refused: {reference} {candidate}"]
    reference, candidate = after_pre_filter(reference, candidate)
    found = []
    tables = reference["scores"], candidate["scores"]
    equals = None
    if tables[0]:
        totals = reference["totals"]
        equals = {node for node, total in totals.items() if total == max(totals.values())}
        for node in sorted(tables[0]) if not extended or tables[0].keys() == tables[1].keys() else ():
            if node in tables[1] and tables[0][node] != tables[1][node]:
                found.append(f"scores of {node}: {tables[0][node]} but {tables[1][node]}")
            elif node not in tables[1]:
                found.append(f"{node} was not scored")
    tie = False
    if reference["node"] != candidate["node"]:
        tie = bool(equals) and reference["node"] in equals and candidate["node"] in equals
        if not tie:
            found.append(f"node: {reference['node']} but {candidate['node']} (best: {equals and sorted(equals)})")
    fields = ["first", "victims", "events of victims", "waits for"]
    asleep = reference.get("waits for") or {}
    if "InterPodAffinity" in asleep and not candidate.get("waits for") and reference["victims"] == candidate["victims"] != []:
        return found  # see the module's documentation
    if reference["first"] and reference["first"][1].startswith("no nodes"):
        return found + mismatches(["first"], reference, candidate, tie)  # tried again and again, as the clock has it
    for one, other in zip(reference["changes"], candidate["changes"]):
        if one == other:
            continue
        if "NodeUpdateNodeTaint" in one["brought back by"] and not other["brought back by"] and not reference["node"]:
            return found + mismatches(fields, reference, candidate, tie)  # see the module's documentation
        asleep = one["waits for"] or {}
        if "InterPodAffinity" in asleep and not one["brought back by"] and "AssignedPodDelete" in other["brought back by"]:
            return found + mismatches(fields, reference, candidate, tie)
        found.append(f"after {one['change']}:\n{' ' * 14}" + json.dumps({k: one[k] for k in one if one[k] != other[k]}) +
                     f"\n{' ' * 10}but " + json.dumps({k: other[k] for k in one if one[k] != other[k]}))
    found += mismatches(fields + ["conditions"] + ([] if tie else ["claims"]), reference, candidate, tie)
    if not tie:
        said = {message for _, message, _ in candidate["conditions"]}
        events = set(map(tuple, reference["events"])), set(map(tuple, candidate["events"]))
        missing = events[0] - events[1]
        more = [event for event in events[1] - events[0] if event[3] not in said]
        if missing or more:
            found.append(f"events: {sorted(missing)} but {sorted(more)}")
    return found


def mismatches(fields, reference, candidate, tie):
    return [f"{field}: {json.dumps(reference.get(field))}\n{' ' * 14}but {json.dumps(candidate.get(field))}" for field in fields
            if reference.get(field) != candidate.get(field) and not (tie and field.startswith("events"))]


def compare(bench, world, schedulers):
    """Runs one world on both schedulers; the differences as (pod, text), and how many pods were placed and refused."""
    results = []
    for scheduler in schedulers:
        bench.clear()
        time.sleep(SETTLE)
        results.append(Run(bench, scheduler, world, results[0] if results else None).go())
    extended = bool(schedulers[0].extenders)
    found = [(pod["metadata"]["name"], text) for pod, one, other in zip(world.pods, *results) for text in differences(one, other, extended)]
    placed = sum(1 for result in results[0] if result and result["node"])
    return found, placed, len(results[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", required=True, help="of a kube-apiserver; everything labelled sbs=true there is deleted")
    parser.add_argument("--reference", required=True, help="kube-scheduler")
    parser.add_argument("--scheduler", required=True, help="koord-scheduler")
    parser.add_argument("--seeds", type=int, default=20, help="how many worlds")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--worlds", choices=sorted(WORLDS), default="all", help="of what kind")
    parser.add_argument("--port", type=int, default=21500, help="of the first scheduler's metrics; the second takes the next, extenders that after it")
    parser.add_argument("--extenders", action="store_true", help="schedulers ask extenders, too")
    parser.add_argument("--logs", help="folder for the schedulers' configurations and logs")
    parser.add_argument("--rich", action="append", default=[], choices=worlds.World.SUBJECTS, help="every world has this subject; may be given several times")
    parser.add_argument("--plugin-config", help="JSON file with the pluginConfig of both, a list of names and args")
    parser.add_argument("--only", help="show only differences with this text in them")
    options = parser.parse_args()

    cluster, make = Cluster(options.kubeconfig), WORLDS[options.worlds]
    for item in worlds.fixed_things():
        try:
            cluster.create(item)
        except ApiError as error:
            if error.code != 409:
                raise
    bench = Bench(cluster)
    bench.clear()
    folder = options.logs or tempfile.mkdtemp(prefix="side-by-side-")
    asked = extenders.serve(options.port + 2) if options.extenders else None
    arguments = []
    if options.plugin_config:
        with open(options.plugin_config, encoding="utf-8") as file:
            arguments = json.load(file)
    claims = options.worlds == "slices"
    schedulers = [Scheduler("reference", options.reference, options.kubeconfig, folder, options.port, False, asked, arguments, claims),
                  Scheduler("candidate", options.scheduler, options.kubeconfig, folder, options.port + 1, True, asked, arguments, claims)]
    print(f"logs in {folder}", flush=True)
    wrong = pods = bound = 0
    try:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            found, placed, total = compare(bench, make(seed, options.rich), schedulers)
            if found:
                again = set(compare(bench, make(seed, options.rich), schedulers)[0])
                found = [item for item in found if item in again and (not options.only or options.only in item[1])]
            pods, bound, wrong = pods + total, bound + placed, wrong + bool(found)
            print(f"seed {seed}: {placed} of {total} pods placed; {len(found)} differences", flush=True)
            for pod, text in found:
                print(f"  {pod}: {text}", flush=True)
        bench.clear()
    finally:
        for scheduler in schedulers:
            scheduler.stop()
    print(f"{options.seeds} worlds, {pods} pods, {bound} of them placed; {wrong} worlds with differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
