#!/usr/bin/env python3
"""A shadow beside the scheduler of a cluster: it agrees, explains, writes nothing and is killed; then a take-over and back.

Every wait polls a condition and has a limit; exit status 77 means that this machine cannot run it.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

from cluster_home import run_parts
from waiting import SKIP, check, wait_until

PODS = 150
INCUMBENT = "default-scheduler"

OTHER = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: {INCUMBENT}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {{type: MostAllocated, resources: [{{name: cpu, weight: 1}}, {{name: memory, weight: 1}}]}}
"""


def pod(name, cpu, priority=None, scheduler=INCUMBENT, memory="64Mi"):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0,
                     **({"priorityClassName": priority} if priority else {}),
                     "containers": [{"name": "c", "image": "registry.example/app:1",
                                     "resources": {"requests": {"cpu": f"{cpu}m", "memory": memory}}}]}}


def create(home, items):
    home.kubectl("create", "-f", "-", name="s", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


class Shadow:
    """A koord-scheduler with --shadow-of, and what koordctl says about it."""

    def __init__(self, home, config):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.home = home
        self.certificate = os.path.join(home.folder, "shadow.crt")
        if not os.path.exists(self.certificate):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=shadow",
                            "-addext", "subjectAltName=DNS:localhost", "-keyout", "shadow.key", "-out", "shadow.crt"],
                           check=True, capture_output=True, cwd=home.folder, user=home.user)
        scheduler = os.path.join(os.path.dirname(home.koordctl), "koord-scheduler")
        self.log = open(os.path.join(home.folder, "shadow.log"), "ab")
        kubeconfig = home.data("s") + "/kubeconfig"
        self.process = subprocess.Popen(
            [scheduler, "--shadow-of", INCUMBENT, "--config", config, "--kubeconfig", kubeconfig, "--port=0",
             "--client-ca-file=" + home.data("s") + "/pki/ca.crt", "--authentication-skip-lookup",
             "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
             "--bind-address=127.0.0.1", f"--secure-port={self.port}",
             "--tls-cert-file=shadow.crt", "--tls-private-key-file=shadow.key"],
            stdout=self.log, stderr=self.log, cwd=home.folder, user=home.user, env=home.environment)
        home.running[f"shadow-{self.port}"] = self.process
        wait_until("the shadow has read the cluster", lambda: self.report()["since"])

    def said(self, *more):
        return self.home.run("shadow", "--scheduler", f"https://127.0.0.1:{self.port}", "--certificate-authority",
                             self.certificate, "--kubeconfig", self.home.data("s") + "/kubeconfig", *more)

    def report(self):
        return json.loads(self.said("-o", "json"))

    def settled(self, compared):
        """The report once it has this many decisions and nothing is checked again."""
        def done():
            report = self.report()
            return report if report["compared"] >= compared and report["open"] == 0 else None
        return wait_until(f"{compared} decisions are compared", done, 60)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def configuration(home):
    return home.data("s") + "/koord-scheduler.yaml"


def pods(home):
    return json.loads(home.kubectl("get", "pods", "-o", "json", name="s"))["items"]


def check_agreement(report):
    check(report["agreed"] == report["compared"], json.dumps(report, indent=1))


def agrees(home):
    home.up("s", "--nodes", "6")
    create(home, [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"p{value}"},
                   "value": value} for value in (10, 1000)])
    home.shadow = Shadow(home, configuration(home))
    dice = random.Random(5)
    for start in range(0, PODS, 30):
        # Memory fills the nodes: their CPU stays below the thresholds of load, which change with NodeMetrics.
        create(home, [pod(f"web-{i}", 10, dice.choice([None, "p10", "p1000"]), memory=f"{dice.randrange(1, 12)}Gi")
                      for i in range(start, start + 30)])
        time.sleep(0.5)
    report = home.shadow.settled(PODS)
    check_agreement(report)
    check(report["results"].get("samePreemption", 0) > 0, json.dumps(report["results"]))
    check(report["refusedWrites"] == {}, report["refusedWrites"])
    print("    ", report["results"])
    said = home.shadow.said()
    check("agreement  " in said and "shadow, one decision" in said, said)


def is_killed_and_begins_again(home):
    home.shadow.kill()
    create(home, [pod(f"unseen-{i}", 10) for i in range(5)])
    home.shadow = Shadow(home, configuration(home))
    check(home.shadow.report()["compared"] == 0, "it compares what it did not see")
    create(home, [pod(f"late-{i}", 10, "p1000") for i in range(20)])
    check_agreement(home.shadow.settled(20))
    home.shadow.kill()


