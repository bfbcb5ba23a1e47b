#!/usr/bin/env python3
"""The co-location loop on this machine, end to end, with the real programs and the real kubectl.

Every wait polls a condition and has a limit; exit status 77 means that this machine cannot run it.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from waiting import SKIP, Failure, check, wait_until

NAMESPACE = "colocation-demo"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def amount(quantity):
    """A whole number as the API writes it: 18000 is 18k."""
    return int(quantity[:-1]) * 1000 if quantity.endswith("k") else int(quantity)


class Cgroups:
    """Where the values of a cgroup are, on either version."""

    def __init__(self):
        self.v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")

    def dir(self, controller, path):
        return os.path.join("/sys/fs/cgroup", "" if self.v2 else controller, path)

    def shares(self, path):
        if not self.v2:
            return int(read(self.dir("cpu", path) + "/cpu.shares"))
        weight = int(read(self.dir("cpu", path) + "/cpu.weight"))
        return (weight - 1) * 262142 // 9999 + 2

    def quota(self, path):
        if not self.v2:
            return int(read(self.dir("cpu", path) + "/cpu.cfs_quota_us"))
        limit = read(self.dir("cpu", path) + "/cpu.max").split()[0]
        return -1 if limit == "max" else int(limit)

    def memory(self, path):
        name = "memory.max" if self.v2 else "memory.limit_in_bytes"
        limit = read(self.dir("memory", path) + "/" + name)
        return -1 if limit == "max" or int(limit) >= 0x7FFFFFFFFFFFF000 else int(limit)

    def cpus(self, path):
        return read(self.dir("cpuset", path) + ("/cpuset.cpus.effective" if self.v2 else "/cpuset.cpus"))

    def processes(self, path):
        return [int(pid) for pid in read(self.dir("cpu", path) + "/cgroup.procs").split()]

    def left_over(self):
        roots = ["/sys/fs/cgroup"] if self.v2 else [
            os.path.join("/sys/fs/cgroup", name) for name in os.listdir("/sys/fs/cgroup")]
        return [os.path.join(root, "kubepods") for root in roots
                if os.path.isdir(os.path.join(root, "kubepods"))]


class Cluster:
    """One data folder and the koordctl that runs on it."""

    def __init__(self, programs, folder, *options):
        self.programs = programs
        self.folder = folder
        self.options = options
        self.data = os.path.join(folder, "data")
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        self.process = None

    def command(self, *more):
        return [os.path.join(self.programs, "koordctl"), "up", "--quiet", "--data-dir", self.data,
                "--kubeconfig", self.kubeconfig, *self.options, *more]

    def start(self, *more):
        self.process = subprocess.Popen(self.command("--listen", "127.0.0.1:0", *more),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        begun = time.monotonic()
        line = self.process.stdout.readline()
        if line != "ready\n":
            raise Failure(f"koordctl up said {line!r}: {self.process.stderr.read()}{self.log_tail()}")
        return time.monotonic() - begun

    def stop(self):
        if not self.process:
            return
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=30)
        self.process = None
        check(status == 0, f"koordctl ended with status {status}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def log_tail(self):
        text = ""
        folder = os.path.join(self.data, "logs")
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                text += f"\n--- {name}\n" + "".join(file.readlines()[-15:])
        return text

    def kubectl(self, *arguments, stdin=None, fails=False):
        try:
            run = subprocess.run(["kubectl", "--kubeconfig", self.kubeconfig, *arguments], input=stdin,
                                 capture_output=True, text=True, timeout=90, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"kubectl {' '.join(arguments)} did not end; {late.stdout or 'it wrote no output'}") from late
        if fails:
            check(run.returncode != 0, f"kubectl {arguments} should have failed: {run.stdout}")
            return run.stderr
        if run.returncode != 0:
            raise Failure(f"kubectl {' '.join(arguments)}: {run.stderr.strip()}")
        return run.stdout

    def get(self, *arguments):
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def pods(self, *arguments):
        return self.get("pods", "-n", NAMESPACE, *arguments)["items"]

    def make_room_for_batch(self):
        """The machine may be busy with other things than this test: whatever it uses, there is batch CPU."""
        config = {"data": {
            "colocation-config": json.dumps({"enable": True, "cpuReclaimThresholdPercent": 1000,
                                             "memoryReclaimThresholdPercent": 100,
                                             "metricReportIntervalSeconds": 30}),
            "resource-threshold-config": json.dumps({"clusterStrategy": {
                "enable": True, "cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 100}})}}
        self.kubectl("patch", "configmap", "slo-controller-config", "-n", "koordinator-system",
                     "--type=merge", "-p", json.dumps(config))

    def child(self, name):
        """The process id of a component."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    command = file.read().split(b"\0")
            except OSError:
                continue
            program = os.path.basename(command[0]).decode()
            if program == name and any(self.data.encode() in part for part in command):
                return int(pid)
        return None

    def processes(self, *more):
        return [name for name in ("koord-manager", "koord-scheduler", "koordlet", *more) if self.child(name)]

    def koordlet(self):
        pid = self.child("koordlet")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            address = [part for part in file.read().split(b"\0") if part.startswith(b"--addr=")][0]
        return "http://" + address[len(b"--addr="):].decode()

    def qos(self):
        with urllib.request.urlopen(self.koordlet() + "/apis/v1/qos", timeout=3) as reply:
            return json.load(reply)["cpuSuppress"]


