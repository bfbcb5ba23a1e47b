#!/usr/bin/env python3
"""Snapshots of clusters that change, and what is left when koordctl is killed, a file is damaged or a disk is full.

Every wait polls a condition and has a limit; exit status 77 means that this machine cannot run it.
"""

import argparse
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile

from cluster_home import Connection, config_map, run_parts
from waiting import SKIP, check, wait_until

CONFIG_MAPS = 5000


def fill(home):
    home.up("a")
    connection = Connection(home, "a")
    for i in range(CONFIG_MAPS):
        connection.create(config_map(f"m{i}", {"value": os.urandom(300).hex()}))
    home.run("snapshot", "good.snap", "--name", "a")


def objects_of_one_moment(home):
    """Snapshots are taken while a client writes: the client changes first, then second."""
    connection = Connection(home, "a")
    for name in ("first", "second"):
        connection.create(config_map(name, {"turn": "0"}))
    turn = 0
    for i in range(3):
        taking = home.spawn("snapshot", f"moving{i}.snap", "--name", "a")
        while taking.poll() is None:
            turn += 1
            for name in ("first", "second"):
                connection.replace(config_map(name, {"turn": str(turn)}))
        said = taking.communicate()
        check(taking.returncode == 0, str(said))
        lines = subprocess.run(["tar", "--zstd", "-xOf", f"{home.folder}/moving{i}.snap", "--wildcards",
                                "objects/configmaps/*"], capture_output=True, text=True, check=True).stdout.splitlines()
        objects = [json.loads(line) for line in lines]
        turns = {item["metadata"]["name"]: int(item["data"]["turn"]) for item in objects if "turn" in item["data"]}
        check(turns["second"] <= turns["first"] <= turns["second"] + 1, str(turns))
        check(len(objects) >= CONFIG_MAPS, f"{len(objects)} objects")
    print(f"{turn} pairs of writes during the snapshots")


def killed_restore(home):
    restoring = home.spawn("restore", "good.snap", "--name", "k")
    wait_until("the restore begins", lambda: os.path.exists(home.data("k") + "/restoring/cluster.db"), pause=0.001)
    restoring.send_signal(signal.SIGSTOP)
    check("is in use by another koordctl" in home.run("restore", "good.snap", "--name", "k", status=1), "two at once")
    check(home.states()["k"]["state"] == "busy", str(home.states()["k"]))
    restoring.kill()
    restoring.communicate()
    check(home.states()["k"]["state"] == "incomplete", str(home.states()["k"]))
    check("was interrupted" in home.run("up", "--name", "k", "--host-node=off", status=1), "half a cluster started")
    check("was interrupted" in home.run("snapshot", "k.snap", "--name", "k", status=1), "half a cluster was taken")
    home.run("restore", "good.snap", "--name", "k")
    home.up("k")
    last = f"m{CONFIG_MAPS - 1}"
    check(last in home.kubectl("get", "configmap", last, name="k"), "an object is missing")
    home.run("delete", "k")
    home.running.pop("k").wait(timeout=10)


def killed_snapshot(home):
    taking = home.spawn("snapshot", "killed.snap", "--name", "a")
    wait_until("the snapshot begins", lambda: os.path.exists(home.folder + "/killed.snap.partial"), pause=0.001)
    taking.kill()
    taking.communicate()
    check(not os.path.exists(home.folder + "/killed.snap"), "half a snapshot has the final name")
    home.run("snapshot", "killed.snap", "--name", "a")
    check(not os.path.exists(home.folder + "/killed.snap.partial"), "the temporary file was left")
    check(home.states()["a"]["state"] == "running", str(home.states()))


def damaged_files(home):
    with open(home.folder + "/good.snap", "rb") as file:
        whole = file.read()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x10
    for name, content, words in (("half.snap", whole[:len(whole) // 2], "truncated or damaged"),
                                 ("flipped.snap", bytes(flipped), "damaged"),
                                 ("empty.snap", b"", "not a snapshot"),
                                 ("later.snap", later_version(home), "formatVersion is 99")):
        path = os.path.join(home.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        said = home.run("restore", name, "--name", "d", status=1)
        check(name in said and words in said, said)
        check(not os.path.exists(home.data("d")), f"{name}: half a cluster was left")
    check("not a snapshot" in home.run("restore", home.koordctl, "--name", "d", status=1), "a program")
    check("missing.snap" in home.run("restore", "missing.snap", "--name", "d", status=1), "the file is not named")
    check("d" not in home.states(), str(home.states()))


def later_version(home):
    """The snapshot as a later koordctl would write it."""
    plain = subprocess.run(["zstd", "-dcq", home.folder + "/good.snap"], capture_output=True, check=True).stdout
    header = tarfile.open(fileobj=io.BytesIO(plain)).extractfile("snapshot.json").read()
    later = header.replace(b'"formatVersion": 2,', b'"formatVersion": 99,')
    check(later != header, header.decode())
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo("snapshot.json")
        entry.size = len(later)
        tar.addfile(entry, io.BytesIO(later))
    return subprocess.run(["zstd", "-cq"], input=archive.getvalue(), capture_output=True, check=True).stdout


def full_disk(home):
    """A disk of 1 MiB, for the snapshot and for the data folder of a restore."""
    small = home.folder + "/small"
    os.mkdir(small)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0777", "none", small], capture_output=True,
                             check=False)
    if mounted.returncode != 0:
        print("full_disk: skipped, this user cannot mount")
        return
    try:
        said = home.run("snapshot", "small/x.snap", "--name", "a", status=1)
        check("small/x.snap" in said and "No space left" in said, said)
        check(not os.listdir(small), str(os.listdir(small)))
        said = home.run("restore", "good.snap", "--data-dir", small + "/cluster", status=1)
        check(small in said and "full" in said, said)
        check(not os.listdir(small), str(os.listdir(small)))
    finally:
        subprocess.run(["umount", small], check=True)
    check(home.states()["a"]["state"] == "running", str(home.states()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    arguments = parser.parse_args()
    for program in ("kubectl", "zstd"):
        if not shutil.which(program):
            print(f"skipped: {program} is missing")
            return SKIP
    return run_parts(arguments.programs, [fill, objects_of_one_moment, killed_restore, killed_snapshot, damaged_files,
                                          full_disk])


if __name__ == "__main__":
    sys.exit(main())
