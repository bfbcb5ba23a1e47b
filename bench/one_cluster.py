#!/usr/bin/env python3
"""Pods through Deployments on simulated nodes of `koordctl up`: real programs, the real kubectl.

Starts a cluster with a database on disk, applies Deployments with kubectl, waits until all their pods are
Ready, and lists the pods with kubectl. Prints one JSON object: pods per second, CPU milliseconds a pod of each
program, and the time and CPU of `kubectl get pods`. CPU counts from the apply until the cluster is quiet again,
so work that follows the last Ready pod is in it.

    bench/one_cluster.py --programs build/release/bin
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")


def cpu_by_program(root):
    """CPU seconds by name of a process and of its children."""
    seconds = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                head, _, tail = file.read().rpartition(")")
        except OSError:
            continue
        fields = tail.split()
        if int(entry) == root or int(fields[1]) == root:
            name = head.partition("(")[2]
            seconds[name] = seconds.get(name, 0) + (int(fields[11]) + int(fields[12])) / TICK
    return seconds


def memory_of(root):
    with open(f"/proc/{root}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024)
    return 0


def wait_until_quiet(root, share, limit=120):
    """Until the cluster uses less than this share of a core over two seconds."""
    end = time.monotonic() + limit
    before = sum(cpu_by_program(root).values())
    while time.monotonic() < end:
        time.sleep(2)
        now = sum(cpu_by_program(root).values())
        if (now - before) / 2 < share:
            return
        before = now
    print("the cluster does not become quiet", file=sys.stderr)


def deployment(number, replicas):
    labels = {"app": f"web-{number}"}
    container = {"name": "main", "image": "nginx", "resources": {
        "requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": f"web-{number}", "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}}


class Cluster:
    def __init__(self, programs, folder, flags):
        self.kubeconfig = os.path.join(folder, "data", "kubeconfig")
        self.process = subprocess.Popen(
            [os.path.join(programs, "koordctl"), "up", "--quiet", "--host-node=off", "--listen", "127.0.0.1:0",
             "--data-dir", os.path.join(folder, "data"), *flags], stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("koordctl up failed")

    def kubectl(self, *arguments, stdin=None):
        return subprocess.run(["kubectl", "--kubeconfig", self.kubeconfig, *arguments], input=stdin, text=True,
                              check=True, capture_output=True).stdout

    def ready_nodes(self):
        lines = self.kubectl("get", "nodes", "--no-headers").splitlines()
        return sum(line.split()[1] == "Ready" for line in lines)

    def wait_for_ready_pods(self, deployments, replicas, limit):
        """Returns the time when all pods are Ready. One watch, because a kubectl that starts each quarter of a second
        would take a third of a core from the cluster."""
        path = "jsonpath={.metadata.name} {.status.readyReplicas}{\"\\n\"}"
        command = ["kubectl", "--kubeconfig", self.kubeconfig, "get", "deployments", "--watch", "-o", path]
        ready = {}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
            timer = threading.Timer(limit, watch.kill)
            timer.daemon = True
            timer.start()
            for line in watch.stdout:
                name, _, count = line.strip().partition(" ")
                ready[name] = int(count or 0)
                if sum(ready.values()) >= deployments * replicas:
                    found = time.monotonic()
                    watch.kill()
                    return found
        raise SystemExit(f"only {sum(ready.values())} pods are Ready after {limit} s")

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def measure_rollout(cluster, pods, deployments):
    each = pods // deployments
    manifest = json.dumps({"apiVersion": "v1", "kind": "List",
                           "items": [deployment(number, each) for number in range(deployments)]})
    wait_until_quiet(cluster.process.pid, 0.15)
    before = cpu_by_program(cluster.process.pid)
    begun = time.monotonic()
    cluster.kubectl("apply", "-f", "-", stdin=manifest)
    seconds = cluster.wait_for_ready_pods(deployments, each, 600) - begun
    wait_until_quiet(cluster.process.pid, 0.15)
    after = cpu_by_program(cluster.process.pid)
    used = {name: 1000 * (value - before.get(name, 0)) / pods for name, value in after.items()}
    return {"seconds_until_ready": round(seconds, 2), "pods_per_second": round(pods / seconds),
            "cpu_ms_per_pod": {**{name: round(value, 3) for name, value in sorted(used.items())},
                               "all": round(sum(used.values()), 3)},
            "peak_mib_of_koordctl": memory_of(cluster.process.pid)}


def measure_list(cluster, times):
    """The fastest of a few calls, because the host may have other work."""
    best = None
    for _ in range(times):
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        server = cpu_by_program(cluster.process.pid).get("koordctl", 0)
        begun = time.monotonic()
        lines = cluster.kubectl("get", "pods").count("\n")
        seconds = time.monotonic() - begun
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = {"lines": lines, "seconds": round(seconds, 2),
                 "kubectl_cpu_s": round(used.ru_utime + used.ru_stime - own.ru_utime - own.ru_stime, 2),
                 "server_cpu_s": round(cpu_by_program(cluster.process.pid)["koordctl"] - server, 2)}
        if best is None or found["seconds"] < best["seconds"]:
            best = found
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="the folder with koordctl")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10000)
    parser.add_argument("--deployments", type=int, default=20)
    parser.add_argument("--up-flag", action="append", default=[], help="a further flag of koordctl up")
    parser.add_argument("--keep", action="store_true", help="wait for Enter before the cluster ends")
    arguments = parser.parse_args()
    if not shutil.which("kubectl"):
        raise SystemExit("kubectl is missing")
    with tempfile.TemporaryDirectory(prefix="koord-bench-") as folder:
        cluster = Cluster(os.path.abspath(arguments.programs), folder,
                          ["--nodes", str(arguments.nodes), *arguments.up_flag])
        try:
            while cluster.ready_nodes() < arguments.nodes:
                time.sleep(0.5)
            found = {"name": f"OneCluster/{arguments.nodes}Nodes_{arguments.pods}Pods",
                     "load_before": round(os.getloadavg()[0], 1)}
            found.update(measure_rollout(cluster, arguments.pods, arguments.deployments))
            found["kubectl_get_pods"] = measure_list(cluster, 3)
            found["load_after"] = round(os.getloadavg()[0], 1)
            print(json.dumps(found), flush=True)
            if arguments.keep:
                input(f"export KUBECONFIG={cluster.kubeconfig}\n")
        finally:
            cluster.end()


if __name__ == "__main__":
    main()
