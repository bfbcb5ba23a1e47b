#!/usr/bin/env python3
"""The co-location loop on a machine with two sockets and cgroup version 2, which QEMU emulates.

    koordlet_v2.py --programs FOLDER [--kernel-root FOLDER]

Ends with 77 and says what is missing where there is no QEMU or kernel. Every wait polls a condition and has a limit.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import machine

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "integration"))
import waiting  # noqa: E402
from waiting import SKIP, Failure, check  # noqa: E402

PROGRAMS = ("koordctl", "koordlet", "koord-manager", "koord-scheduler")
GATES = ("BEMemoryEvict", "CgroupReconcile", "BlkIOReconcile", "PSICollector")
MIB = 1 << 20


def wait_until(what, condition, limit=60.0):
    """An emulated machine takes its time, and a question costs it some."""
    return waiting.wait_until(what, condition, limit, pause=0.3)


def cpus(text):
    """The CPUs of a list such as 0-3,6."""
    found = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def pod(name, qos, resources, command, priority="koord-prod", annotations=None):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"koordinator.sh/qosClass": qos},
                         "annotations": annotations or {}},
            "spec": {"schedulerName": "koord-scheduler", "priorityClassName": priority,
                     "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False,
                     "containers": [{"name": "main", "image": "none", "command": ["sh", "-c", command],
                                     "resources": resources}]}}


def prod(cpu, memory, limit=None):
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": limit or {"cpu": cpu, "memory": memory}}


def batch(cpu, memory):
    resources = {"kubernetes.io/batch-cpu": cpu, "kubernetes.io/batch-memory": memory}
    return {"requests": resources, "limits": resources}


# Busy with three CPUs while /tmp/HIGH is there.
SERVICE = ("while :; do if [ -e /tmp/HIGH ]; then "
           "for i in 1 2 3; do timeout 1 sh -c 'while :; do :; done' & done; wait; else sleep 0.2; fi; done")
# Reads from the disk, a little.
BATCH = "while :; do dd if=/dev/vda of=/dev/null bs=64k count=1 iflag=direct 2>/dev/null; sleep 0.2; done"
# Holds so many MiB: dd has read its block, and nobody takes it.
HOG = "dd if=/dev/zero bs=600M count=1 2>/dev/null | sleep 100000"

# Of eight CPUs best effort may have six: what an emulated machine needs for itself, up to 1.8, must not take one of them.
THRESHOLDS = {"enable": True, "cpuSuppressPolicy": "cpuset", "cpuSuppressThresholdPercent": 85,
              "memoryEvictThresholdPercent": 95}
DISK = {"name": "/dev/vda", "type": "device", "ioCfg": {"readIOPS": 50, "ioWeightPercent": 60}}
QOS = {"lsClass": {"memoryQOS": {"enable": True, "minLimitPercent": 50, "lowLimitPercent": 60,
                                 "throttlingPercent": 80}},
       "beClass": {"memoryQOS": {"enable": True, "throttlingPercent": 50},
                   "blkioQOS": {"enable": True, "blocks": [DISK]}},
       "cgroupRoot": {"blkioQOS": {"enable": True, "blocks": [DISK]}}}


class Cluster:
    """koordctl up and koordlet in a machine, and kubectl outside of it."""

    def __init__(self, vm, folder):
        self.vm = vm
        self.kubeconfig = os.path.join(folder, "kubeconfig")

    def start(self):
        self.vm.sh("setsid /koord/koordctl up --quiet --listen 0.0.0.0:6443 --data-dir /tmp/koord "
                   "--kubeconfig /root/kubeconfig --components koord-manager,koord-scheduler "
                   ">/tmp/up.log 2>&1 </dev/null &")
        wait_until("koordctl up", lambda: self.vm.sh("cat /tmp/up.log") == "ready", 120)
        text = self.vm.sh("cat /root/kubeconfig")
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            for line in text.splitlines():
                if line.strip().startswith("server:"):
                    line = line.split("server:")[0] + f"server: https://127.0.0.1:{self.vm.api_port}"
                file.write(line + "\n")

    def start_koordlet(self):
        self.vm.sh("NODE_NAME=vm agent_mode=hostMode setsid /koord/koordlet --kubeconfig=/root/kubeconfig "
                   "--addr=127.0.0.1:9316 --tsdb-path=/tmp/koordlet/metrics "
                   "--prediction-checkpoint-filepath=/tmp/koordlet/predictions --enable-nri-runtime-hook=false "
                   f"--runtime-hooks-addr= --feature-gates={','.join(gate + '=true' for gate in GATES)} "
                   ">>/tmp/koordlet.log 2>&1 </dev/null & echo $! >/tmp/koordlet.pid")

    def kubectl(self, *arguments, stdin=None):
        run = subprocess.run(["kubectl", "--kubeconfig", self.kubeconfig, *arguments], input=stdin,
                             capture_output=True, text=True, timeout=60, check=False)
        if run.returncode != 0:
            raise Failure(f"kubectl {' '.join(arguments)}: {run.stderr.strip()}")
        return run.stdout

    def get(self, *arguments):
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List",
                                                           "items": list(objects)}))

    def configure(self, thresholds):
        data = {"colocation-config": {"enable": True, "metricReportIntervalSeconds": 30,
                                      "cpuReclaimThresholdPercent": 100, "memoryReclaimThresholdPercent": 100},
                "resource-threshold-config": {"clusterStrategy": thresholds},
                "resource-qos-config": {"clusterStrategy": QOS},
                "cpu-burst-config": {"clusterStrategy": {"policy": "auto"}}}
        self.kubectl("patch", "configmap", "slo-controller-config", "-n", "koordinator-system", "--type=merge",
                     "-p", json.dumps({"data": {key: json.dumps(value) for key, value in data.items()}}))

    def running(self, name):
        found = self.get("pod", name)
        check(found["status"].get("phase") == "Running", f"{name}: {found['status']}")
        return found

    def koordlet(self, path):
        return self.vm.sh(f"wget -qO- http://127.0.0.1:9316{path}")

    def suppress(self):
        return json.loads(self.koordlet("/apis/v1/qos"))["cpuSuppress"]


class Test:
    def __init__(self, vm, folder):
        self.vm = vm
        self.cluster = Cluster(vm, folder)
        self.dirs = {}  # cgroups of the pods, by name: (pod, container)

    def steps(self):
        return (self.comes_up, self.topology_is_published, self.pods_have_their_cpus,
                self.limits_are_in_the_kernel, self.memory_is_protected, self.the_disk_is_shared,
                self.pressure_is_measured, self.best_effort_gives_way, self.policies_change_places,
                self.survives_kill_9, self.memory_is_relieved, self.nothing_was_refused)

    def value(self, path, file):
        return self.vm.sh(f"cat /sys/fs/cgroup/{path}/{file}")

    def find(self, name):
        found = self.cluster.running(name)
        qos = {"BestEffort": "besteffort/", "Burstable": "burstable/", "Guaranteed": ""}[found["status"]["qosClass"]]
        folder = f"kubepods/{qos}pod{found['metadata']['uid']}"
        container = found["status"]["containerStatuses"][0]["containerID"].split("://")[1]
        self.dirs[name] = (folder, f"{folder}/{container}")
        return found

    def comes_up(self):
        self.cluster.start()
        self.cluster.configure(THRESHOLDS)
        self.cluster.start_koordlet()
        wait_until("koordlet is ready", lambda: self.cluster.koordlet("/healthz"), 60)

    def topology_is_published(self):
        topology = wait_until("NodeResourceTopology", lambda: self.cluster.get("noderesourcetopology", "vm"))
        detail = json.loads(topology["metadata"]["annotations"]["node.koordinator.sh/cpu-topology"])["detail"]
        want = [{"id": cpu, "core": cpu // 2, "socket": cpu // 4, "node": cpu // 4} for cpu in range(8)]
        check(detail == want, f"CPU topology: {detail}")
        check([zone["name"] for zone in topology["zones"]] == ["node-0", "node-1"], f"zones: {topology['zones']}")
        for zone in topology["zones"]:
            cpu = [entry["capacity"] for entry in zone["resources"] if entry["name"] == "cpu"]
            check(cpu == ["4"], f"CPUs of {zone['name']}: {cpu}")

    def pods_have_their_cpus(self):
        wait_until("batch CPU", lambda: int(
            self.cluster.get("node", "vm")["status"]["allocatable"]["kubernetes.io/batch-cpu"]) > 3000, 90)
        self.cluster.apply(
            pod("lse", "LSE", prod("2", "32Mi"), "sleep 100000", annotations={
                "scheduling.koordinator.sh/resource-spec": json.dumps({"preferredCPUBindPolicy": "FullPCPUs"})}),
            pod("lsr", "LSR", prod("1", "32Mi"), "sleep 100000"),
            pod("service", "LS", prod("1", "64Mi", {"cpu": "3", "memory": "128Mi"}), SERVICE),
            pod("batch", "BE", batch("1000", "64Mi"), BATCH, "koord-batch"))
        owned = {}
        for name in ("lse", "lsr", "service", "batch"):
            found = wait_until(f"{name} runs", lambda name=name: self.find(name))
            status = found["metadata"]["annotations"].get("scheduling.koordinator.sh/resource-status", "{}")
            owned[name] = cpus(json.loads(status).get("cpuset", ""))
        check(len(owned["lse"]) == 2 and len({cpu // 2 for cpu in owned["lse"]}) == 1,
              f"lse has {owned['lse']}, not both threads of a core")
        self.lse = owned["lse"]
        effective = lambda name: cpus(self.value(self.dirs[name][1], "cpuset.cpus.effective"))
        for name in ("lse", "lsr"):
            wait_until(f"{name} is held to {owned[name]}", lambda name=name: effective(name) == owned[name])
        shared = set(range(8)) - owned["lse"] - owned["lsr"]
        wait_until(f"the service is held to {shared}", lambda: effective("service") == shared)
        wait_until("best effort does not get the CPUs of lse", lambda: not effective("batch") & owned["lse"])
        check(self.value(self.dirs["lse"][1], "cpu.max").split()[0] == "max", "the quota of pinned pods is lifted")

    def limits_are_in_the_kernel(self):
        for path in self.dirs["batch"]:
            check(self.value(path, "cpu.weight") == "39", f"cpu.weight: {self.value(path, 'cpu.weight')}")
            check(self.value(path, "cpu.max") == "100000 100000", f"cpu.max: {self.value(path, 'cpu.max')}")
            check(self.value(path, "memory.max") == str(64 * MIB), "memory.max")
        # This kernel lets nobody save up more than a quota.
        for path in self.dirs["service"]:
            wait_until("bursts", lambda path=path: self.value(path, "cpu.max.burst") == "300000")

    def memory_is_protected(self):
        want = {"memory.min": 32 * MIB, "memory.low": 64 * MIB * 60 // 100 // 4096 * 4096,
                "memory.high": (64 * MIB + 64 * MIB * 80 // 100) // 4096 * 4096}
        folder, container = self.dirs["service"]
        for file, amount in want.items():
            wait_until(f"{file} of the service",
                       lambda file=file, amount=amount: int(self.value(container, file)) == amount)
        for path in (folder, "kubepods/burstable", "kubepods"):
            check(int(self.value(path, "memory.min")) == 32 * MIB, f"memory.min of {path}")

    def the_disk_is_shared(self):
        lines = lambda file: self.value("", file).splitlines()
        disk = self.vm.sh("cat /sys/block/vda/dev")
        wait_until("io.max", lambda: self.value("kubepods/besteffort", "io.max") ==
                   f"{disk} rbps=max wbps=max riops=50 wiops=max")
        wait_until("io.cost.qos", lambda: any(line.startswith(f"{disk} enable=1") for line in lines("io.cost.qos")))
        wait_until("io.weight", lambda: f"{disk} 60" in self.value("kubepods/besteffort", "io.weight"))

    def pressure_is_measured(self):
        uid = self.dirs["batch"][0].rpartition("pod")[2]
        wait_until("PSI of the batch pod", lambda: [
            line for line in self.cluster.koordlet("/metrics").splitlines()
            if line.startswith("koordlet_pod_psi{") and uid in line and 'psi_resource_type="io"' in line], 30)

    def best_effort_gives_way(self):
        best_effort = lambda: cpus(self.value(self.dirs["batch"][1], "cpuset.cpus.effective"))
        calm = set(range(8)) - self.lse

        def all_of_them():
            check(best_effort() == calm, f"{sorted(best_effort())}: {self.cluster.suppress()['reason']}")
            return True

        wait_until("a calm machine: best effort has what it may have", all_of_them, 60)
        self.vm.sh("touch /tmp/HIGH")
        wait_until("koordlet sees the load", lambda: self.cluster.suppress()["lsUsedMilli"] > 1000)
        narrow = wait_until("best effort is narrowed", lambda: best_effort() if len(best_effort()) <= 4 else None)
        check(not narrow & self.lse, f"best effort on CPUs of lse: {narrow}")
        for path in ("kubepods/besteffort", self.dirs["batch"][0]):
            check(cpus(self.value(path, "cpuset.cpus")) == best_effort(), f"{path} differs from its containers")
        status = self.cluster.suppress()
        chosen = cpus(status["beCpuset"])
        pairs = [cpu for cpu in chosen if cpu ^ 1 in chosen]
        check(len(pairs) >= len(chosen) - len(chosen) % 2 or len(chosen) <= 2, f"not whole cores: {chosen}")
        check(len({cpu // 4 for cpu in chosen}) == 2 or len(chosen) <= 2, f"on one socket only: {chosen}")
        self.vm.sh("rm /tmp/HIGH")
        wait_until("best effort gets its CPUs back", all_of_them, 60)

    def policies_change_places(self):
        quota = lambda path: self.value(path, "cpu.max").split()[0]
        self.cluster.configure({**THRESHOLDS, "cpuSuppressPolicy": "cfsQuota"})
        wait_until("a quota for best effort", lambda: quota("kubepods/besteffort") != "max")
        wait_until("pods of best effort without quota", lambda: {quota(p) for p in self.dirs["batch"]} == {"max"})
        wait_until("CPUs of best effort back", lambda: cpus(
            self.value(self.dirs["batch"][1], "cpuset.cpus.effective")) == set(range(8)) - self.lse)
        self.cluster.configure(THRESHOLDS)
        wait_until("no quota for best effort", lambda: quota("kubepods/besteffort") == "max")
        wait_until("pods with quota", lambda: {quota(path) for path in self.dirs["batch"]} == {"100000"})

    def survives_kill_9(self):
        pid = self.vm.sh("cat /tmp/koordlet.pid")
        self.vm.sh(f"kill -9 {pid}")
        container = self.dirs["lse"][1]
        self.vm.sh(f"echo 0-7 >/sys/fs/cgroup/{container}/cpuset.cpus")
        self.cluster.start_koordlet()
        wait_until("CPUs of lse are mended", lambda: cpus(self.value(container, "cpuset.cpus")) == self.lse)
        check(self.vm.sh("find /tmp/koordlet -name '*.tmp*'") == "", "half-written files")

    def memory_is_relieved(self):
        self.cluster.apply(pod("hog", "BE", batch("500", "800Mi"), HOG, "koord-batch"))
        wait_until("hog runs", lambda: self.find("hog"))
        wait_until("hog has its memory", lambda: int(self.value(self.dirs["hog"][0], "memory.current")) > 590 * MIB)
        self.cluster.configure({**THRESHOLDS, "memoryEvictThresholdPercent": 45})
        wait_until("hog is gone", lambda: "hog" not in [
            found["metadata"]["name"] for found in self.cluster.get("pods")["items"]
            if found["status"].get("phase") == "Running"])
        wait_until("its cgroup is gone", lambda: self.vm.sh(f"ls -d /sys/fs/cgroup/{self.dirs['hog'][0]}",
                                                           fails=True).endswith("No such file or directory"))
        events = [event["reason"] for event in self.cluster.get("events")["items"]
                  if event["involvedObject"]["name"] == "hog"]
        check("evictPodSuccess" in events, f"events of hog: {events}")

    def nothing_was_refused(self):
        log = self.vm.sh("cat /tmp/koordlet.log")
        refused = [line for line in log.splitlines() if " not set (" in line or "Invalid argument" in line
                   and "limits bursts to the quota" not in line]
        check(not refused, "values that the kernel refused: " + "\n".join(refused))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--kernel-root", action="append", default=[],
                        help="where boot/vmlinuz-*-cloud-amd64 may be, besides / and $KOORD_VM_ROOT")
    options = parser.parse_args()
    roots = [*filter(None, [os.environ.get("KOORD_VM_ROOT")]), *options.kernel_root, "/"]
    missing = machine.why_not(roots)
    if not missing and not shutil.which("kubectl"):
        missing = "kubectl is not installed"
    if missing:
        print(f"skipped: {missing}")
        return SKIP
    folder = tempfile.mkdtemp(prefix="koord-vm-")
    vm = machine.Machine(folder, roots, [os.path.join(options.programs, name) for name in PROGRAMS])
    begun = time.monotonic()
    try:
        vm.start()
        print(f"ok   the machine runs ({time.monotonic() - begun:.1f} s)", flush=True)
        test = Test(vm, folder)
        for step in test.steps():
            started = time.monotonic()
            step()
            print(f"ok   {step.__name__} ({time.monotonic() - started:.1f} s)", flush=True)
    except (Failure, OSError, RuntimeError) as error:
        print(f"FAIL {error}", flush=True)
        try:
            print(vm.sh("tail -n 30 /tmp/koordlet.log; tail -n 5 /tmp/koord/logs/*", fails=True))
        except OSError:
            print(vm.console())
        return 1
    finally:
        vm.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
