#!/usr/bin/env python3
"""A real node on top of koord-runtime-proxy: kubelet -> koord-runtime-proxy -> containerd, koordlet behind.

The API server is that of koordctl up, with koord-manager and koord-scheduler. The node joins, best-effort and bound pods
start with koordlet's values, kubelet, proxy and containerd are killed and come back, the node is drained. kubelet 1.36
wants containerd 2 or CRI-O for the driver of cgroups; with an older one it goes by its own configuration and says so.

    tests/conformance/kubelet.py --kubelet FILE --programs build/release/bin [--record FILE]

--record writes what kubelet says and hears, for tests/data/cri. Exit status 77: this machine cannot.
"""

import argparse
import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/integration"))

from nri import CONFIG, containerd_folder, image  # noqa: E402
from one_machine import (NAMESPACE, SKIP, Cgroups, Cluster, Failure, amount, check, read, running,  # noqa: E402
                         wait_until, why_not)

KUBELET = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: 0
healthzPort: {port}
authentication: {{anonymous: {{enabled: true}}, webhook: {{enabled: false}}}}
authorization: {{mode: AlwaysAllow}}
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
containerRuntimeEndpoint: unix://{socket}
cpuManagerPolicy: none
evictionHard: {{memory.available: 1Mi, nodefs.available: 1Mi, imagefs.available: 1Mi}}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 2s
podLogsDir: {folder}/pods
volumePluginDir: {folder}/volumes
"""
# What kubelet sets on the whole machine, and what is put back.
SYSCTLS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
           "kernel/keys/root_maxbytes")
SAY = ("cat /sys/fs/cgroup/cpu/cpu.shares /sys/fs/cgroup/cpu/cpu.cfs_quota_us "
       "/sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || "
       "cat /sys/fs/cgroup/cpu.weight /sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max; echo said; sleep 1000")


class Node:
    """containerd, the proxy, koordlet and kubelet, each a process with a log."""

    def __init__(self, programs, kubelet, folder, kubeconfig, record):
        self.programs, self.kubelet, self.folder, self.kubeconfig = programs, kubelet, folder, kubeconfig
        self.record = record
        self.processes = {}
        self.port = 10300
        atexit.register(self.end)
        self.sysctls = {name: read("/proc/sys/" + name) for name in SYSCTLS}

    def at(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, *command, **environment):
        with open(self.at(name + ".log"), "a", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **environment})

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def start_containerd(self):
        path = containerd_folder() + ":" + os.environ["PATH"]
        self.start("containerd", os.path.join(containerd_folder(), "containerd"), "--config", self.at("config.toml"),
                   PATH=path)
        wait_until("containerd answers", lambda: subprocess.run(
            [os.path.join(self.programs, "cri_client"), self.at("containerd.sock"), "version"], capture_output=True,
            check=False).returncode == 0)

    def prepare(self):
        # Without a network kubelet finds its node unready; pods of the host's network never ask this one.
        os.makedirs(self.at("cni"))
        with open(self.at("cni/10-none.conflist"), "w", encoding="utf-8") as file:
            json.dump({"cniVersion": "0.4.0", "name": "none", "plugins": [{"type": "none"}]}, file)
        with open(self.at("config.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(self.folder) +
                       f'[plugins."io.containerd.grpc.v1.cri".cni]\n  conf_dir = "{self.at("cni")}"\n')
        self.start_containerd()
        with open(self.at("busybox.tar"), "wb") as file:
            file.write(image())
        subprocess.run([os.path.join(containerd_folder(), "ctr"), "--address", self.at("containerd.sock"),
                        "--namespace", "k8s.io", "images", "import", self.at("busybox.tar")], check=True,
                       capture_output=True)
        os.makedirs(self.at("hooks"))

    def start_proxy(self):
        self.start("proxy", os.path.join(self.programs, "koord-runtime-proxy"),
                   "--koord-runtimeproxy-endpoint=" + self.at("proxy.sock"),
                   "--remote-runtime-service-endpoint=" + self.at("containerd.sock"),
                   "--hook-server-config-dir=" + self.at("hooks"))
        wait_until("the proxy listens", lambda: os.path.exists(self.at("proxy.sock")))

    def start_recorder(self):
        self.start("recorder", os.path.join(self.programs, "cri_recorder"), self.at("recorder.sock"),
                   self.at("proxy.sock"), self.record)
        wait_until("the recorder listens", lambda: os.path.exists(self.at("recorder.sock")))

    def start_koordlet(self, node):
        self.start("koordlet", os.path.join(self.programs, "koordlet"), "--kubeconfig=" + self.kubeconfig,
                   "--addr=127.0.0.1:0", "--tsdb-path=" + self.at("tsdb"), "--enable-nri-runtime-hook=false",
                   "--prediction-checkpoint-filepath=" + self.at("predictions"),
                   "--runtime-hooks-addr=" + self.at("koordlet.sock"),
                   "--runtime-hooks-host-endpoint=" + self.at("koordlet.sock"),
                   "--runtime-hooks-config-path=" + self.at("hooks"), NODE_NAME=node, agent_mode="hostMode")
        wait_until("koordlet announces itself", lambda: os.path.exists(self.at("hooks/koordlet.json")))

    def start_kubelet(self):
        socket = self.at("recorder.sock" if self.record else "proxy.sock")
        with open(self.at("kubelet.yaml"), "w", encoding="utf-8") as file:
            file.write(KUBELET.format(socket=socket, folder=self.folder, port=self.port))
        self.start("kubelet", self.kubelet, "--config=" + self.at("kubelet.yaml"), "--kubeconfig=" + self.kubeconfig,
                   "--root-dir=" + self.at("kubelet"), "--cert-dir=" + self.at("certificates"), "--v=2")
        wait_until("kubelet is healthy", self.healthy, 60)

    def healthy(self):
        check(self.processes["kubelet"].poll() is None, "kubelet has ended")
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=3) as reply:
            return reply.read() == b"ok"

    def cri(self, *words):
        return subprocess.run([os.path.join(self.programs, "cri_client"), self.at("containerd.sock"), *words],
                              capture_output=True, text=True, timeout=60, check=True).stdout

    def end(self):
        for name in ("kubelet", "koordlet", "proxy", "recorder", "containerd"):
            process = self.processes.get(name)
            if process and process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    self.kill(name)
        # kubelet's folder is mounted on itself, and volumes in it may be.
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            left = [line.split()[1] for line in mounts if self.folder in line.split()[1]]
        for folder in reversed(left):
            subprocess.run(["umount", folder], check=False)
        for name, value in self.sysctls.items():
            if read("/proc/sys/" + name) != value:
                pathlib.Path("/proc/sys", name).write_text(value, encoding="utf-8")


class KubeletTest:
    def __init__(self, options, folder):
        self.cluster = Cluster(options.programs, folder, "--host-node=off", "--nodes=0",
                               "--components=koord-manager,koord-scheduler")
        os.makedirs(os.path.join(folder, "node"))
        self.node = Node(options.programs, options.kubelet, os.path.join(folder, "node"), self.cluster.kubeconfig,
                         options.record)
        self.name = os.uname().nodename.lower()
        self.cgroups = Cgroups()

    def steps(self):
        return (self.comes_up, self.joins, self.first_instruction, self.kubelet_restarts, self.proxy_restarts,
                self.containerd_restarts, self.many_pods_while_the_proxy_is_killed, self.drains, self.leaves)

    def comes_up(self):
        self.cluster.start()
        self.node.prepare()
        self.node.start_proxy()
        self.node.start_koordlet(self.name)
        if self.node.record:
            self.node.start_recorder()

    def joins(self):
        self.node.start_kubelet()
        wait_until("the node is ready", lambda: self.condition("Ready") == "True", 60)
        self.cluster.make_room_for_batch()
        for name in ("00-namespace.yaml", "10-profiles.yaml"):
            self.cluster.kubectl("apply", "-f", str(SOURCE / "examples/colocation" / name))
        config = {"data": {"resource-threshold-config": json.dumps({"clusterStrategy": {
            "enable": True, "cpuSuppressPolicy": "cpuset", "cpuSuppressThresholdPercent": 100}})}}
        self.cluster.kubectl("patch", "configmap", "slo-controller-config", "-n", "koordinator-system", "--type=merge",
                             "-p", json.dumps(config))
        wait_until("the policy on the node", lambda: self.cluster.get("nodeslo", self.name)["spec"][
            "resourceUsedThresholdWithBE"]["cpuSuppressPolicy"] == "cpuset", 60)
        wait_until("kubernetes.io/batch-cpu in allocatable", lambda: amount(self.cluster.get("node", self.name)[
            "status"]["allocatable"]["kubernetes.io/batch-cpu"]) > 300, 120, 1)

    def condition(self, kind):
        conditions = self.cluster.get("node", self.name)["status"]["conditions"]
        return next(entry["status"] for entry in conditions if entry["type"] == kind)

    def first_instruction(self):
        self.cluster.kubectl("apply", "-f", "-", stdin=manifest("work"))
        wait_until("the pod runs", lambda: running(self.cluster.pods(), 1), 90)
        self.said_right("work")

    def said_right(self, name):
        def words():
            text = pathlib.Path(self.log_of(name)).read_text(encoding="utf-8")
            check("said" in text, text)
            return [line.split(" ", 3)[3] for line in text.splitlines()]

        said = wait_until(f"the words of {name}", words)
        first = said[:3] if not self.cgroups.v2 else said[1:3]
        expected = ["102", "20000", str(32 << 20)] if not self.cgroups.v2 else ["20000 100000", str(32 << 20)]
        check(first == expected, f"{name} at its first instruction: {said}")

    def log_of(self, name):
        pod = self.cluster.get("pod", name, "-n", NAMESPACE)
        folder = self.node.at(f"pods/{NAMESPACE}_{name}_{pod['metadata']['uid']}/main")
        return os.path.join(folder, sorted(os.listdir(folder))[-1])

    def container(self, name):
        return self.cluster.get("pod", name, "-n", NAMESPACE)["status"]["containerStatuses"][0]["containerID"]

    def carries_on(self, before):
        """The container of before is still there, and another pod comes up beside it."""
        check(self.container("work") == before, "the container was started anew")
        name = f"next-{len(self.cluster.pods())}"
        self.cluster.kubectl("apply", "-f", "-", stdin=manifest(name))
        wait_until(f"{name} runs", lambda: running(self.cluster.pods(), len(self.cluster.pods())), 90)
        self.said_right(name)
        wait_until("the node is ready", lambda: self.condition("Ready") == "True", 60)
        check(self.container("work") == before, "the container was started anew")

    def kubelet_restarts(self):
        before = self.container("work")
        self.node.kill("kubelet")
        self.node.start_kubelet()
        self.carries_on(before)

    def proxy_restarts(self):
        before = self.container("work")
        self.node.kill("proxy")
        self.node.start_proxy()
        self.carries_on(before)

    def containerd_restarts(self):
        before = self.container("work")
        self.node.kill("containerd")
        self.node.start_containerd()
        self.carries_on(before)

    def many_pods_while_the_proxy_is_killed(self):
        names = [f"crowd-{i}" for i in range(8)]
        known = len(self.cluster.pods())
        self.cluster.kubectl("apply", "-f", "-", stdin="---\n".join(manifest(name) for name in names))
        for count in (2, 5):
            wait_until("some of them run", lambda count=count: len(
                [pod for pod in self.cluster.pods() if pod["status"]["phase"] == "Running"]) >= known + count, 120)
            self.node.kill("proxy")
            self.node.start_proxy()
        wait_until("all pods run", lambda: running(self.cluster.pods(), known + len(names)), 240)
        for name in names:
            self.said_right(name)

    def drains(self):
        self.cluster.kubectl("drain", self.name, "--force", "--grace-period=1", "--timeout=55s")
        check(not self.cluster.pods(), "pods are left after the drain")
        wait_until("no container is left", lambda: self.node.cri("containers") == "", 60)

    def clean_up(self):
        """After a failure: no container is left running, if that can be."""
        try:
            self.cluster.kubectl("delete", "pod", "-n", NAMESPACE, "--all", "--grace-period=1", "--timeout=30s")
        except Failure as error:
            print("pods may be left:", error)
        self.node.end()
        if self.cluster.process and self.cluster.process.poll() is None:
            self.cluster.stop()

    def leaves(self):
        self.node.end()
        self.cluster.stop()
        for root in ([""] if self.cgroups.v2 else os.listdir("/sys/fs/cgroup")):
            top = os.path.join("/sys/fs/cgroup", root, "kubepods")
            for folder, _, _ in os.walk(top, topdown=False):
                os.rmdir(folder)
        check(not self.cgroups.left_over(), "cgroups are left")


def manifest(name):
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {NAMESPACE}, labels: {{tier: batch}}}}
spec:
  terminationGracePeriodSeconds: 1
  hostNetwork: true
  automountServiceAccountToken: false
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, '{SAY}']
    resources:
      requests: {{cpu: 100m, memory: 16Mi}}
      limits: {{cpu: 200m, memory: 32Mi}}
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubelet", required=True)
    parser.add_argument("--programs", required=True, type=os.path.abspath)
    parser.add_argument("--record", type=os.path.abspath)
    parser.add_argument("--keep", action="store_true", help="leave the folder with the logs")
    return parser.parse_args()


def main():
    options = parse_arguments()
    reason = why_not() or next((f"{name} is not installed" for name in ("runc", "busybox", "kubectl")
                                if not shutil.which(name)), None)
    if reason:
        print("skipped:", reason)
        return SKIP
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix="koord-kubelet-")
    test = KubeletTest(options, folder)
    failed = None
    for step in test.steps():
        try:
            step()
            print("ok  ", step.__name__.replace("_", " "), flush=True)
        except (Failure, subprocess.CalledProcessError) as error:
            failed = f"{step.__name__}: {error}"
            print("FAIL", failed, flush=True)
            break
    if failed:
        test.clean_up()
        print("logs:", folder)
    elif not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
