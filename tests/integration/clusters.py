#!/usr/bin/env python3
"""Clusters by name: koordctl up --name, ls, delete, pause, resume, snapshot, restore, the merged
kubeconfig and shell completion, with real programs and the real kubectl. Simulated nodes only.

Every wait polls a condition and has a limit; exit status 77 means that this machine cannot run it.
"""

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import time

from cluster_home import Connection, config_map, cpu_of, run_parts
from shell_session import Shell, wrapper
from waiting import SKIP, check, wait_until

CONFIG_MAPS = 10000


def several_at_once(home):
    home.up("a")
    home.up("b", "--nodes", "2")
    states = home.states()
    check(states["a"]["state"] == states["b"]["state"] == "running", str(states))
    check(states["a"]["server"] != states["b"]["server"], "two servers on one port")
    check((states["a"]["nodes"], states["b"]["nodes"]) == (3, 2), str(states))
    said = home.run("up", "--name", "a", "--host-node=off", status=1)
    check("is in use by another koordctl" in said and home.data("a") in said, said)
    home.down("b")
    check(home.states()["b"]["state"] == "stopped", "b did not stop")
    # The port stays, so that kubeconfigs stay valid.
    server = states["b"]["server"]
    home.up("b", "--nodes", "2")
    check(home.states()["b"]["server"] == server, "b has another port than before")


def pause_and_resume(home):
    home.kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3", name="a")
    wait_until("three pods run", lambda: home.kubectl(
        "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}", name="a") == "3")
    home.run("pause", "--name", "a")
    home.run("pause", "--name", "a")  # again changes nothing
    check(home.states()["a"]["state"] == "paused", str(home.states()))
    process = home.running["a"]
    children = subprocess.run(["ps", "--ppid", str(process.pid), "-o", "args="], text=True,
                              capture_output=True, check=False).stdout
    check("koord-" not in children, f"components run in a pause: {children}")
    version = home.kubectl("get", "--raw", "/api/v1/nodes?limit=1", name="a")
    said = home.kubectl("scale", "deployment", "web", "--replicas=5", name="a", fails=True)
    check("is paused" in said and "koordctl resume" in said, said)
    check("yes" in home.kubectl("auth", "can-i", "create", "pods", name="a"), "can-i in a pause")
    same = json.loads(home.kubectl("get", "--raw", "/api/v1/nodes?limit=1", name="a"))
    check(same["metadata"]["resourceVersion"] == json.loads(version)["metadata"]["resourceVersion"],
          "something was written in a pause")
    home.run("resume", "--name", "a")
    home.kubectl("scale", "deployment", "web", "--replicas=5", name="a")
    wait_until("five pods run", lambda: home.kubectl(
        "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}", name="a") == "5")
    nodes = home.kubectl("get", "nodes", name="a")
    check("NotReady" not in nodes, nodes)
    # A cluster that is paused can be stopped.
    home.run("pause", "--name", "a")
    home.down("a")
    home.up("a")


def objects_of(home, name):
    """What users see, without what changes by itself."""
    connection = Connection(home, name)
    found = {}
    for path in ("/api/v1/configmaps", "/api/v1/secrets", "/apis/apps/v1/deployments", "/api/v1/serviceaccounts",
                 "/api/v1/persistentvolumes"):
        for item in connection.list(path):
            meta = item["metadata"]
            if meta.get("namespace") != "koordinator-system":
                found[path, meta.get("namespace"), meta["name"]] = (meta["uid"], json.dumps(item.get("data")))
    return found


