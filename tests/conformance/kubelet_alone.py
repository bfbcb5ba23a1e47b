#!/usr/bin/env python3
"""koordlet beside a real kubelet with the static CPU manager, on a real kube-apiserver, with no hook in the runtime.

Measured is how soon after its start a best-effort container has its values, how long it is without them when kubelet
resets it, and whether it ever has a CPU that kubelet gave to somebody else. Policies of suppression change places, memory
is taken back from a pod that a budget protects, kubelet hangs, refuses everybody, and comes back. koordlet has the
rights of deploy/manifests and no others, also towards kubelet; until kubelet refuses, nothing that it asks may be refused.

    tests/conformance/kubelet_alone.py --kubelet FILE --apiserver FILE --etcd FILE --programs build/release/bin

Exit status 77: this machine cannot.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/integration"))

from kube_apiserver import KubeApiserver, free_port  # noqa: E402
from kubelet import KUBELET, Node  # noqa: E402
from one_machine import NAMESPACE, SKIP, Cgroups, Failure, amount, check, running, wait_until, why_not  # noqa: E402
from samples import BEST_EFFORT, Samples, milliseconds, now  # noqa: E402

LIMIT = 0.1  # seconds from a container's first instruction to its values
MENDED = 1.0  # seconds that a reset may last
TAKEN = 1.5  # seconds from kubelet's choice of CPUs until best effort has left them: koordlet looks once a second


# How kubelet knows who asks; the last two refuse everybody, as unknown and as not allowed to.
BY_WEBHOOK = "anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %s}"
NOBODY = "anonymous: {enabled: false}, webhook: {enabled: false}"
ANYBODY_AND_NOTHING = "anonymous: {enabled: true}, webhook: {enabled: false}"


class WebhookNode(Node):
    """Whose kubelet asks the API server who a caller is and what he may do."""

    node_kubeconfig = authority = None

    def start_kubelet(self, authentication=None):
        text = KUBELET.format(socket=self.at("containerd.sock"), folder=self.folder, port=self.port)
        for old, new in (("anonymous: {enabled: true}, webhook: {enabled: false}",
                          authentication or BY_WEBHOOK % self.authority),
                         ("mode: AlwaysAllow", "mode: Webhook"),
                         ("cpuManagerPolicy: none", "cpuManagerPolicy: static\nreservedSystemCPUs: '0'")):
            check(old in text, f"no {old} in kubelet's configuration")
            text = text.replace(old, new)
        pathlib.Path(self.at("kubelet.yaml")).write_text(text, encoding="utf-8")
        self.start("kubelet", self.kubelet, "--config=" + self.at("kubelet.yaml"),
                   "--kubeconfig=" + self.node_kubeconfig, "--root-dir=" + self.at("kubelet"),
                   "--cert-dir=" + self.at("certificates"), "--v=2")
        wait_until("kubelet is healthy", self.healthy, 60)

    def start_koordlet(self, node):
        self.address = f"127.0.0.1:{free_port()}"
        os.makedirs(self.at("kubelet"), exist_ok=True)
        self.start("koordlet", os.path.join(self.programs, "koordlet"), "--kubeconfig=" + self.kubeconfig,
                   "--addr=" + self.address, "--tsdb-path=" + self.at("tsdb"), "--enable-nri-runtime-hook=false",
                   "--prediction-checkpoint-filepath=" + self.at("predictions"), "--runtime-hooks-addr=",
                   *self.where_things_are(), NODE_NAME=node, agent_mode="hostMode")

    def where_things_are(self):
        return ("--kubelet-preferred-address-type=Hostname", "--var-lib-kubelet-dir=" + self.at("kubelet"),
                "--containerd-endpoint=" + self.at("containerd.sock"),
                "--feature-gates=BECPUEvict=true,BEMemoryEvict=true,CgroupReconcile=true,Accelerators=true")

    def doctor(self):
        """What koordctl doctor node finds, and its exit status."""
        run = subprocess.run([os.path.join(self.programs, "koordctl"), "doctor", "node", "--kubeconfig",
                              self.kubeconfig, "--", *self.where_things_are()],
                             capture_output=True, text=True, timeout=30, check=False)
        return run.stdout + run.stderr, run.returncode

    def ask_koordlet(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=3) as reply:
            return reply.read().decode()


def seconds_ago(text):
    return time.time() - datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def cpus_of(text):
    cpus = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


class KubeletAloneTest:
    def __init__(self, options, folder):
        self.cluster = KubeApiserver(options.programs, folder, options.apiserver, options.etcd)
        os.makedirs(os.path.join(folder, "node"))
        self.node = WebhookNode(options.programs, options.kubelet, os.path.join(folder, "node"), None, None)
        self.name = os.uname().nodename.lower()
        self.cgroups = Cgroups()
        self.samples = Samples(self.cgroups, has_values)
        self.exclusive = set()
        self.count = 8

    def steps(self):
        return (self.comes_up, self.joins, self.limits_come_without_hooks, self.exclusive_cpus_stay_exclusive,
                self.resets_are_mended, self.fights_are_reported, self.policies_change_places, self.kubelet_hangs,
                self.memory_is_relieved, self.nothing_is_refused, self.kubelet_refuses, self.leaves)

    def comes_up(self):
        self.cluster.start()
        self.node.kubeconfig = self.cluster.as_role("koordlet")
        self.node.node_kubeconfig = self.cluster.as_node(self.name)
        self.node.authority = self.cluster.at("ca.crt")
        self.node.prepare()
        self.node.start_koordlet(self.name)

    def joins(self):
        self.node.start_kubelet()
        wait_until("the node is ready", lambda: self.condition("Ready") == "True", 60)
        self.configure()
        for name in ("00-namespace.yaml", "10-profiles.yaml"):
            self.cluster.kubectl("apply", "-f", str(SOURCE / "examples/colocation" / name))
        for namespace in ("default", NAMESPACE):  # a controller's work
            self.cluster.kubectl("create", "serviceaccount", "default", "-n", namespace)
        wait_until("the policy on the node", lambda: self.cluster.get("nodeslo", self.name)["spec"][
            "resourceUsedThresholdWithBE"]["cpuSuppressPolicy"] == "cpuset", 60)
        wait_until("kubernetes.io/batch-cpu in allocatable", lambda: amount(self.cluster.get("node", self.name)[
            "status"]["allocatable"]["kubernetes.io/batch-cpu"]) > 300, 120, 1)
        self.samples.start()

    def configure(self, **thresholds):
        """Resources for batch pods, suppression by CPUs, no evictions: and what is given otherwise."""
        strategy = {"enable": True, "cpuSuppressPolicy": "cpuset", "cpuSuppressThresholdPercent": 100,
                    "memoryEvictThresholdPercent": 100, **thresholds}
        colocation = {"enable": True, "cpuReclaimThresholdPercent": 1000, "memoryReclaimThresholdPercent": 100,
                      "metricReportIntervalSeconds": 10}
        config = {"data": {"colocation-config": json.dumps(colocation),
                           "resource-threshold-config": json.dumps({"clusterStrategy": strategy})}}
        self.cluster.kubectl("patch", "configmap", "slo-controller-config", "-n", "koordinator-system", "--type=merge",
                             "-p", json.dumps(config))

    def log(self, name="koordlet"):
        return pathlib.Path(self.node.at(name + ".log")).read_text(encoding="utf-8")

    def condition(self, kind):
        conditions = self.cluster.get("node", self.name)["status"]["conditions"]
        return next(entry["status"] for entry in conditions if entry["type"] == kind)

    def start_pods(self, *names, text=None):
        self.cluster.kubectl("apply", "-f", "-", stdin=text or "---\n".join(
            best_effort(name, self.name) for name in names))
        return wait_until(f"{names} run", lambda: [pod for pod in running_of(self.cluster.pods(), names)], 120)

    def path_of(self, pod):
        identity = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
        return f"{BEST_EFFORT}/pod{pod['metadata']['uid']}/{identity}"

    def limits_come_without_hooks(self):
        late = []
        for i in range(self.count):
            pod = self.start_pods(f"first-{i}")[0]
            path = self.path_of(pod)
            right = wait_until(f"the values of {path}", lambda path=path: self.samples.right_since(path), 30)
            late.append(right - self.first_instruction(pod))
            check(pod["status"]["containerStatuses"][0]["restartCount"] == 0, f"{path} did not start at once")
        print(self.samples.report(late), flush=True)
        check(statistics.median(late) < LIMIT, f"values came {milliseconds(late)} ms after the first instruction")

    def first_instruction(self, pod):
        name = pod["metadata"]["name"]
        folder = self.node.at(f"pods/{NAMESPACE}_{name}_{pod['metadata']['uid']}/main")

        def said():
            log = pathlib.Path(folder, sorted(os.listdir(folder))[-1])
            return float(log.read_text(encoding="utf-8").split(" ", 3)[3].split()[0])

        return wait_until(f"the words of {name}", said)

    def exclusive_cpus_stay_exclusive(self):
        self.start_pods("bound", text=guaranteed("bound", self.name))
        file = pathlib.Path(self.node.at("kubelet/cpu_manager_state"))
        state = json.loads(file.read_text(encoding="utf-8"))
        self.exclusive = cpus_of(next(iter(next(iter(state["entries"].values())).values())))
        check(self.exclusive, f"kubelet gave no CPU of its own: {state}")
        begun = now() - time.time() + file.stat().st_mtime
        self.start_pods("beside")
        time.sleep(25)  # two and a half rounds of kubelet's CPU manager
        spans = {path: self.samples.spans(path, lambda values: cpus_of(values.cpus) & self.exclusive, begun)
                 for path in self.samples.alive()}
        longest = max((span for each in spans.values() for span in each), default=0)
        print(f"     CPUs {sorted(self.exclusive)} belong to one pod; best effort had one of them for "
              f"{1000 * longest:.0f} ms at most", flush=True)
        check(longest < TAKEN, f"best effort ran on exclusive CPUs {self.exclusive}: {spans}")
        audit = json.loads(self.node.ask_koordlet(f"/apis/v1/audit?limit=2000&cgroup={BEST_EFFORT}/pod"))["entries"]
        given = [entry for entry in audit if entry["file"] == "cpuset.cpus" and entry["cgroup"].count("/") == 3 and
                 cpus_of(entry["new"]) & self.exclusive and seconds_ago(entry["time"]) < now() - begun]
        check(not given, f"koordlet gave exclusive CPUs away: {given}")

    def resets_are_mended(self):
        """Kubelet's resets so far, and ones as if kubelet made them."""
        natural = [span for path in self.samples.alive()
                   for span in self.samples.resets(path, self.samples.right_since(path))]
        print(f"     {len(natural)} resets by kubelet: {milliseconds(natural)} ms", flush=True)
        check(all(span < MENDED for span in natural), f"resets by kubelet lasted {milliseconds(natural)} ms")
        path = self.path_of(next(pod for pod in self.cluster.pods() if pod["metadata"]["name"] == "beside"))
        begun = now()
        for _ in range(2):  # six in a minute are a fight
            self.reset(path)
            time.sleep(2)
        made = self.samples.resets(path, begun)
        print(f"     {len(made)} resets as kubelet makes them: {milliseconds(made)} ms", flush=True)
        check(made and all(span < MENDED for span in made), f"resets lasted {milliseconds(made)} ms")

    def reset(self, path):
        """As kubelet's CPU manager: the runtime then sets all that it knows of the container, with its 2 shares."""
        self.node.cri("update", path.rsplit("/", 1)[1], "0", "0")

    def fights_are_reported(self):
        path = self.path_of(next(pod for pod in self.cluster.pods() if pod["metadata"]["name"] == "first-0"))
        file = pathlib.Path(self.cgroups.dir("cpu", path), "cpu.weight" if self.cgroups.v2 else "cpu.shares")
        end = now() + 20
        while now() < end and path not in self.node.ask_koordlet("/apis/v1/qos"):
            file.write_text("2" if not self.cgroups.v2 else "1", encoding="utf-8")
            time.sleep(0.5)
        view = self.node.ask_koordlet("/apis/v1/qos")
        check(path in view, f"/apis/v1/qos does not tell of the fight: {view}")
        check("koordlet_resource_fights{" in self.node.ask_koordlet("/metrics"), "no metric tells of the fight")
        check("another program keeps changing" in self.log(), "the log does not tell of the fight")
        file.write_text("2" if not self.cgroups.v2 else "1", encoding="utf-8")
        time.sleep(3)
        check(self.cgroups.shares(path) == 2, "koordlet still fights")

    def policies_change_places(self):
        """No pod may have more than its parent: that of all best effort changes after its pods', and back before them."""
        quotas = lambda: {self.cgroups.quota(path) for path in self.samples.alive()}
        self.configure(cpuSuppressPolicy="cfsQuota")
        wait_until("best effort has a quota", lambda: self.cgroups.quota(BEST_EFFORT) > 0)
        wait_until("its containers have none", lambda: quotas() == {-1})
        self.configure()
        wait_until("best effort has no quota", lambda: self.cgroups.quota(BEST_EFFORT) == -1)
        wait_until("its containers have theirs", lambda: quotas() == {20000})
        refused = [line for line in self.log().splitlines() if "Invalid argument" in line]
        check(not refused, f"values that the kernel refused: {refused[:3]}")

    def memory_is_relieved(self):
        """A container is killed whatever a budget says, and however long its pod would like to stay."""
        pod = self.start_pods("hog", text=hog(self.name))[0]
        path = self.path_of(pod)
        wait_until("hog has its memory", lambda: memory_used(self.cgroups, path) > 500 << 20)
        budget = wait_until("the budget", lambda: self.cluster.get("poddisruptionbudget", "hog", "-n", NAMESPACE))
        check(not budget.get("status", {}).get("disruptionsAllowed"), f"the budget allows disruptions: {budget}")
        begun = now()
        half = max(int(node_used_percent()) // 2, 2)  # others on this machine come and go
        self.configure(memoryEvictThresholdPercent=half, memoryEvictLowerPercent=half - 1)
        ended = wait_until("hog is killed", lambda: self.pod("hog")["status"]["containerStatuses"][0]["state"].get(
            "terminated"), 60)
        print(f"     killed {now() - begun:.1f} s after the configuration changed, as kubelet tells it", flush=True)
        self.configure()
        check(ended["exitCode"] == 137, f"hog ended with {ended}")
        events = [event["message"] for event in self.cluster.get("events", "-n", NAMESPACE)["items"]
                  if event["reason"] == "evictPodSuccess" and event["involvedObject"]["name"] == "hog"]
        check(events and "BEMemoryEvict" in events[0], f"events of hog: {events}")

    def pod(self, name):
        return self.cluster.get("pod", name, "-n", NAMESPACE)

    def kubelet_refuses(self):
        """Pods are then watched at the API server, also by a koordlet that starts like this."""
        for authentication, status in ((NOBODY, 401), (ANYBODY_AND_NOTHING, 403)):
            before = len(self.log())
            self.node.kill("kubelet")
            self.node.start_kubelet(authentication)
            if status == 403:
                self.node.kill("koordlet")
                self.node.start_koordlet(self.name)
            wait_until("the node is ready", lambda: self.condition("Ready") == "True", 60)
            wait_until("koordlet watches its pods", lambda at=before: "so koordlet watches them" in self.log()[at:], 60)
            wait_until("koordlet is ready", lambda: self.node.ask_koordlet("/readyz"))
            pod = self.start_pods(f"unlisted-{status}")[0]
            right = wait_until("its values", lambda pod=pod: self.samples.right_since(self.path_of(pod)))
            print(f"     kubelet answers {status}: values "
                  f"{1000 * (right - self.first_instruction(pod)):.0f} ms after the first instruction", flush=True)
            self.reported(pod["metadata"]["name"])
            findings, result = self.node.doctor()
            words = ("kubelet does not list its pods, so koordlet watches them at the API server", f"status {status}",
                     "kubelet does not serve its configuration", "off ")
            check(result == 1 and all(word in findings for word in words), f"doctor ends with {result}: {findings}")
        self.node.kill("kubelet")
        self.node.start_kubelet()
        wait_until("kubelet is asked again", lambda: "kubelet lists its pods again" in self.log(), 60)
        findings, _ = self.node.doctor()
        check("ok  kubelet lists " in findings and "ok  kubelet's configuration: CPU manager static" in findings,
              f"doctor: {findings}")

    def reported(self, name):
        wait_until(f"NodeMetric has {name}", lambda: name in [
            pod["name"] for pod in self.cluster.get("nodemetric", self.name)["status"]["podsMetric"]], 60, 1)

    def kubelet_hangs(self):
        rounds = self.rounds()
        kubelet = self.node.processes["kubelet"]
        kubelet.send_signal(signal.SIGSTOP)
        try:
            path = self.path_of(next(pod for pod in self.cluster.pods() if pod["metadata"]["name"] == "beside"))
            before = self.cluster.get("nodemetric", self.name)["status"]["updateTime"]
            time.sleep(15)
            check(self.rounds() - rounds >= 10, f"{self.rounds() - rounds} rounds of suppression in 15 s")
            begun = now()
            self.reset(path)
            time.sleep(2)
            made = self.samples.resets(path, begun)
            print(f"     while kubelet hangs: a reset lasts {milliseconds(made)} ms", flush=True)
            check(made and all(span < MENDED for span in made), f"resets lasted {milliseconds(made)} ms")
            wait_until("the next NodeMetric", lambda: self.cluster.get("nodemetric", self.name)["status"][
                "updateTime"] != before, 40)
            check(self.node.ask_koordlet("/healthz") == "ok", "koordlet is not healthy")
        finally:
            kubelet.send_signal(signal.SIGCONT)
        check("pods not listed" in self.log(), "koordlet does not say that kubelet hangs")
        wait_until("the node is ready", lambda: self.condition("Ready") == "True", 60)
        pod = self.start_pods("after")[0]
        wait_until("its values", lambda: self.samples.right_since(self.path_of(pod)))

    def rounds(self):
        return json.loads(self.node.ask_koordlet("/apis/v1/qos"))["cpuSuppress"]["rounds"]

    def nothing_is_refused(self):
        for name in ("koordlet", "koord-manager"):
            asked = self.cluster.asked(name)
            refused = [call for call in asked if call[2] in (401, 403)]
            print(f"     {name}: {len(asked)} kinds of requests, {len(refused)} refused", flush=True)
            check(asked and not refused, f"{name} was refused {refused}")
        for name in ("koordlet", "kubelet"):
            words = [line for line in self.log(name).splitlines() if re.search(r"\b403\b|[Ff]orbidden|Unauthorized", line)]
            check(not words, f"the log of {name}: {words[:5]}")

    def clean_up(self):
        """After a failure: nothing is left running, if that can be."""
        try:
            self.leaves()
        except Failure as error:
            print("something may be left:", error)
            self.node.end()
            self.cluster.stop()

    def leaves(self):
        self.samples.ended.set()
        self.cluster.kubectl("delete", "pod", "-n", NAMESPACE, "--all", "--grace-period=1", "--timeout=60s")
        wait_until("no container is left", lambda: self.node.cri("containers") == "", 60)
        self.node.end()
        self.cluster.stop()
        for root in ([""] if self.cgroups.v2 else os.listdir("/sys/fs/cgroup")):
            for folder, _, _ in os.walk(os.path.join("/sys/fs/cgroup", root, "kubepods"), topdown=False):
                os.rmdir(folder)
        check(not self.cgroups.left_over(), "cgroups are left")


def memory_used(cgroups, path):
    name = "memory.current" if cgroups.v2 else "memory.usage_in_bytes"
    return int(pathlib.Path(cgroups.dir("memory", path), name).read_text(encoding="utf-8"))


def node_used_percent():
    lines = pathlib.Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return 100 * (1 - kib["MemAvailable"] / kib["MemTotal"])


def has_values(values):
    """What best_effort() asks for, in millicores and bytes."""
    return values[:3] == (102, 20000, 32 << 20)


def running_of(pods, names):
    wanted = [pod for pod in pods if pod["metadata"]["name"] in names]
    return running(wanted, len(names)) or []


def pod_manifest(name, node, command, requests, limits, labels="", restart="Always", grace=1):
    """A pod of one container that is bound to the node; the other arguments as in YAML."""
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {NAMESPACE}, labels: {{{labels}}}}}
spec:
  nodeName: {node}
  terminationGracePeriodSeconds: {grace}
  restartPolicy: {restart}
  hostNetwork: true
  automountServiceAccountToken: false
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: {command}
    resources:
      requests: {{{requests}}}
      limits: {{{limits}}}
