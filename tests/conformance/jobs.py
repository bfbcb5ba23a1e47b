#!/usr/bin/env python3
"""Jobs side by side: upstream's koord-scheduler and this one, on the same random worlds of gangs, quotas and reservations.

    jobs.py --kubeconfig FILE --config FILE --reference koord-scheduler --scheduler build/release/bin/koord-scheduler --seeds 40

The cluster is a kube-apiserver as side_by_side.py wants it, with the CustomResourceDefinitions of deploy/crds. --config is a
KubeSchedulerConfiguration in JSON with one profile, koord-scheduler, that both programs read; its kubeconfig must be in it.
Whatever is labelled sbs=true on the server is deleted.

All worlds (job_worlds.py) are played with the one scheduler and then with the other, some at a time. After each step it is
waited until nothing moves any more. Compared are: who is bound, and where; which CPUs and devices he got; the phases of
reservations, and who was given one. --worlds machines plays worlds of CPUs and GPUs (machine_worlds.py), --worlds loads
those of nodes that are more or less busy (load_worlds.py), --worlds wishes those of pods that ask for certain reservations
(wish_worlds.py), --worlds twins those of pods that differ in one thing (twin_jobs.py), --worlds full those without
room, where pods have to leave (full_worlds.py). A difference counts when it is there
a second time. A pod that this one bound to another node than that with its own highest score is told, too. The exit status
is 0 when there is none of either.

--decisions plays one decision at a time (decisions.py): a pod, a gang or a reservation comes, and what both did with it is
compared with all that was given and said, and with the scores; --worlds then takes the kinds of decision_worlds.py as well.

Where both bound a pod, but to different nodes, a world is no longer the same and is left there; these are told one by one. So
are worlds in which upstream, as it often does, lets the members of a gang sleep that come after its minimum has nodes.

What else has been seen is upstream's: pods that are evicted for a gang, or a quota, that has no room even so; pods that are nominated
to the room of a reservation, which nobody can evict, and keep others out; room that a gang holds while its last member is tried.
"""

import argparse
import concurrent.futures
import json
import sys
import tempfile
import time

import decision_worlds
import decisions
import full_worlds
import job_worlds
import load_worlds
import machine_worlds
import twin_jobs
import wish_worlds
from cluster import Cluster, Store
from job_objects import GIVEN, apply, clear, holds
from job_programs import Process, odd_choices

LIMIT = 20.0  # seconds in which a step must come to its end, from the first that could be quiet
WORLDS = {"jobs": job_worlds.JobWorld, "machines": machine_worlds.MachineWorld, "loads": load_worlds.LoadWorld,
          "wishes": wish_worlds.WishWorld, "twins": twin_jobs.TwinJobs, "full": full_worlds.FullWorld, **decision_worlds.KINDS}


def looks(store, world):
    """What there is of the world: pods with their nodes and reservations, gangs with those of their members, reservations
    with their nodes and phases."""
    state, gangs = {}, {}
    with store.changed:
        for (kind, namespace, name), item in store.objects.items():
            if kind == "Pod" and namespace == world.prefix:
                owned = json.loads(item["metadata"].get("annotations", {}).get(GIVEN + "reservation-allocated", "{}"))
                here = (item["spec"].get("nodeName"), owned.get("name"), holds(item))
                gang = item["metadata"].get("labels", {}).get(job_worlds.GANG)
                if gang:
                    gangs.setdefault(gang, []).append(str(here[0]))
                else:
                    state[name] = here
            elif kind == "Reservation" and name.startswith(world.prefix + "-"):
                status = item.get("status", {})
                phase = (status.get("phase") or "Pending").replace("Waiting", "Available")  # upstream never says the former
                state[name] = (status.get("nodeName"), phase, holds(item))
    for gang, nodes in gangs.items():  # its members are alike: which of them is where is chance
        waiting = nodes.count("None")
        state[gang] = (" ".join(sorted(node for node in nodes if node != "None")), f"{waiting} of {len(nodes)} wait")
    return state


def settle(store, world, quiet):
    end, since, before = time.monotonic() + quiet + LIMIT, time.monotonic(), looks(store, world)
    while time.monotonic() < min(end, since + quiet):
        time.sleep(0.1)
        now = looks(store, world)
        if now != before:
            since, before = time.monotonic(), now
    return before


def play(cluster, store, make, seed, quiet):
    """The states after each step."""
    world = make(seed)
    for item in world.things:
        apply(cluster, "create", item, None)
    time.sleep(1)
    states = []
    for step in world.steps:
        for action in step:
            apply(cluster, *action)
        states.append(settle(store, world, quiet))
    return states


def describe(step):
    return "; ".join(f"{verb} {item['kind']} {item['metadata']['name']}" + (f" {json.dumps(change)}" if change else "")
                     for verb, item, change in step)


