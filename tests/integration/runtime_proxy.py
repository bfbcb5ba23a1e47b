#!/usr/bin/env python3
"""Pods of the host node through koord-runtime-proxy: koordctl up --runtime=containerd --runtime-proxy.

Containers say themselves, with their first instruction, what their cgroup gives them.
Exit status 77 means that this machine cannot run it.
"""

import json
import os
import signal
import subprocess
import sys

from one_machine import (CONTAINERD_PACKAGES, NAMESPACE, Cgroups, Cluster, amount, check, run_if_possible, running, wait_until,
                         why_not)

# One line each of shares (or weight), quota, memory limit, CPUs.
SAY = ("cat /sys/fs/cgroup/cpu/cpu.shares /sys/fs/cgroup/cpu/cpu.cfs_quota_us "
       "/sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/cpuset/cpuset.cpus 2>/dev/null || "
       "cat /sys/fs/cgroup/cpu.weight /sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max "
       "/sys/fs/cgroup/cpuset.cpus.effective; sleep 1000")


class RuntimeProxyTest:
    def __init__(self, programs, source, folder):
        self.cluster = Cluster(programs, folder, "--host-node=on", "--runtime=containerd", "--runtime-proxy")
        self.source = source
        self.client = os.path.join(programs, "cri_client")
        self.socket = os.path.join(self.cluster.data, "runtimeproxy.sock")
        self.cgroups = Cgroups()
        self.node = os.uname().nodename.lower()

    def steps(self):
        return (self.comes_up, self.first_instruction, self.bound_cpus, self.updates_pass_the_hooks, self.exec_and_images,
                self.proxy_is_killed_while_pods_are_made, self.containerd_restarts, self.leaves_nothing_behind)

    def cri(self, *words):
        run = subprocess.run([self.client, self.socket, *words], capture_output=True, text=True, timeout=60,
                             check=False)
        check(run.returncode == 0, f"cri_client {words}: {run.stderr}")
        return run.stdout

    def comes_up(self):
        self.cluster.start()
        check(self.cluster.child("koord-runtime-proxy"), "koord-runtime-proxy does not run")
        wait_until("koordlet announces itself", lambda: os.path.exists(
            os.path.join(self.cluster.data, "hookserver.d", "koordlet.json")))
        self.make_room()

    def make_room(self):
        # Where best-effort pods as a whole have a quota, single ones have none.
        config = {"data": {
            "colocation-config": json.dumps({
                "enable": True, "cpuReclaimThresholdPercent": 1000, "memoryReclaimThresholdPercent": 100,
                "metricReportIntervalSeconds": 30}),
            "resource-threshold-config": json.dumps({"clusterStrategy": {
                "enable": True, "cpuSuppressPolicy": "cpuset", "cpuSuppressThresholdPercent": 100}})}}
        self.cluster.kubectl("patch", "configmap", "slo-controller-config", "-n", "koordinator-system",
                             "--type=merge", "-p", json.dumps(config))
        for name in ("00-namespace.yaml", "10-profiles.yaml"):
            self.cluster.kubectl("apply", "-f", os.path.join(self.source, "examples/colocation", name))
        wait_until("the policy on the node", lambda: self.cluster.get("nodeslo", self.node)["spec"][
            "resourceUsedThresholdWithBE"]["cpuSuppressPolicy"] == "cpuset")
        wait_until("kubernetes.io/batch-cpu in allocatable",
                   lambda: amount(self.cluster.get("node", self.node)["status"]["allocatable"]
                                  ["kubernetes.io/batch-cpu"]) > 300, 90, 1)

    def first_instruction(self):
        self.cluster.kubectl("apply", "-f", "-", stdin=manifest("work"))
        wait_until("the pod runs", lambda: running(self.cluster.pods(), 1), 60)
        self.said_right("work")

    def said_right(self, name):
        said = wait_until("the container's words", lambda: self.cluster.kubectl(
            "logs", "-n", NAMESPACE, name)).split("\n")
        if not self.cgroups.v2:
            check(said[:3] == ["102", "20000", str(32 << 20)], f"at its first instruction: {said}")
        else:
            check(said[1:3] == ["20000 100000", str(32 << 20)], f"at its first instruction: {said}")
        check(said[3] == self.cgroups.cpus("kubepods/besteffort"), f"CPUs at its first instruction: {said}")

    def bound_cpus(self):
        """A pod of class LSR has the CPUs that koord-scheduler gave it, and no others, before it runs."""
        wait_until("CPUs that can be bound", lambda: self.cluster.get("noderesourcetopology", self.node)["metadata"][
            "annotations"]["node.koordinator.sh/cpu-topology"])
        self.cluster.kubectl("apply", "-f", "-", stdin=BOUND)
        said = wait_until("its words", lambda: self.cluster.kubectl("logs", "-n", NAMESPACE, "bound"), 60).split("\n")
        status = json.loads(self.cluster.get("pod", "bound", "-n", NAMESPACE)["metadata"]["annotations"][
            "scheduling.koordinator.sh/resource-status"])
        check(status["cpuset"] and said[3] == status["cpuset"] != self.cgroups.cpus(""),
              f"bound to {status}, at its first instruction: {said}")
        self.cluster.kubectl("delete", "pod", "-n", NAMESPACE, "bound", "--timeout=60s")

    def container(self, name):
        pod = self.cluster.get("pod", name, "-n", NAMESPACE)
        identity = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
        return identity, f"kubepods/besteffort/pod{pod['metadata']['uid']}/{identity}"

    def updates_pass_the_hooks(self):
        """What kubelet would ask for, were it not for koordlet: another quota. The hook puts its own in."""
        identity, folder = self.container("work")
        self.cri("update", identity, "50000", "0")
        check(self.cgroups.quota(folder) == 20000, "the quota after an update")

    def exec_and_images(self):
        identity, _ = self.container("work")
        check(identity in self.cri("containers"), "the container is not listed")
        check(self.cri("exec", identity, "echo", "hello") == "hello\n", "exec")
        check(int(self.cri("images")) > 50, "images")
        check(self.cri("version").startswith("containerd"), "version")

    def proxy_is_killed_while_pods_are_made(self):
        names = [f"crowd-{i}" for i in range(12)]
        self.cluster.kubectl("apply", "-f", "-", stdin="---\n".join(manifest(name) for name in names))
        for _ in range(3):
            proxy = wait_until("the proxy runs", lambda: self.cluster.child("koord-runtime-proxy"))
            os.kill(proxy, signal.SIGKILL)
            wait_until("the proxy is started again",
                       lambda old=proxy: self.cluster.child("koord-runtime-proxy") not in (None, old))
        wait_until("all pods run", lambda: running(self.cluster.pods(), len(names) + 1), 120)
        said = {name: wait_until("words", lambda name=name: self.cluster.kubectl("logs", "-n", NAMESPACE, name))
                for name in names}
        check(len(set(said.values())) == 1, f"not all were made alike: {said}")
        # A container that was there before is known to the new proxy, with its resources.
        self.updates_pass_the_hooks()
        self.cluster.kubectl("delete", "pod", "-n", NAMESPACE, *names, "--timeout=60s")

    def containerd_restarts(self):
        daemon = self.cluster.child("containerd")
        os.kill(daemon, signal.SIGKILL)
        wait_until("containerd is started again", lambda: self.cluster.child("containerd") not in (None, daemon))
        wait_until("it answers through the proxy", lambda: subprocess.run(
            [self.client, self.socket, "version"], capture_output=True, timeout=60, check=False).returncode == 0)
        self.updates_pass_the_hooks()

    def leaves_nothing_behind(self):
        self.cluster.stop()
        check(not self.cgroups.left_over(), f"cgroups are left: {self.cgroups.left_over()}")
        left = self.cluster.processes("koordctl", "containerd", "containerd-shim-runc-v2", "koord-runtime-proxy")
        check(not left, f"processes are left: {left}")
        check(not os.path.exists(self.socket), "the proxy's socket is left")


BOUND = f"""apiVersion: v1
kind: Pod
metadata: {{name: bound, namespace: {NAMESPACE}, labels: {{koordinator.sh/qosClass: LSR}}}}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  schedulerName: koord-scheduler
  priorityClassName: koord-prod
  containers:
  - name: main
    image: busybox
    command: [sh, -c, '{SAY}']
    resources:
      requests: {{cpu: "1", memory: 16Mi}}
      limits: {{cpu: "1", memory: 16Mi}}
"""


def manifest(name):
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {NAMESPACE}, labels: {{tier: batch}}}}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Always
  containers:
  - name: main
    image: busybox
    command: [sh, -c, '{SAY}']
    resources:
      requests: {{cpu: 100m, memory: 16Mi}}
      limits: {{cpu: 200m, memory: 32Mi}}
"""


if __name__ == "__main__":
    sys.exit(run_if_possible(RuntimeProxyTest, __doc__, why_not(CONTAINERD_PACKAGES)))