"""


def best_effort(name, node):
    return pod_manifest(name, node, "[sh, -c, 'cat /proc/uptime; sleep 1000']", "cpu: 100m, memory: 16Mi",
                        "cpu: 200m, memory: 32Mi", labels="tier: batch")


def hog(node):
    """Takes memory, does not care to be asked to end, and a budget forbids its eviction."""
    command = """[sh, -c, "trap '' TERM; dd if=/dev/zero bs=600M count=1 | (trap '' TERM; sleep 1000)"]"""
    return f"""apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: hog, namespace: {NAMESPACE}}}
spec: {{minAvailable: 1, selector: {{matchLabels: {{app: hog}}}}}}
---
""" + pod_manifest("hog", node, command, "cpu: 100m, memory: 16Mi", "cpu: 200m, memory: 800Mi",
                   labels="tier: batch, app: hog", restart="Never", grace=600)


def guaranteed(name, node):
    return pod_manifest(name, node, "[sleep, '1000']", 'cpu: "1", memory: 16Mi', 'cpu: "1", memory: 16Mi')


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--kubelet", "--apiserver", "--etcd"):
        parser.add_argument(name, required=True, type=os.path.abspath)
    parser.add_argument("--programs", required=True, type=os.path.abspath)
    parser.add_argument("--keep", action="store_true", help="leave the folder with the logs")
    return parser.parse_args()


def main():
    options = parse_arguments()
    reason = why_not() or next((f"{name} is not installed" for name in ("runc", "busybox", "kubectl", "openssl")
                                if not shutil.which(name)), None)
    if reason:
        print("skipped:", reason)
        return SKIP
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix="koord-kubelet-")
    test = KubeletAloneTest(options, folder)
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
        if failed.split(":")[0] != "leaves":
            test.clean_up()
        print("logs:", folder)
    elif not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