def snapshot_and_restore(home):
    many = [config_map(f"m{i}", {"value": "x" * 500 + str(i)}) for i in range(CONFIG_MAPS)]
    home.kubectl("create", "secret", "generic", "hidden", "--from-literal=word=tops3cret", name="a")
    connection = Connection(home, "a")
    for item in many:
        connection.create(item)
    before = objects_of(home, "a")
    check(len(before) > CONFIG_MAPS, f"{len(before)} objects")
    begun = time.monotonic()
    print(home.run("snapshot", "live.snap", "--name", "a").strip())
    taken = time.monotonic() - begun
    check(os.stat(home.folder + "/live.snap").st_mode & 0o777 == 0o600, "others may read the snapshot")
    check(not [name for name in os.listdir(home.data("a")) if name.startswith("copy-")], "a copy was left")
    said = home.run("snapshot", "live.snap", "--name", "a", status=1)
    check("live.snap" in said and "already" in said, said)
    begun = time.monotonic()
    print(home.run("restore", "live.snap", "--name", "c").strip())
    restored = time.monotonic() - begun
    check("there is a cluster already" in home.run("restore", "live.snap", "--name", "c", status=1), "twice")
    print(f"{CONFIG_MAPS} objects: snapshot {taken:.2f} s, restore {restored:.2f} s")
    home.up("c")
    check(objects_of(home, "c") == before, "the restored cluster has other objects")
    wait_until("the restored pods run", lambda: home.kubectl(
        "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}", name="c") == "5")
    # Of a cluster that does not run, and of one that never was.
    home.down("c")
    home.run("snapshot", "stopped.snap", "--name", "c")
    check("there is no cluster" in home.run("snapshot", "x.snap", "--name", "never", status=1), "never")
    check(not os.path.exists(home.data("never")), "a folder was made for nothing")


def support_snapshot(home):
    kubeconfig = home.data("a") + "/kubeconfig"
    print(home.run("snapshot", "case.snap", "--support", "--kubeconfig", kubeconfig).strip())
    names = subprocess.run(["tar", "--zstd", "-tf", home.folder + "/case.snap"], capture_output=True, text=True,
                           check=True).stdout.split()
    check(any(name.startswith("objects/configmaps/") for name in names), str(names[:20]))
    check(not any("secrets" in name or name.startswith("data/") for name in names), "Secrets or keys in it")
    text = subprocess.run(["tar", "--zstd", "-xOf", home.folder + "/case.snap"], capture_output=True,
                          check=True).stdout
    check(b"tops3cret" not in text and b"dG9wczNjcmV0" not in text, "a Secret is in a support snapshot")
    check("a support snapshot has neither" in home.run("restore", "case.snap", "--name", "d", status=1), "restored")
    missing = home.folder + "/missing"
    check(missing in home.run("snapshot", "x.snap", "--kubeconfig", missing, status=1), "the file is not named")


def merged_kubeconfig(home):
    config = home.folder + "/.kube/config"
    home.kubectl("config", "set-cluster", "work", "--server=https://work:6443")
    home.kubectl("config", "set-context", "work", "--cluster=work")
    home.kubectl("config", "use-context", "work")
    home.up("m", "--merge-kubeconfig")
    check(home.kubectl("config", "current-context").strip() == "m", "the context is not m")
    check("sim-0" in home.kubectl("get", "nodes"), "kubectl does not reach m")
    check("work" in home.kubectl("config", "get-contexts", "-o", "name"), "another context is gone")
    # koordctl finds the components of a cluster by a kubeconfig that lies elsewhere.
    said = home.run("explain", "node", "sim-0", "--kubeconfig", config)
    check("sim-0" in said, said)
    home.down("m")
    check(home.kubectl("config", "current-context").strip() == "work", "the former context is not back")
    check("m" not in home.kubectl("config", "get-contexts", "-o", "name").split(), "the context was left")
    # A koordctl that was killed cannot clean up; delete does.
    home.up("m", "--merge-kubeconfig")
    process = home.running.pop("m")
    process.kill()
    process.wait()
    home.run("delete", "m")
    check("m" not in home.kubectl("config", "get-contexts", "-o", "name").split(), "delete left the context")
    home.environment["KUBECONFIG"] = home.folder + "/nowhere"
    said = home.run("status", status=1)
    check(home.folder + "/nowhere" in said, said)
    del home.environment["KUBECONFIG"]


def commands_in_a_shell(home):
    kubeconfig = home.data("a") + "/kubeconfig"
    words = home.run("__complete", "explain", "node", "--kubeconfig", kubeconfig, "sim").split()
    check(words == ["sim-0", "sim-1", "sim-2", ":"], str(words))
    words = home.run("__complete", "explain", "pod", f"--kubeconfig={kubeconfig}", "-n", "default", "web").split()
    check(len(words) == 6, str(words))
    words = home.run("__complete", "delete", "").splitlines()
    check(words[0].startswith("a\t"), str(words))
    pod = home.kubectl("get", "pods", "-o", "jsonpath={.items[0].metadata.name}", name="a")
    text = home.run("explain", "pod", pod, "-n", "default", "--kubeconfig", kubeconfig)
    answer = json.loads(home.run("explain", "pod", pod, "-n", "default", "-o", "json", "--kubeconfig", kubeconfig))
    check(pod in text and isinstance(answer, dict), text)
    manifest = home.kubectl("create", "deployment", "new", "--image=x", "--dry-run=client", "-o", "yaml", name="a")
    said = home.run("explain", "pod", "-f", "-", "--kubeconfig", kubeconfig, stdin=manifest)
    check("new-explained" in said, said)
    home.run("explain", "pod", status=2)
    home.run("explain", "pod", "missing", "--kubeconfig", kubeconfig, status=1)
    check('did you mean "status"?' in home.run("statsu", status=2), "no suggestion")
    check("did you mean --nodes?" in home.run("up", "--node=3", status=2), "no suggestion of a flag")


