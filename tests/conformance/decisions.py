"""One decision at a time: what upstream's koord-scheduler and this one do with one pod, gang or reservation in the same state.

Worlds are those of jobs.py, a step for each newcomer. What was decided is compared with all that was given and said: nodes, CPUs,
NUMA nodes, devices, reservations, who left, the words of who waits, and the scores of nodes. Whoever is left without a place is
taken away before the next comes. A world ends where the two decide otherwise, as its state is no longer the same: by chance, where
the node that this one took has the highest score of upstream's as well, or with a difference, which counts if it is there twice.
"""

import collections
import concurrent.futures
import json
import re
import threading
import time

from cluster import Store
from job_objects import GIVEN, apply, clear
from job_programs import FINAL_SCORES, TABLES, Process, own_scores, reference_scores
from job_worlds import GANG
from meant import decided
from so_far import SoFar, alike, requests

LIMIT = 60.0  # seconds in which a decision has to be seen
UNTOLD = 10.0  # times --quiet without a change, after which no more is expected of a gang, or of somebody who was promised a node
PATIENT = 2.0  # --quiet, in seconds, of those worlds that are played again because of a difference
# How many nodes and quotas of other worlds there are is chance.
OTHERS = [
    (re.compile(r"sbs\.test/[\w-]+:0\b,?"), ""),
    (re.compile(r"\d+ node\(s\) had untolerated taint\(s\)(, )?"), ""),
    (re.compile(r"\d+ No victims found (on node \S+ )?for preemptor pod \S+?([,.] ?|$)"), ""),
    (re.compile(r"\d+ node\(s\) didn't satisfy plugin\(s\) \[\w+\](, )?"), ""),
    (re.compile(r"0/\d+ nodes"), "nodes"),
    (re.compile(r"\d+ (node\(s\) didn't match Pod's node affinity/selector|Preemption is not helpful for scheduling)(, )?"), ""),
]


def units(step):
    """The newcomers of a step, one by one: what happens before, and those that are decided about at once."""
    if any(item["kind"] == "PodGroup" for verb, item, _ in step if verb == "create"):
        return [([], step)]
    made, before = [], []
    for action in step:
        verb, item, _ = action
        if verb == "create" and item["kind"] in ("Pod", "Reservation"):
            made.append((before, [action]))
            before = []
        else:
            before.append(action)
    return made + ([(before, [])] if before else [])


def condition(item, kind):
    return next((each for each in item.get("status", {}).get("conditions", []) if each["type"] == kind), {})


def said(item):
    """What somebody who waits is told, without what is chance; None while he is told nothing."""
    told = condition(item, "PodScheduled" if item["kind"] == "Pod" else "Scheduled")
    if told.get("status") != "False":
        return None
    text = told.get("message") or told.get("reason", "")
    for pattern, word in OTHERS:
        text = pattern.sub(word, text)
    return [", ".join(sorted(part.strip(" ,.") for part in re.split(r"[,.] ", sentence) if part.strip(" ,."))) for sentence in text.split("preemption:")]


def refused_in_reserve(item):
    """Whether a pod that waits is told only of the node that upstream chose and then refused in Reserve: of fewer nodes than there are, or
    of the only one, without a word of preemption."""
    message = condition(item, "PodScheduled").get("message", "")
    told = re.match(r"0/(\d+) nodes are available: (.*?)(\. preemption:|\.?$)", message)
    counts = [int(count) for count in re.findall(r"(?:^|, )(\d+) ", told[2])] if told else []
    only = bool(told) and told[1] == "1" and "preemption:" not in message and not item["status"].get("nominatedNodeName")
    return bool(counts) and (sum(counts) < int(told[1]) or only)


def place(item):
    return item["spec"].get("nodeName") if item["kind"] == "Pod" else item.get("status", {}).get("nodeName")


def given(item):
    """What a pod or reservation has, by its kind."""
    notes = item["metadata"].get("annotations", {})
    status = json.loads(notes.get(GIVEN + "resource-status", "{}"))
    devices = json.loads(notes.get(GIVEN + "device-allocated", "{}"))
    owned = json.loads(notes.get(GIVEN + "reservation-allocated", "{}"))
    return {"cpuset": status.get("cpuset"), "numa": status.get("numaNodeResources"), "reservation": owned.get("name"),
            "devices": {kind: [(each["minor"], each.get("resources")) for each in of_kind] for kind, of_kind in devices.items()}}


