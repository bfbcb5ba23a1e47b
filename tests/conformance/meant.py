"""Which differences between two decisions are meant: those of docs/differences.md, each recognised by what causes it."""

import collections
import re

import meant_reservations
from full_worlds import OWNED
from job_worlds import QUOTA
from so_far import SoFar, alike, annotation_of, made, quota_of, requests


def roughly(devices):
    """Without the hundredths of memory that bytes count as."""
    return [(kind, minor, {key: value for key, value in amounts.items() if not key.endswith("memory-ratio")})
            for kind, given_of_kind in sorted(devices.items()) for minor, amounts in given_of_kind]


def zones(outcome):
    return {each["node"] for each in outcome.get("numa") or []}


def reasons_of(outcome):
    """Why nodes cannot take the pod, without how many they are."""
    told = outcome["said"][0] if outcome.get("said") else ""
    return {re.sub(r"^(nodes are available: )?\d+ ", "", part) for part in told.split(", ") if part}


def refused_late(one, other):
    """Whether upstream refuses the pod in Reserve, where this scheduler has that reason among others, or another node."""
    return bool(one.get("late")) and (bool(other["node"]) or reasons_of(one) <= reasons_of(other))


def scores_beside_late(world, found):
    """Whether scores differ because upstream also scores nodes that it would refuse in Reserve: those with the policy BestEffort."""
    one, other = meant_reservations.tables_of(found)
    policies = {thing["metadata"]["name"]: thing["metadata"]["labels"].get("node.koordinator.sh/numa-topology-policy")
                for thing in world.things if thing["kind"] == "Node"}
    return bool(one.keys() - other.keys()) and all(policies.get(node) == "BestEffort" for node in one.keys() - other.keys())


def worth(world, name):
    """How important a victim is: the more, the greater. Of pods of one priority the one that started first."""
    pod = made(world, name)
    started = pod.get("status", {}).get("startTime", "~")
    return pod["spec"].get("priority", 0), [-ord(letter) for letter in started]


def budgets_broken(world, names):
    """How many of these victims leave although no budget allows it."""
    allowed = {thing["spec"]["selector"]["matchLabels"][OWNED]: thing["status"]["disruptionsAllowed"]
               for thing in world.things if thing["kind"] == "PodDisruptionBudget"}
    leave = collections.Counter(made(world, name)["metadata"]["labels"].get(OWNED) for name in names)
    return sum(max(0, leave[app] - count) for app, count in allowed.items())


def node_by_node(world, quota, found, one, other):
    """Whether upstream evicts pods of the quota on one node after another, and this scheduler no more of them, and none more important,
    or victims that break fewer budgets."""
    both = one["left"] + other["left"]
    if not set(found) <= {"left", "node"} or len(one["left"]) < 2 or {quota_of(world, name) for name in both} != {quota}:
        return False
    if budgets_broken(world, other["left"]) < budgets_broken(world, one["left"]):
        return True
    ours, theirs = (sorted((worth(world, name) for name in decision["left"]), reverse=True) for decision in (other, one))
    return len(ours) <= len(theirs) and all(mine <= his for mine, his in zip(ours, theirs))


def beside_victims(world, decision):
    """How many members have another node than the victims that were there from the start."""
    freed = {made(world, name)["spec"].get("nodeName") for name in decision["left"]}
    return sum(outcome["node"] not in freed for outcome in decision["each"].values()) if freed else 0


def spared_by_quota(world, quota, name):
    """Whether the preemption within a quota leaves the pod alone."""
    labels = made(world, name)["metadata"]["labels"]
    return quota_of(world, name) != quota or labels.get(QUOTA + "preemptible") == "false"


def of_quotas(world, found, one, other):
    quota = quota_of(world, next(iter(one["each"])))
    if not quota or not one["left"]:
        return ""
    waits = not any(outcome["node"] for outcome in other["each"].values())
    within = not waits and not all(spared_by_quota(world, quota, name) for name in other["left"])
    spared = [spared_by_quota(world, quota, name) for name in one["left"]]
    if waits and not other["left"] and all(spared) or within and any(spared):
        return "pods that leave although their quota's preemption spares them"
    return "pods of a quota that leave node by node" if node_by_node(world, quota, found, one, other) else ""


def of_reservations(world, found, one, other, before):
    so_far = SoFar(world, next(iter(one["each"])), before)
    if meant_reservations.ignores_what_it_names(world, found, one, other, so_far):
        return "pods that ignore the reservation that they name"
    if alike(one):
        counted = meant_reservations.beside_fuller(found, one, other, so_far)
    else:
        counted = any(rule(world, found, one, other, so_far) for rule in (meant_reservations.beside_owners, meant_reservations.fuller))
    if counted:
        return "reservations whose owners upstream counts otherwise"
    if meant_reservations.beside_orders(world, found, one, other, so_far):
        return "nodes with an order"
    return "reservations of one order, or equally full" if meant_reservations.of_one_rank(world, found, one, other, so_far) else ""


def decided(world, found, one, other, before):
    """In a word why the difference is meant, as docs/differences.md has it; "" when it is none of these. before: pairs of decisions."""
    if set(found) <= {"numa", "cpuset"} and all(zones(one["each"][name]) > zones(outcome) for name, outcome in other["each"].items()):
        return "zones of pods that find none to themselves"
    if set(found) == {"scores"} and scores_beside_late(world, found):
        return "scores beside nodes that are refused late"
    if set(found) <= {"said", "said of preemption", "place"} and all(refused_late(one["each"][name], outcome) for name, outcome in other["each"].items()):
        return "nodes that are refused late"
    names = list(one["each"])
    words = str([outcome.get("said") for outcome in one["each"].values()])
    if set(found) <= {"said of preemption", "place", "left"} and ("expected at least one victim pod" in words or "no corresponding pod" in words):
        return "errors of preemption"
    if why := of_quotas(world, found, one, other) or of_reservations(world, found, one, other, before):
        return why
    waits = not any(outcome["node"] for decision in (one, other) for outcome in decision["each"].values())
    if waits and one["left"] and not other["left"]:
        return "pods that leave in vain"
    if set(found) == {"place"} and alike(one) and all(outcome["node"] or outcome["said"] is None for outcome in one["each"].values()):
        return "members that sleep"
    if set(found) <= {"node", "left"} and any(name.startswith("g") for name in one["left"]) and one["left"] == other["left"]:
        return "members that were placed by chance"
    if set(found) == {"node"} and alike(one) and beside_victims(world, other) > beside_victims(world, one):
        return "members that find room beside their victims"
    if set(found) <= {"node", "scores"} and requests(world, names[0]).get("nvidia.com/gpu", 0) > 1000:
        return "scores of several GPUs"
    if set(found) == {"devices"} and all(roughly(one["each"][name]["devices"]) == roughly(other["each"][name]["devices"]) for name in names):
        return "bytes of a GPU's memory"
    if waits and set(found) == {"said"} and all("name" in annotation_of(world, name, "reservation-affinity") for name in names):
        return "reservations that a pod does not name"
    if waits and set(found) == {"said of preemption"} and any("reservations do not preempt" in str(outcome["said"]) for outcome in other["each"].values()):
        return "reservations that cannot preempt"
    return ""