def real_shells(home):
    """TAB in bash, zsh and fish, where they are installed."""
    kubeconfig = home.data("a") + "/kubeconfig"
    programs = wrapper(home.folder, home.koordctl)
    pod = home.kubectl("get", "pods", "-o", "jsonpath={.items[0].metadata.name}", name="a")
    home.kubectl("create", "namespace", "shop", name="a")
    for name in ("bash", "zsh", "fish"):
        folder = os.path.join(home.folder, name)
        os.makedirs(folder)
        with open(os.path.join(folder, "rest.snap"), "w", encoding="utf-8"):
            pass
        if home.user:
            shutil.chown(folder, home.user)
        if not shutil.which(name):
            print(f"{name} is not installed")
            continue
        shell = Shell(name, folder, programs, {**home.environment, "KUBECONFIG": kubeconfig}, home.user)
        try:
            shell.run("koordctl expl\tnod\tsim-1\t", "[explain] [node] [sim-1]")
            shell.run("koordctl up --host-n\tof\t", "[up] [--host-node] [off]")
            shell.run("koordctl up --runtime=c\t", "[up] [--runtime=containerd]")
            shell.run("koordctl pause --name b\t", "[pause] [--name] [b]")
            shell.run(f"koordctl explain pod default/{pod[:-1]}\t", f"[explain] [pod] [default/{pod}]")
            shell.run(f"koordctl explain pod -n defa\t{pod[:-1]}\t", f"[explain] [pod] [-n] [default] [{pod}]")
            shell.run("koordctl explain pod -n sho\t-f rest.sn\t",
                      "[explain] [pod] [-n] [shop] [-f] [rest.snap]")
        finally:
            shell.end()


def delete(home):
    data = home.data("a")
    home.run("delete", "a")  # also while it runs
    check(home.running.pop("a").wait(timeout=10) == 0, "a was not stopped in good order")
    check(not os.path.exists(data), "the data folder was left")
    check("there is no such cluster" in home.run("delete", "a", status=1), "deleted twice")
    home.run("delete", "../../x", status=1)
    home.run("delete", status=2)
    # One that stops already keeps its lock for a while, and does not listen.
    with subprocess.Popen(["flock", home.data("c") + "/lock", "sleep", "1"], user=home.user):
        wait_until("c has a lock", lambda: home.states()["c"]["state"] == "busy")
        home.run("delete", "c")
    home.run("delete", "b")
    home.running.pop("b").wait(timeout=10)
    check("no clusters" in home.run("ls"), home.run("ls"))


def idle(home, seconds):
    """CPU of a whole cluster with 100 simulated nodes, in percent of a core."""
    process = home.up("idle", "--nodes", "100")
    time.sleep(10)
    before = cpu_of(process.pid)
    time.sleep(seconds)
    print(f"idle with 100 simulated nodes: {(cpu_of(process.pid) - before) / seconds * 100:.2f} % of a core")
    home.run("pause", "--name", "idle")
    before = cpu_of(process.pid)
    time.sleep(seconds)
    print(f"paused: {(cpu_of(process.pid) - before) / seconds * 100:.2f} % of a core")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--idle", type=int, default=0, help="only measure the idle cost, for that many seconds")
    arguments = parser.parse_args()
    if not shutil.which("kubectl"):
        print("skipped: kubectl is missing")
        return SKIP
    parts = [several_at_once, pause_and_resume, snapshot_and_restore, support_snapshot, merged_kubeconfig,
             commands_in_a_shell, real_shells, delete]
    if arguments.idle:
        parts = [functools.partial(idle, seconds=arguments.idle)]
    return run_parts(arguments.programs, parts)


if __name__ == "__main__":
    sys.exit(main())