class Worlds:
    """Pods and reservations of the cluster, by world. A world's own condition wakes its player only."""

    def __init__(self):
        self.lock = threading.Lock()
        self.worlds = collections.defaultdict(lambda: (threading.Condition(), {}))  # prefix -> (condition, (kind, name) -> object)

    def of(self, prefix):
        with self.lock:
            return self.worlds[prefix]

    def take(self, verb, item):
        """Handler of a Store."""
        kind, name = item["kind"], item["metadata"]["name"]
        changed, things = self.of(item["metadata"]["namespace"] if kind == "Pod" else name.rpartition("-")[0])
        with changed:
            if verb == "DELETED":
                things.pop((kind, name), None)
            else:
                things[kind, name] = item
            changed.notify()


class Player:
    """One world in one cluster. decisions: what came of each newcomer, in turn; of gangs that lost members, only their names."""

    def __init__(self, cluster, worlds, world, quiet, scheduler):
        self.cluster, self.world, self.quiet, self.scheduler = cluster, world, quiet, scheduler
        self.changed, self.present = worlds.of(world.prefix)
        self.gone = set()  # deleted by the world or by us
        self.decisions = []
        self.started = 0  # pods

    def things(self):
        """Pods and reservations of the world, by kind and name."""
        with self.changed:
            return dict(self.present)

    def act(self, actions):
        for action in actions:
            if action[0] == "delete":
                self.gone.add((action[1]["kind"], action[1]["metadata"]["name"]))
            apply(self.cluster, *action)

    def play(self):
        for item in self.world.things:
            apply(self.cluster, "create", item, None)
        time.sleep(self.quiet)
        for step in self.world.steps:
            for before, newcomers in units(step):
                self.act(before)
                if before:
                    time.sleep(self.quiet)
                if newcomers:
                    self.decide(newcomers)
        self.leave()
        return self.decisions

    def decide(self, newcomers):
        self.scheduler.check()
        standing = {key: item["metadata"].get("labels", {}).get(GANG, key[1]) for key, item in self.things().items() if key not in self.gone}
        self.act(newcomers)
        keys = [(item["kind"], item["metadata"]["name"]) for verb, item, _ in newcomers if verb == "create" and item["kind"] != "PodGroup"]
        things = self.settle(keys)
        self.decisions.append({"units": [name for _, name in keys], "left": sorted(standing[key] for key in standing.keys() - things.keys()),
                               "each": {name: self.outcome(things.get((kind, name))) for kind, name in keys}})
        self.start([item for key in keys if (item := things.get(key)) and place(item) and item["kind"] == "Pod"])
        waiting = [item for key in keys if (item := things.get(key)) and not place(item)]
        self.act([("delete", item, None) for item in waiting])

    def start(self, pods):
        """What kubelet would say of them. Without a time of their own, which of two pods began first is chance in upstream's preemption."""
        for pod in pods:
            self.started += 1
            status = {"phase": "Running", "startTime": f"2026-01-02T{self.started // 3600:02}:{self.started // 60 % 60:02}:{self.started % 60:02}Z"}
            apply(self.cluster, "status", {**pod, "status": status}, None)

    def settle(self, keys):
        """The world's things when nothing moves any more and everybody has a place, or has been told why not."""
        end, since, before = time.monotonic() + LIMIT, time.monotonic(), None
        while True:
            things = self.things()
            now = {key: (place(item), str(said(item) or ""), item.get("status", {}).get("phase"), item.get("status", {}).get("nominatedNodeName"))
                   for key, item in things.items()}
            if now != before:
                since, before = time.monotonic(), now
            states = [now.get(key) for key in keys]
            placed = all(state and state[0] for state in states)
            told = all(state and (state[0] or state[1]) and not state[3] for state in states)
            heard = len(keys) > 1 and all(states) or all(state and (state[0] or state[1]) for state in states)
            calm = 0.5 if placed else 1.5 if told else UNTOLD if heard else LIMIT
            rest = min(since + self.quiet * calm, end) - time.monotonic()
            if rest <= 0:
                return things
            with self.changed:
                if self.present == things:
                    self.changed.wait(rest)

    def outcome(self, item):
        if item is None:
            return {"node": None, "said": ["gone"]}
        node = place(item)
        return {"node": node, "uid": item["metadata"]["uid"], "gang": item["metadata"].get("labels", {}).get(GANG),
                **(given(item) if node else {"said": said(item), "late": refused_in_reserve(item)})}

    def leave(self):
        """Takes the world's nodes and pods away, so that they cost the others no time."""
        things = list(self.things().values()) + self.world.things[::-1]
        for item in things:
            if item["kind"] != "Namespace":
                apply(self.cluster, "delete", item, None)