def parted(reference, candidate):
    """Whether two states of something that both have bound differ by chance, or by members of a gang that sleep."""
    if reference[0] != candidate[0] and reference[1] == candidate[1]:
        return True  # on other nodes
    return reference[0] != candidate[0] and str(reference[1]).endswith(" wait") and set(reference[0].split()) <= set(candidate[0].split())


def differences(world, reference, candidate):
    """Texts of what differs; and where the worlds parted for a reason that is none."""
    for number, (step, one, other) in enumerate(zip(world.steps, reference, candidate)):
        found = []
        for name in sorted(one.keys() | other.keys()):
            a, b = one.get(name), other.get(name)
            if a == b:
                continue
            if a and b and a[0] and b[0] and parted(a, b):
                return [], f"step {number + 1} ({describe(step)}): {name} on {a[0]} but {b[0]}"
            found.append(f"{name}: {a} but {b}")
        if found:
            return [f"step {number + 1} ({describe(step)}):"] + found, None
    return [], None


def run_all(cluster, options, binary, log, seeds):
    clear(cluster)
    time.sleep(1)
    store = Store(cluster, ["Pod", "Reservation"], lambda verb, item: None)
    process = Process(binary, options.config, options.port, log)
    try:
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            return dict(zip(seeds, pool.map(lambda seed: play(cluster, store, WORLDS[options.worlds], seed, options.quiet), seeds)))
    finally:
        process.stop()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", required=True, help="of a kube-apiserver; everything labelled sbs=true there is deleted")
    parser.add_argument("--config", required=True, help="KubeSchedulerConfiguration of both")
    parser.add_argument("--reference", required=True, help="upstream's koord-scheduler")
    parser.add_argument("--scheduler", required=True, help="this koord-scheduler")
    parser.add_argument("--worlds", choices=sorted(WORLDS), default="jobs", help="of what kind")
    parser.add_argument("--seeds", type=int, default=20, help="how many worlds")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=8, help="how many worlds at a time")
    parser.add_argument("--port", type=int, default=21600, help="on which the schedulers say that they are there")
    parser.add_argument("--quiet", type=float, default=3.0, help="seconds without a change that end a step; more on a busy machine")
    parser.add_argument("--verbose", action="store_true", help="show the states of worlds that differ")
    parser.add_argument("--own-config", help="with --decisions: of this one, where it is another; upstream's built with Kubernetes 1.36 needs"
                                             " balancedAllocationMode: Improvement here for the same scores")
    parser.add_argument("--decisions", action="store_true", help="compare single decisions, with scores and messages")
    return parser.parse_args()


def main():
    options = arguments()
    cluster, make = Cluster(options.kubeconfig), WORLDS[options.worlds]
    for priority in sorted({*job_worlds.PRIORITIES, *full_worlds.PRIORITIES}):
        apply(cluster, "create", {"kind": "PriorityClass", "metadata": {"name": f"sbs-{priority}"}, "value": priority}, None)
    folder = tempfile.mkdtemp(prefix="jobs-")
    print(f"logs in {folder}", flush=True)
    if options.decisions:
        return decisions.compare(cluster, options, make, folder)
    seeds = list(range(options.first_seed, options.first_seed + options.seeds))
    found, parted, pods, odd = {}, 0, 0, []
    for attempt in ("first", "second"):
        programs = {"reference": options.reference, "candidate": options.scheduler}
        results = [run_all(cluster, options, binary, f"{folder}/{name}-{attempt}.log", seeds) for name, binary in programs.items()]
        odd += odd_choices(f"{folder}/candidate-{attempt}.log")
        now = {}
        for seed in seeds:
            texts, elsewhere = differences(make(seed), results[0][seed], results[1][seed])
            if texts:
                now[seed] = texts
            if attempt == "first":
                if elsewhere:
                    parted += 1
                    print(f"seed {seed} parts at {elsewhere}", flush=True)
                made = [thing for step in make(seed).steps for _, thing, _ in step if thing["kind"] == "Pod"]
                pods += len({pod["metadata"]["name"] for pod in made})
        found = now if attempt == "first" else {seed: now[seed] for seed in now if seed in found}
        seeds = sorted(found)
        if not seeds:
            break
    for seed, texts in found.items():
        print(f"seed {seed}:")
        for text in texts:
            print(f"  {text}")
        if options.verbose:
            for one, other in zip(results[0][seed], results[1][seed]):
                print(f"    {json.dumps(one, sort_keys=True)}\n    {json.dumps(other, sort_keys=True)}\n")
    for text in odd:
        print(f"not the best: {text}")
    clear(cluster)
    print(f"{options.seeds} worlds, {pods} pods; {parted} worlds parted at other nodes; {len(found)} worlds with differences")
    return 1 if found or odd else 0


if __name__ == "__main__":
    sys.exit(main())
