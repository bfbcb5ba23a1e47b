"""One kube-scheduler, of whichever make, as a process: its scores as it logs them, its counters as it serves them."""

import collections
import json
import os
import re
import subprocess
import threading
import time
import urllib.request
import ssl

REFERENCE_SCORE = re.compile(r'"Plugin scored node for pod".* pod="([^"]+)" plugin="([^"]+)" node="([^"]+)" score=(-?\d+)')
REFERENCE_TOTAL = re.compile(r'"Calculated node.s final score for pod".* pod="([^"]+)" node="([^"]+)" score=(-?\d+)')
REFERENCE_ATTEMPT = re.compile(r'"Attempting to schedule pod".* pod="([^"]+)"')
OWN_HEADER = re.compile(r"scores for Pod: (\S+), feasibleNodes: \d+, plugins:\[([^]]*)\]")
OWN_ROW = re.compile(r"^\| \d+ \| (\S+) \| (\S+) \| -?\d+ \|(.*)\|$")
SAMPLE = re.compile(r'^(\w+)\{([^}]*)\} (\S+)$')


class Scheduler:
    """name is that of its profile. Scores are kept of each pod's last attempt. claims: the profile has DynamicResources."""

    def __init__(self, name, binary, kubeconfig, folder, port, own, extenders, arguments, claims=False):
        self.name = name
        self.extenders = extenders
        self.lock = threading.Lock()
        self.scores = collections.defaultdict(lambda: collections.defaultdict(dict))  # pod -> node -> plugin -> score
        self.totals = collections.defaultdict(dict)  # pod -> node -> score with extenders; of the reference only
        self.log = open(os.path.join(folder, name + ".log"), "wb")
        # koord-scheduler scores as Kubernetes 1.35 does, unless asked.
        profile = {"schedulerName": name, "pluginConfig": list(arguments)}
        if not claims:  # other workloads than those with devices
            profile["plugins"] = {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}
        if own:
            profile["pluginConfig"].append({"name": "NodeResourcesBalancedAllocation", "args": {"balancedAllocationMode": "Improvement"}})
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                  "leaderElection": {"leaderElect": False}, "percentageOfNodesToScore": 100, "profiles": [profile],
                  "clientConnection": {"kubeconfig": kubeconfig, "qps": 1000, "burst": 1000}}
        if extenders:
            config["extenders"] = extenders
        path = os.path.join(folder, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        command = [binary, "--config", path, "--bind-address", "127.0.0.1"]
        if own:
            self.metrics_url = f"http://127.0.0.1:{port}/metrics"
            command += ["--address", "127.0.0.1", "--port", str(port), "--secure-port", "0", "--debug-scores", "1000", "--v", "4"]
        else:
            self.metrics_url = f"https://127.0.0.1:{port}/metrics"
            command += ["--secure-port", str(port), "--cert-dir", folder, "--vmodule", "schedule_one=10,scheduling_queue=6",
                        "--authorization-always-allow-paths", "/metrics"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        threading.Thread(target=self.read_log, daemon=True).start()
        self.wait_ready()

    def read_log(self):
        plugins = []
        for raw in self.process.stdout:
            self.log.write(raw)
            self.log.flush()
            line = raw.decode(errors="replace").rstrip("\n")
            with self.lock:
                if match := REFERENCE_SCORE.search(line):
                    pod, plugin, node, score = match.groups()
                    self.scores[pod][node][plugin] = int(score)
                elif match := REFERENCE_TOTAL.search(line):
                    self.totals[match[1]][match[2]] = int(match[3])
                elif match := REFERENCE_ATTEMPT.search(line):
                    self.scores.pop(match[1], None)
                    self.totals.pop(match[1], None)
                elif match := OWN_HEADER.search(line):
                    self.scores.pop(match[1], None)
                    plugins = match[2].split()
                elif match := OWN_ROW.match(line):
                    values = match[3].split("|")
                    self.scores[match[1]][match[2]] = {plugin: int(value) for plugin, value in zip(plugins, values)}

    def wait_ready(self):
        end = time.monotonic() + 30
        while True:
            try:
                self.counters()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise SystemExit(f"{self.name} does not start; its log: {self.log.name}")
                time.sleep(0.2)

    def counters(self):
        """What came into the queue, by event, and the rejections that pods wait for."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        arguments = {"context": context} if self.metrics_url.startswith("https") else {}
        with urllib.request.urlopen(self.metrics_url, timeout=5, **arguments) as answer:
            text = answer.read().decode()
        incoming, waiting, attempts = collections.Counter(), {}, 0
        for line in text.splitlines():
            match = SAMPLE.match(line)
            if not match:
                continue
            labels = dict(re.findall(r'(\w+)="([^"]*)"', match[2]))
            if match[1] == "scheduler_queue_incoming_pods_total":
                incoming[labels["event"]] += int(float(match[3]))
            elif match[1] == "scheduler_unschedulable_pods" and float(match[3]):
                waiting[labels["plugin"]] = int(float(match[3]))
            elif match[1] == "scheduler_schedule_attempts_total":
                attempts += int(float(match[3]))
        return incoming, waiting, attempts

    def scores_of(self, pod):
        with self.lock:
            return {node: {plugin: score for plugin, score in plugins.items() if score} for node, plugins in self.scores.get(pod, {}).items()}

    def totals_of(self, pod):
        with self.lock:
            return dict(self.totals.get(pod, {}))

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.log.close()