def score_of(scores, world, name, outcome):
    """By node, of the attempt that came to the decision."""
    return scores.get(f"{world.prefix}/{name}") or next((table for pod, table in scores.items() if outcome.get("uid") and outcome["uid"] in pod), {})


def as_gang(world, decision):
    """Where its members are, by how much they ask for. Which of those that are alike is told of which other is chance, too."""
    return sorted((str(outcome["node"]), str(outcome.get("reservation")), sorted(requests(world, name).items())) for name, outcome in decision["each"].items())


def place_of(outcome):
    return outcome["node"], outcome.get("reservation")


def rounds(world, names, attempts):
    """The attempts with these pods, each of which comes once in a round."""
    found = [[]]
    for name in (pod.removeprefix(world.prefix + "/") for pod in attempts):
        if name in names:
            if name in found[-1]:
                found.append([])
            found[-1].append(name)
    return found


def freed(world, decision, before):
    """The nodes of those that left."""
    so_far = SoFar(world, next(iter(decision["each"])), before).placed
    nodes = {outcome["node"] for name, outcome in so_far.items() if {name, outcome.get("gang")} & set(decision["left"])}
    return nodes | {thing["spec"]["nodeName"] for thing in world.things if thing["kind"] == "Pod" and thing["metadata"]["name"] in decision["left"]}


def parted_by_chance(world, reference, candidate, scores, before):
    """Whether upstream might as well have come to the other decision: it tried members that ask for different amounts in another order
    than that in which they were made, one of several best nodes was not what it took, or nodes that others left were promised to members,
    which have no choice then."""
    asks = {name: requests(world, name) for name in reference["each"]}
    tried = rounds(world, asks, scores[2])
    if any([asks[name] for name in turn] != [asks[name] for name in asks if name in turn] for turn in tried):
        return True
    left = [(asks[name], place_of(outcome)) for name, outcome in candidate["each"].items()]  # what no member of upstream's has taken
    promised = freed(world, reference, before) & freed(world, candidate, before)
    for name in tried[-1]:
        mine, place = asks[name], place_of(reference["each"][name])
        table = score_of(scores[0], world, name, reference["each"][name])
        best = {node for node, score in table.items() if score == max(table.values())} or promised
        if place[0] in best and any(size == mine and node in best - {place[0]} for size, (node, _) in left):
            return True
        if (mine, place) not in left:
            return False
        left.remove((mine, place))
    return False


def judge_gang(world, reference, candidate, scores, before):
    """As judge(). In which order members are tried is chance in upstream."""
    one, other = as_gang(world, reference), as_gang(world, candidate)
    if one == other:
        return {}, False
    places = [sum(node != "None" for node, _, _ in each) for each in (one, other)]
    if places[0] != places[1]:
        return {"place": f"{places[0]} of them but {places[1]}"}, False
    if parted_by_chance(world, reference, candidate, scores, before):
        return {}, True
    return {"node": f"{[each[:2] for each in one]} but {[each[:2] for each in other]}"}, False


def unlike(one, other):
    """What two outcomes differ in."""
    if one["node"] != other["node"]:
        return ["node"] if one["node"] and other["node"] else ["place"]
    found = [what for what in sorted(one.keys() | other.keys()) if what not in ("uid", "gang", "node", "said", "late") and one.get(what) != other.get(what)]
    words, others = one.get("said") or [""], other.get("said") or [""]
    if words[0] != others[0]:
        found.append("said")
    # Of the preemptions that are tried one after the other, this scheduler tells of one.
    return found if set(others[1:]) <= set(words[1:]) else found + ["said of preemption"]


def judge(world, reference, candidate, scores, before):
    """What two decisions differ in, and whether they part by chance. scores: of both, and upstream's attempts. before: pairs of
    decisions."""
    found = {what: "" for what in ("left",) if reference["left"] != candidate["left"]}
    if alike(reference):
        more, chance = judge_gang(world, reference, candidate, scores, before)
        return found | more, chance and not found
    chance = False
    for name, one in reference["each"].items():
        other = candidate["each"][name]
        tables = [score_of(each, world, name, outcome) for each, outcome in zip(scores, (one, other))]
        differs = unlike(one, other)
        if differs == ["node"] and tables[0] and tables[0].get(other["node"]) == max(tables[0].values()) and not found:
            chance, differs = True, []
        if one["node"] and other["node"] and any(tables[0][node] != tables[1][node] for node in tables[0].keys() & tables[1].keys()):
            differs.append("scores")
        found |= {what: f"{tables[0]} but {tables[1]}" if what in ("node", "scores") else "" for what in differs}
    return found, chance and not found


