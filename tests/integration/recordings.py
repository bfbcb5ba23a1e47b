#!/usr/bin/env python3
"""A cluster with a recording scheduler: pods by kubectl, a kill in the middle, and what koordctl replay says.

Every wait polls a condition and has a limit; exit status 77 means that this machine cannot run it.
"""

import argparse
import json
import os
import re
import shutil
import signal
import stat
import sys

from cluster_home import run_parts
from waiting import SKIP, check, wait_until

PODS = 30

OTHER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}
- schedulerName: koord-scheduler
"""


def pod(name, cpu):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "registry.example/app:1",
                                     "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]}}


def create(home, pods):
    home.kubectl("create", "-f", "-", name="r", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))


def bound(home):
    pods = json.loads(home.kubectl("get", "pods", "-o", "json", name="r"))["items"]
    return {item["metadata"]["name"]: item["spec"].get("nodeName", "") for item in pods}


def recording(home, suffix=""):
    return home.data("r") + "/koord-scheduler.rec" + suffix


def scheduler_of(home):
    """The process id of the cluster's koord-scheduler."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with open(f"/proc/{entry}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        if words[0].endswith(b"/koord-scheduler") and f"--record={recording(home)}".encode() in words:
            return int(entry)
    return 0


def schedule(home):
    home.up("r", "--record", "--nodes", "4")
    create(home, [pod(f"web-{i}", "500m") for i in range(PODS)] + [pod("huge", "1000")])
    wait_until("all pods are bound", lambda: sum(map(bool, bound(home).values())) == PODS)
    check(not bound(home)["huge"], "the huge pod has a node")
    check(stat.S_IMODE(os.stat(recording(home)).st_mode) == 0o600, "others can read the recording")


def replay_while_it_is_written(home):
    def decided():
        said = home.run("replay", recording(home), "--decisions")
        return said if said.count(": scheduled on") == PODS and "huge, attempt 1: unschedulable" in said else None
    said = wait_until("the recording has all decisions", decided)
    check("the same decisions and requests, bit for bit" in said, said)
    for name, node in bound(home).items():
        check(not node or f"default/{name}, attempt 1: scheduled on {node}\n" in said, f"{name}: {said}")


def kill(home):
    scheduler = wait_until("the scheduler runs", lambda: scheduler_of(home))
    create(home, [pod(f"late-{i}", "10m") for i in range(PODS)])
    os.kill(scheduler, signal.SIGKILL)
    wait_until("another one runs", lambda: scheduler_of(home) not in (0, scheduler))
    wait_until("the late pods are bound", lambda: sum(map(bool, bound(home).values())) == 2 * PODS)
    said = home.run("replay", recording(home, ".old"))
    check("bit for bit" in said and "the recording stops there" in said, said)


def explain(home):
    said = home.run("replay", recording(home, ".old"), "--until", "pod default/huge")
    for words in ("before attempt 1 of pod default/huge", "It fits on 0 of 4 nodes", "Insufficient cpu",
                  "then: default/huge, attempt 1: unschedulable"):
        check(words in said, f"{words}: {said}")
    said = home.run("replay", recording(home, ".old"), "--until", "pod default/nobody", status=2)
    check("no attempt to place pod default/nobody" in said, said)
    said = home.run("replay", recording(home, ".old"), "--until", "huge", status=2)
    check("expected 'pod NAMESPACE/NAME'" in said, said)


def compare(home):
    said = home.run("replay", recording(home, ".old"), "--config", configuration_of(home))
    check(re.search(r"\d+ decisions compared: \d+ the same, 0 differ", said), said)
    other = os.path.join(home.folder, "other.yaml")
    with open(other, "w", encoding="utf-8") as file:
        file.write(OTHER)
    said = home.run("replay", recording(home, ".old"), "--config", other)
    found = re.search(r"(\d+) decisions compared: \d+ the same, (\d+) differ", said)
    check(found and int(found.group(1)) > PODS and int(found.group(2)) > 0, said)
    check("on another node" in said and "; now sim-" in said, said)
    with open(other, "w", encoding="utf-8") as file:
        file.write("kind: Nonsense\n")
    check("--config" in home.run("replay", recording(home, ".old"), "--config", other, status=2), "a wrong file")


def configuration_of(home):
    """The file that the scheduler was started with."""
    with open(f"/proc/{scheduler_of(home)}/cmdline", "rb") as file:
        words = file.read().decode().split("\0")
    return next(word.removeprefix("--config=") for word in words if word.startswith("--config="))


def damaged_files(home):
    with open(recording(home, ".old"), "rb") as file:
        whole = file.read()
    flipped = bytearray(whole)
    flipped[len(whole) * 2 // 3] ^= 0x10
    for name, content, status, words in (
            ("cut.rec", whole[:len(whole) * 2 // 3], 0, "the recording stops there"),
            ("flipped.rec", bytes(flipped), 2, "the recording is good up to"),
            ("empty.rec", b"", 2, "not a recording"),
            ("text.rec", b"KOORDREC but not really", 2, "format"),
            ("length.rec", whole[:12] + b"\xff" * 12, 2, "impossible length")):
        path = os.path.join(home.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        said = home.run("replay", path, status=status)
        check(words in said and (status == 0 or name in said), f"{name}: {said}")
    check("missing.rec" in home.run("replay", "missing.rec", status=2), "the file is not named")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    arguments = parser.parse_args()
    if not shutil.which("kubectl"):
        print("skipped: kubectl is missing")
        return SKIP
    return run_parts(arguments.programs, [schedule, replay_while_it_is_written, kill, explain, compare, damaged_files])


if __name__ == "__main__":
    sys.exit(main())