def explains_another_configuration(home):
    other = os.path.join(home.folder, "other.yaml")
    with open(other, "w", encoding="utf-8") as file:
        file.write(OTHER)
    home.kubectl("delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false", name="s")
    wait_until("the pods are deleted", lambda: not pods(home))
    home.shadow = Shadow(home, other)
    create(home, [pod(f"spread-{i}", 2000, memory="8Gi") for i in range(20)])
    report = home.shadow.settled(20)
    check(report["results"].get("worseScore", 0) > 5, json.dumps(report["results"]))
    first = report["differences"][0]
    check(any(score["plugin"] == "NodeResourcesFit" for score in first["scores"]["plugins"]), first)
    said = home.shadow.said("--differences", "2")
    check("worseScore" in said and "NodeResourcesFit" in said and "free CPU" in said, said)
    saved = os.path.join(home.folder, "report.json")
    with open(saved, "w", encoding="utf-8") as file:
        json.dump(report, file)
    check("DIFFERS" in home.run("shadow", "report", "-f", saved), "a saved report is not shown")


def refuses_what_is_wrong(home):
    scheduler = os.path.join(os.path.dirname(home.koordctl), "koord-scheduler")
    ran = subprocess.run([scheduler, "--shadow-of", "x", "--record", "file"], capture_output=True, text=True, check=False,
                         cwd=home.folder, user=home.user)
    check(ran.returncode == 1 and "cannot be recorded" in ran.stderr, ran.stderr)
    said = home.run("shadow", "--scheduler", f"https://127.0.0.1:{home.shadow.port}", "--kubeconfig",
                    home.data("s") + "/kubeconfig", status=1)
    check("certificate" in said.lower(), said)
    question = {"apiVersion": "simulation.koordinator.sh/v1alpha1", "kind": "Simulation", "spec": {"objects": [pod("p", 10)]}}
    said = home.kubectl("create", "--raw", "/apis/v1/simulations", "-f", "-", "--server", f"https://localhost:{home.shadow.port}",
                        "--certificate-authority", home.shadow.certificate, name="s", stdin=json.dumps(question), fails=True)
    check("currently unable to handle" in said, f"a shadow answers a simulation: {said}")
    home.shadow.kill()


def is_deployed_without_a_right_to_write(home):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/shadow")
    objects = subprocess.run(["kubectl", "kustomize", folder], check=True, capture_output=True, text=True).stdout
    home.kubectl("apply", "-f", "-", name="s", stdin=objects)
    user = ["--as=system:serviceaccount:koordinator-system:koord-scheduler-shadow", "--as-group=system:authenticated"]

    def may(verb, resource):
        return home.kubectl("auth", "can-i", verb, resource, "-A", *user, name="s").strip() == "yes"
    check(may("watch", "pods") and may("list", "nodes") and may("create", "tokenreviews.authentication.k8s.io"), "it may read")
    for verb, resource in (("create", "pods/binding"), ("patch", "pods/status"), ("delete", "pods"), ("create", "events"),
                           ("update", "leases.coordination.k8s.io"), ("patch", "nodes"), ("create", "pods/eviction")):
        home.kubectl("auth", "can-i", verb, resource, "-A", *user, name="s", fails=True)


def takes_over_and_back(home):
    """The webhook changes new pods within a second, in both directions."""
    create(home, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])

    def scheduler_of_new_pod():
        item = pod("try", 10)
        item["metadata"]["namespace"] = "shop"
        made = home.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", name="s", stdin=json.dumps(item))
        return json.loads(made)["spec"]["schedulerName"]
    check(scheduler_of_new_pod() == INCUMBENT, "a pod is taken over without a ConfigMap")
    home.kubectl("create", "configmap", "koord-take-over", "-n", "koordinator-system", "--from-literal=selector=((", name="s",
                 fails=True)
    rules = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"namespaces": "shop"},
             "metadata": {"name": "koord-take-over", "namespace": "koordinator-system"}}
    create(home, [rules])
    wait_until("new pods are taken over", lambda: scheduler_of_new_pod() == "koord-scheduler", 10)
    home.kubectl("delete", "configmap", "koord-take-over", "-n", "koordinator-system", name="s")
    wait_until("new pods stay with the incumbent", lambda: scheduler_of_new_pod() == INCUMBENT, 10)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    options = parser.parse_args()
    if not shutil.which("kubectl") or not shutil.which("openssl"):
        print("kubectl and openssl are needed", file=sys.stderr)
        return SKIP
    return run_parts(options.programs, [agrees, is_killed_and_begins_again, explains_another_configuration,
                                        refuses_what_is_wrong, is_deployed_without_a_right_to_write,
                                        takes_over_and_back])


if __name__ == "__main__":
    sys.exit(main())