class Tally:
    def __init__(self):
        self.meant = collections.Counter()
        self.decisions, self.parted, self.placed, self.left = 0, 0, 0, 0
        self.found = {}  # seed -> (index, what differs, both decisions)
        self.before = {}  # seed -> pairs of decisions that were the same

    def take(self, seed, world, both, scores):
        """Compares a world's decisions in turn, up to the first that differs."""
        for index, (one, other) in enumerate(zip(*both)):
            before = list(zip(both[0][:index], both[1][:index]))
            found, chance = judge(world, one, other, scores, before)
            self.decisions += 1
            self.placed += all(outcome["node"] for outcome in one["each"].values())
            self.left += bool(one["left"])
            if found and (why := decided(world, found, one, other, before)):
                self.meant[why] += 1
                if set(found) <= {"said", "said of preemption", "scores"}:
                    continue  # the state is still the same
                return
            if found:
                self.found[seed], self.before[seed] = (index, found, one, other), before
                return
            if chance:
                self.parted += 1
                return


def run(cluster, options, make, seeds, program, log, quiet):
    binary, config, says = program
    clear(cluster)
    time.sleep(1)
    worlds = Worlds()
    Store(cluster, ["Pod", "Reservation"], worlds.take)
    process = Process(binary, config, options.port, log, says)
    try:
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            played = dict(zip(seeds, pool.map(lambda seed: Player(cluster, worlds, make(seed), quiet, process).play(), seeds)))
        process.check()
        return played
    finally:
        process.stop()


def attempt(cluster, options, make, seeds, logs, quiet):
    programs = ((options.reference, options.config, FINAL_SCORES), (options.scheduler, options.own_config or options.config, TABLES))
    both = [run(cluster, options, make, seeds, program, log, quiet) for program, log in zip(programs, logs)]
    tables, attempts = reference_scores(logs[0])
    scores = tables, own_scores(logs[1]), attempts
    tally = Tally()
    for seed in seeds:
        tally.take(seed, make(seed), (both[0][seed], both[1][seed]), scores)
    return tally


def lasting(world, first, second, before):
    """Whether a difference is there twice, and neither program ever did what the other did."""
    if not second or first[0] != second[0]:
        return False
    if "scores" in first[1]:
        return "scores" in second[1]
    nothing = ({}, {}, [])
    pairs = (first[2], second[3]), (second[2], first[3])
    return all(judge(world, one, other, nothing, before)[0] for one, other in pairs)


def compare(cluster, options, make, folder):
    """Plays all, then those that differed again, and prints what differs both times. The exit status."""
    seeds = list(range(options.first_seed, options.first_seed + options.seeds))
    logs = {turn: [f"{folder}/{name}-{turn}.log" for name in ("reference", "candidate")] for turn in ("first", "second")}
    first = attempt(cluster, options, make, seeds, logs["first"], options.quiet)
    again = sorted(first.found)
    print(f"{options.worlds}: {first.decisions} decisions; {len(again)} worlds with a difference are played again", flush=True)
    with open(f"{folder}/differences.json", "w", encoding="utf-8") as file:
        json.dump({seed: [*first.found[seed], first.before[seed]] for seed in again}, file)
    second = attempt(cluster, options, make, again, logs["second"], max(options.quiet, PATIENT)) if again else Tally()
    kinds = collections.Counter()
    for seed in again:
        index, found, one, other = first.found[seed]
        lasts = lasting(make(seed), first.found[seed], second.found.get(seed), first.before[seed])
        kinds.update(found.keys() if lasts else ["once only"])
        if not lasts and not options.verbose:
            continue
        print(f"seed {seed}, decision {index + 1} ({', '.join(one['units'])}): {', '.join(found)}" + ("" if lasts else ", once only"))
        for text in filter(None, found.values()):
            print(f"  {text}")
        for before in first.before.get(seed, []) if options.verbose else []:
            print(f"    after {json.dumps(before[0])}")
        print(f"  {json.dumps(one)}\n  {json.dumps(other)}")
    clear(cluster)
    print(f"{options.worlds}: {len(seeds)} worlds, {first.decisions} decisions, {first.placed} placed, {first.left} made others leave; "
          f"{first.parted} parted by chance; meant: {dict(first.meant)}; differences: {dict(kinds)}")
    return 1 if kinds - collections.Counter({"once only": kinds["once only"]}) else 0