def running(pods, count):
    ready = [pod for pod in pods if pod["status"].get("phase") == "Running"
             and not pod["metadata"].get("deletionTimestamp")]
    return ready if len(ready) == count and len(pods) == count else None


def container_cgroup(pod):
    qos = {"BestEffort": "besteffort/", "Burstable": "burstable/", "Guaranteed": ""}
    container = pod["status"]["containerStatuses"][0]["containerID"].split("://")[1]
    folder = f"kubepods/{qos[pod['status']['qosClass']]}pod{pod['metadata']['uid']}"
    return folder, f"{folder}/{container}"


class Test:
    def __init__(self, programs, source, folder):
        self.cluster = Cluster(programs, folder)
        self.source = source
        self.folder = folder
        self.cgroups = Cgroups()
        self.node = os.uname().nodename.lower()
        self.rounds = 1

    def steps(self):
        return (self.comes_up, self.shows_batch_resources, self.pod_is_mutated_and_runs,
                self.cgroups_hold_what_was_asked, self.cgroups_hold_it_each_time, self.logs_are_read,
                self.best_effort_gives_way, self.volumes_and_probes_work, self.bad_input_is_refused,
                self.survives_kill_9_of_each_process, self.deletes_pods, self.leaves_nothing_behind)

    def comes_up(self):
        print(f"     ready {self.cluster.start():.2f} s after koordctl up", flush=True)
        nodes = self.cluster.get("nodes")["items"]
        check([node["metadata"]["name"] for node in nodes] == [self.node], f"nodes: {nodes}")
        self.cluster.make_room_for_batch()
        for name in ("00-namespace.yaml", "10-profiles.yaml"):
            self.cluster.kubectl("apply", "-f", os.path.join(self.source, "examples/colocation", name))

    def shows_batch_resources(self):
        def batch():
            allocatable = self.cluster.get("node", self.node)["status"]["allocatable"]
            return amount(allocatable["kubernetes.io/batch-cpu"]) > 1000

        wait_until("kubernetes.io/batch-cpu in allocatable", batch, 90, 1)

    def workloads(self):
        with open(os.path.join(self.source, "tests/integration/workloads.yaml"), encoding="utf-8") as file:
            return file.read().replace("@DIR@", self.folder)

    def pod_is_mutated_and_runs(self):
        text = self.workloads()
        begun = time.monotonic()
        self.cluster.kubectl("apply", "-f", "-", stdin=text)
        pods = wait_until("all pods run", lambda: running(self.cluster.pods(), 3), 30)
        print(f"     3 pods run {time.monotonic() - begun:.2f} s after kubectl apply", flush=True)
        for pod in pods:
            batch = pod["metadata"]["labels"]["app"] == "batch"
            check(pod["metadata"]["labels"]["koordinator.sh/qosClass"] == ("BE" if batch else "LS"),
                  f"QoS label: {pod['metadata']['labels']}")
            check(pod["spec"]["schedulerName"] == "koord-scheduler", "schedulerName is not set")
            check(pod["spec"]["nodeName"] == self.node, "not bound to this node")
            requests = pod["spec"]["containers"][0]["resources"]["requests"]
            if batch:
                check(requests.get("kubernetes.io/batch-cpu") == "250" and "cpu" not in requests,
                      f"requests are not translated: {requests}")

    def cgroups_hold_what_was_asked(self):
        values = self.cgroups
        # Weights of version 2 are coarser than shares.
        near = (lambda got, want: abs(got - want) <= 27) if values.v2 else (lambda got, want: got == want)
        for pod in self.cluster.pods():
            folder, container = container_cgroup(pod)
            check(values.processes(container), f"no process in {container}")
            if pod["metadata"]["labels"]["app"] == "service":
                expected = (512, 100000, 128 << 20)
            else:
                # While best effort as a whole is held by quota, its pods have none of their own.
                expected = (256, -1, 64 << 20)
            for path in (folder, container):
                def as_expected(path=path, expected=expected):
                    got = (values.shares(path), values.quota(path), values.memory(path))
                    check(near(got[0], expected[0]) and got[1:] == expected[1:], f"{got}, want {expected}")
                    return True

                wait_until(f"cpu shares, quota and memory limit of {path}", as_expected, 20)

    def cgroups_hold_it_each_time(self):
        """With --rounds: the pods are deleted and created again."""
        text = self.workloads()
        for number in range(1, self.rounds):
            self.cluster.kubectl("delete", "--grace-period=1", "--wait=true", "-f", "-", stdin=text)
            wait_until("the pods are gone", lambda: not self.cluster.pods(), 30)
            self.cluster.kubectl("apply", "-f", "-", stdin=text)
            wait_until("all pods run", lambda: running(self.cluster.pods(), 3), 30)
            self.cgroups_hold_what_was_asked()
            if number % 50 == 0:
                print(f"     {number} rounds", flush=True)

    def logs_are_read(self):
        kubectl = self.cluster.kubectl
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "talk"},
                    "spec": {"restartPolicy": "Never", "containers": [
                        {"name": "main", "image": "none",
                         "command": ["sh", "-c", "echo one; sleep 2; echo two >&2; printf three"]}]}}
        kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
        wait_until("the first line", lambda: kubectl("logs", "talk") == "one\n")
        check(kubectl("logs", "-f", "talk") == "one\ntwo\nthree\n", "kubectl logs -f does not follow to the end")
        check(kubectl("logs", "talk", "--tail=1") == "three\n", "--tail")
        check(kubectl("logs", "talk", "--limit-bytes=5").startswith("one\nt"), "--limit-bytes")
        check(kubectl("logs", "talk", "--since-time=2100-01-01T00:00:00Z") == "", "--since-time")
        stamped = kubectl("logs", "talk", "--timestamps").splitlines()
        check(all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}Z \w+", line) for line in stamped),
              f"--timestamps: {stamped}")
        kubectl("delete", "pod", "talk")

    def rounds_when(self, condition):
        """How many rounds of suppression koordlet has done, once the condition holds for what it says."""
        qos = self.cluster.qos()
        return qos["rounds"] if condition(qos) else None

    def calm(self):
        """Other programs leave best effort a good part of this machine."""
        qos = self.cluster.qos()
        return qos["systemUsedMilli"] < qos["nodeMilli"] * 0.4 and qos["budgetMilli"] > qos["nodeMilli"] * 0.4

    def stays_calm(self):
        return all(self.calm() for _ in range(5) if time.sleep(1) is None)

    def best_effort_gives_way(self):
        total = self.cluster.qos()["nodeMilli"]
        quota = lambda: self.cgroups.quota("kubepods/besteffort")
        try:
            wait_until("a calm machine", self.calm, 60, 0.5)
            wait_until("the quota of best effort grows to its budget",
                       lambda: quota() > max(total * 0.4, self.cluster.qos()["budgetMilli"] * 0.9) * 100, 60, 0.5)
        except Failure:
            # On a machine that stays calm the budget must be reached.
            if self.stays_calm():
                raise
            print("     skipped: other programs use most of this machine's CPUs", flush=True)
            return
        before, others = quota(), self.cluster.qos()["systemUsedMilli"]
        high = os.path.join(self.folder, "HIGH")
        with open(high, "w", encoding="utf-8"):
            pass
        wait_until("koordlet sees the load of the service",
                   lambda: self.cluster.qos()["lsUsedMilli"] > 500, 15, 0.02)
        less = lambda qos: qos["budgetMilli"] * 100 < before - 30000
        try:
            seen = wait_until("the budget of best effort falls", lambda: self.rounds_when(less), 15, 0.02)
        except Failure:
            # The service takes what others let go.
            if abs(self.cluster.qos()["systemUsedMilli"] - others) < 200:
                raise
            print("     skipped: the load of other programs changes too much", flush=True)
            return
        shrunk = wait_until("the quota of best effort shrinks",
                            lambda: self.rounds_when(lambda _: quota() < before - 30000), 15, 0.02)
        check(shrunk - seen <= 2, f"the quota shrank {shrunk - seen} suppress rounds after the budget fell")
        low = quota()
        os.unlink(high)
        wait_until("the quota of best effort grows back", lambda: quota() > low + 20000, 60, 0.2)

    def volumes_and_probes_work(self):
        from volumes_and_probes import VolumesAndProbes  # which uses this module
        VolumesAndProbes(self.cluster, self.folder, self.node).run()

    def bad_input_is_refused(self):
        cluster = self.cluster
        text = cluster.kubectl("apply", "-f", "-", fails=True, stdin=(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bad}\n"
            "spec: {replicas: three, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, "
            "spec: {containers: [{name: c, image: i}]}}}\n"))
        check("replicas" in text, f"the field is not named: {text}")
        text = cluster.kubectl("create", "--validate=false", "-f", "-", fails=True, stdin=(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\n"
            "spec: {containers: [{name: c, image: i, resources: {requests: {cpu: '-1'}}}]}\n"))
        check("requests[cpu]" in text or "requests" in text and "cpu" in text, f"the field is not named: {text}")

        slo = lambda: cluster.get("nodeslo", self.node)["spec"]["resourceUsedThresholdWithBE"]
        before = slo()
        broken = json.dumps({"data": {"resource-threshold-config": "{broken"}})
        cluster.kubectl("patch", "configmap", "slo-controller-config", "-n", "koordinator-system",
                        "--type=merge", "-p", broken)
        wait_until("an event about the broken section", lambda: [
            event for event in cluster.get("events", "-n", "koordinator-system")["items"]
            if "resource-threshold-config" in event["message"]], 20)
        check(slo() == before, "the last good configuration is not in force any more")
        good = json.dumps({"data": {"resource-threshold-config": json.dumps({"clusterStrategy": before})}})
        cluster.kubectl("patch", "configmap", "slo-controller-config", "-n", "koordinator-system",
                        "--type=merge", "-p", good)

        def refused(command, *words):
            run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False,
                                 env={**os.environ, "NODE_NAME": self.node})
            check(run.returncode not in (0, -signal.SIGSEGV, -signal.SIGABRT), f"{command} was taken")
            for word in words:
                check(word in run.stderr, f"{command}: {word!r} is not in: {run.stderr}")

        missing = os.path.join(self.folder, "no-kubeconfig")
        for name in ("koord-manager", "koord-scheduler", "koordlet"):
            refused([os.path.join(cluster.programs, name), "--kubeconfig=" + missing], missing)
        server = json.loads(cluster.kubectl("config", "view", "-o", "json"))["clusters"][0]["cluster"]["server"]
        other = Cluster(cluster.programs, os.path.join(self.folder, "other"))
        refused(other.command("--host-node=off", "--listen", server.removeprefix("https://")),
                "--listen", "in use")
        refused(cluster.command("--listen", "127.0.0.1:0"), "--data-dir", cluster.data)
        refused(other.command("--components", "koord-magic", "--listen", "127.0.0.1:0"), "koord-magic")

    def new_pod_runs(self, name):
        """What shows that the whole loop works: a batch pod is made, mutated, bound and started."""
        manifest = {"apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"tier": "batch", "app": "probe"}},
                    "spec": {"terminationGracePeriodSeconds": 1, "restartPolicy": "Never",
                             "containers": [{"name": "main", "image": "none", "command": ["sleep", "1000"],
                                             "resources": {"requests": {"cpu": "10m", "memory": "1Mi"},
                                                           "limits": {"cpu": "10m", "memory": "16Mi"}}}]}}

        def created():
            self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
            return True

        wait_until(f"pod {name} is accepted", created, 30, 0.3)
        pod = wait_until(f"pod {name} runs", lambda: [
            pod for pod in self.cluster.pods("-l", "app=probe")
            if pod["metadata"]["name"] == name and pod["status"].get("phase") == "Running"], 45)[0]
        check(pod["metadata"]["labels"].get("koordinator.sh/qosClass") == "BE", "the pod was not mutated")

    def survives_kill_9_of_each_process(self):
        cluster = self.cluster
        before = {pod["metadata"]["uid"]: pod for pod in cluster.pods()}

        def carried_on(restarted=()):
            pods = {pod["metadata"]["uid"]: pod for pod in cluster.pods() if pod["metadata"]["uid"] in before}
            check(pods.keys() == before.keys(), "a pod was lost")
            for uid, pod in pods.items():
                old = before[uid]
                name = pod["metadata"]["name"]
                check(pod["spec"]["nodeName"] == old["spec"]["nodeName"], f"{name} moved")
                check(pod["status"]["phase"] == "Running", f"{name} does not run")
                same = pod["status"]["containerStatuses"][0]["containerID"] == \
                    old["status"]["containerStatuses"][0]["containerID"]
                check(same or uid in restarted, f"{name} was started again")

        for name in ("koord-manager", "koord-scheduler", "koordlet"):
            pid = cluster.child(name)
            os.kill(pid, signal.SIGKILL)
            wait_until(f"{name} is started again", lambda n=name, p=pid: cluster.child(n) not in (None, p), 20)
            self.new_pod_runs("after-" + name)
            carried_on()
        wait_until("koordlet answers again", cluster.qos, 20)

        cluster.kill()
        wait_until("the components die with koordctl", lambda: not cluster.processes(), 10)
        for pod in before.values():
            check(self.cgroups.processes(container_cgroup(pod)[1]), "a container died with koordctl")
        cluster.start()
        carried_on()
        self.new_pod_runs("after-koordctl")

        # The shim of one container: that container ends with it and is started again.
        victim = next(pod for pod in before.values() if pod["metadata"]["labels"]["app"] == "service")
        main = self.cgroups.processes(container_cgroup(victim)[1])[0]
        shim = main
        while "shim" not in read(f"/proc/{shim}/cmdline").split("\0"):
            shim = int(read(f"/proc/{shim}/stat").rsplit(")", 1)[1].split()[1])
        os.kill(shim, signal.SIGKILL)

        def restarted():
            pod = cluster.get("pod", victim["metadata"]["name"], "-n", NAMESPACE)
            status = pod["status"]["containerStatuses"][0]
            return status.get("restartCount", 0) == 1 and "running" in status["state"]

        wait_until("the container of a killed shim runs again", restarted, 30)
        carried_on({victim["metadata"]["uid"]})

        bound = {}
        for event in cluster.get("events", "-n", NAMESPACE)["items"]:
            if event["reason"] == "Scheduled":
                uid = event["involvedObject"]["uid"]
                bound[uid] = bound.get(uid, 0) + event.get("count", 1)
        check(bound and max(bound.values()) == 1, f"bound twice: {bound}")

    def deletes_pods(self):
        self.cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=60s")
        wait_until("no pod cgroup is left", lambda: not [
            name for qos in ("", "burstable", "besteffort")
            for name in os.listdir(self.cgroups.dir("cpu", os.path.join("kubepods", qos)))
            if name.startswith("pod")], 15)
        check(os.listdir(os.path.join(self.cluster.data, "containers")) == [], "container folders are left")

    def leaves_nothing_behind(self):
        self.cluster.kubectl("run", "last", "--image=none", "--restart=Never", "--command", "--", "sleep", "1000")
        wait_until("the last pod runs",
                   lambda: self.cluster.get("pod", "last")["status"].get("phase") == "Running", 20)
        self.cluster.stop()
        check(not self.cgroups.left_over(), f"cgroups are left: {self.cgroups.left_over()}")
        left = self.cluster.processes("koordctl")
        check(not left, f"processes are left: {left}")


