#!/usr/bin/env python3
"""A node joins a cluster with `koordctl invite` and `koordctl join`.

Both programs run on this machine, with data folders of their own: the cluster without a host node, the node by itself.
Needs root and kubectl; exit status 77 means that this machine cannot run it.
"""

import argparse
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile

from one_machine import Cluster, why_not
from waiting import SKIP, Failure, check, wait_until

POD = """
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting}
data: {text: hello over the network}
---
apiVersion: v1
kind: Pod
metadata: {name: guest}
spec:
  schedulerName: koord-scheduler
  terminationGracePeriodSeconds: 1
  nodeSelector: {kubernetes.io/hostname: laptop}
  volumes: [{name: greeting, configMap: {name: greeting}}]
  containers:
  - name: main
    image: busybox
    command: [sh, -c, "cat /greeting/text; echo; exec sleep 1000000"]
    volumeMounts: [{name: greeting, mountPath: /greeting}]
    resources: {requests: {cpu: 10m, memory: 16Mi}}
"""


class Node:
    """A `koordctl join` with a data folder."""

    def __init__(self, programs, folder):
        self.programs, self.data, self.process = programs, os.path.join(folder, "node"), None

    def command(self, *arguments):
        return [os.path.join(self.programs, "koordctl"), "join", "--quiet", "--data-dir", self.data, *arguments]

    def start(self, *arguments, invitation=None):
        self.process = subprocess.Popen(self.command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        try:
            self.process.stdin.write(invitation or "")
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        if line != "ready\n":
            raise Failure(f"koordctl join said {line!r}: {self.process.stderr.read()}")

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            check(self.process.wait(timeout=30) == 0, f"koordctl join: {self.process.stderr.read()}")
            self.process = None

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None


def invite(cluster, *arguments):
    return subprocess.run([os.path.join(cluster.programs, "koordctl"), "invite", "--data-dir", cluster.data, *arguments],
                          capture_output=True, text=True, timeout=30, check=False)


def server_of(cluster):
    return cluster.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")


def refusals(cluster, node):
    alone = invite(cluster, "laptop")
    check(alone.returncode == 1 and "--listen" in alone.stderr, f"a cluster on loopback: {alone.stderr}")
    for name in ("", "Laptop", "../laptop", "a" * 300):
        check(invite(cluster, "--server", server_of(cluster), name).returncode != 0, f"a node {name!r} was invited")
    for text, want in (("", "INVITATION"), ("hello", "koordctl invite"), ("kind: [", "invitation"), ("a: 1\n" * 300000, "too large")):
        run = subprocess.run(node.command("-" if text else "/nowhere/invitation"), input=text, capture_output=True, text=True,
                             timeout=30, check=False)
        check(run.returncode == 1, f"joined with {text[:20]!r}")
        check(want in run.stderr or "/nowhere/invitation" in run.stderr, f"{text[:20]!r}: {run.stderr}")


def may(cluster, node, verb, *what):
    kubeconfig = os.path.join(node.data, "kubelet.kubeconfig")
    run = subprocess.run(["kubectl", "--kubeconfig", kubeconfig, "auth", "can-i", verb, *what], capture_output=True, text=True,
                         timeout=30, check=False)
    return run.stdout.strip() == "yes"


def a_name_in_use_is_refused(cluster, node):
    """The node of another host stays what it is."""
    conditions = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2126-01-01T00:00:00Z"}]
    cluster.kubectl("create", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"conditions": conditions, "nodeInfo": {"machineID": "another-host"}}}))
    invitation = invite(cluster, "--server", server_of(cluster), "laptop").stdout
    run = subprocess.run(node.command("-"), input=invitation, capture_output=True, text=True, timeout=60, check=False)
    check(run.returncode == 1 and "is ready on another host" in run.stderr, f"it joined: {run.stderr}")
    there = json.loads(cluster.kubectl("get", "node", "laptop", "-o", "json"))
    check(there["status"]["nodeInfo"]["machineID"] == "another-host", "the node was changed")
    cluster.kubectl("delete", "node", "laptop")


def joins(cluster, node):
    invitation = invite(cluster, "--server", server_of(cluster), "laptop")
    check(invitation.returncode == 0, invitation.stderr)
    node.start("-", invitation=invitation.stdout)
    ready = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    wait_until("the node is ready", lambda: cluster.kubectl("get", "node", "laptop", "-o", ready) == "True")
    mode = stat.S_IMODE(os.stat(os.path.join(node.data, "invitation.yaml")).st_mode)
    check(mode == 0o600, f"the invitation has the mode {mode:o}")
    # It is a node and nothing else.
    check(not may(cluster, node, "create", "deployments"), "the node may create deployments")
    check(not may(cluster, node, "list", "secrets", "-A"), "the node may list all secrets")


def runs_pods(cluster, node):
    cluster.kubectl("apply", "-f", "-", stdin=POD)
    wait_until("a pod runs", lambda: cluster.kubectl("get", "pod", "guest", "-o", "jsonpath={.status.phase}") == "Running")
    check(cluster.kubectl("get", "pod", "guest", "-o", "jsonpath={.spec.nodeName}") == "laptop", "where the pod runs")
    wait_until("its log", lambda: cluster.kubectl("logs", "guest").strip() == "hello over the network")
    said = cluster.kubectl("exec", "guest", "--", "true", fails=True)
    check("joined node" in said, f"exec for a pod of a joined node: {said}")
    # koordlet reports, and koord-manager offers what is idle.
    usage = "jsonpath={.status.nodeMetric.nodeUsage.resources.cpu}"
    wait_until("usage of the node", lambda: cluster.kubectl("get", "nodemetric", "laptop", "-o", usage) != "", limit=90)
    offer = "jsonpath={.status.allocatable.kubernetes\\.io/batch-memory}"
    wait_until("batch resources", lambda: cluster.kubectl("get", "node", "laptop", "-o", offer) != "", limit=60)


def comes_back(cluster, node):
    """A node that was killed continues with its pod; without an invitation it takes the last one."""
    container = "jsonpath={.status.containerStatuses[0].containerID}"
    before = cluster.kubectl("get", "pod", "guest", "-o", container)
    node.kill()
    node.start()
    pod = json.loads(cluster.kubectl("get", "pod", "guest", "-o", "json"))
    check(pod["status"]["containerStatuses"][0]["containerID"] == before, "the container continues")
    cluster.kubectl("delete", "pod", "guest")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--programs", required=True)
    arguments.add_argument("--source", required=True)
    options = arguments.parse_args()
    if reason := why_not():
        print("skipped:", reason)
        return SKIP
    with tempfile.TemporaryDirectory(prefix="koord-join-") as folder:
        cluster = Cluster(options.programs, folder, "--host-node=off", "--nodes=1")
        node = Node(options.programs, folder)
        cluster.start()
        try:
            refusals(cluster, node)
            a_name_in_use_is_refused(cluster, node)
            joins(cluster, node)
            runs_pods(cluster, node)
            comes_back(cluster, node)
            node.stop()
        except Failure as failure:
            print(f"failed: {failure}{cluster.log_tail()}", file=sys.stderr)
            return 1
        finally:
            if node.process:
                node.kill()
            cluster.stop()
    print("a node joins, runs pods and comes back")
    return 0


if __name__ == "__main__":
    sys.exit(main())