# Programs of a host node with containerd, and their Debian packages.
CONTAINERD_PACKAGES = {"containerd": "containerd", "runc": "runc", "busybox": "busybox-static"}


def why_not(packages=None):
    """Why this machine cannot run a test; None if it can. `packages`: further programs, by name, with their packages."""
    if os.geteuid() != 0:
        return "needs root"
    for program, package in {"kubectl": "kubernetes-client", **(packages or {})}.items():
        if not shutil.which(program):
            return f"{program} is not installed (Debian package {package})"
    probes = ["/sys/fs/cgroup"] if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else [
        "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/memory"]
    for root in probes:
        probe = os.path.join(root, "koord-integration-probe")
        try:
            os.mkdir(probe)
            os.rmdir(probe)
        except OSError as error:
            return f"cgroups cannot be made: {error}"
    return None


def arguments(what):
    parser = argparse.ArgumentParser(description=what.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder with koordctl and the components")
    parser.add_argument("--source", required=True, help="the repository")
    parser.add_argument("--keep", action="store_true", help="keep the test's folder")
    parser.add_argument("--rounds", type=int, default=1, help="how many times the pods are created and their cgroups read")
    return parser.parse_args()


def run_in_folder(kind, options):
    """Runs a test's steps in a folder of its own; the exit status."""
    folder = tempfile.mkdtemp(prefix="koord-integration-")
    test = kind(os.path.abspath(options.programs), os.path.abspath(options.source), folder)
    test.rounds = options.rounds
    try:
        for step in test.steps():
            begun = time.monotonic()
            step()
            print(f"ok   {step.__name__.replace('_', ' ')} ({time.monotonic() - begun:.1f} s)", flush=True)
        return 0
    except Failure as failure:
        print(f"FAILED: {failure}{test.cluster.log_tail()}", file=sys.stderr)
        return 1
    finally:
        try:
            test.cluster.stop()
        finally:
            if options.keep:
                print("kept", folder)
            else:
                shutil.rmtree(folder, ignore_errors=True)


def run_if_possible(kind, what, reason):
    """A test's main function. `reason`: why this machine cannot run it; None if it can."""
    options = arguments(what)
    if reason:
        print("skipped:", reason)
        return SKIP
    return run_in_folder(kind, options)


if __name__ == "__main__":
    import one_machine  # under the name by which others import it

    sys.exit(one_machine.run_if_possible(one_machine.Test, __doc__, why_not()))
